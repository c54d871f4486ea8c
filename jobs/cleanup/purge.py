"""The job purge: deletes or archives quarantined runs to free their space."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Deletes quarantined runs whose grace (clean.grace, default 7 days) is over, after reading the cluster once more: a
file that any queue needs again, or that is not the one that was moved, stays. With clean.archive each file is copied
there and compared first. Without --execute it is a rehearsal. What is purged cannot be restored.

A run that is refused stops no other: the answer names each. Exit code 5: some were refused; 3: all were.

A full disk cannot wait: --before-grace REASON frees the space at once, with the same check; the reason is written
into the table cleanups.

examples:
  ./spark-submit.sh purge --cluster prod-a --lake /walsafe/lake --config prod-a.yaml
  … the same --execute
  … --run-id 20261121T020000Z-1a2b3c4d --before-grace 'disk full, OPS-1234' --execute
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--cluster", required=True, metavar="NAME", help="the cluster")
    parser.add_argument("--run-id", metavar="ID", help="one quarantined run; default: every one whose grace is over")
    parser.add_argument("--lake", required=True, metavar="DIR", help="where the Delta tables are")
    parser.add_argument("--config", required=True, metavar="FILE", help="the cluster's configuration, with `clean`")
    parser.add_argument(
        "--before-grace", metavar="REASON", help="do not wait for the grace; table cleanups keeps the reason"
    )
    parser.add_argument("--execute", action="store_true", help="delete; without, rehearse")


def run(args: Namespace, context: JobContext) -> JobResult:
    """Reads the arguments, wires the ports and runs the use case."""
    from jobs.cleanup.run_id import refuse_latest
    from jobs.cleanup.settings import cleanup_settings

    refuse_latest(
        args.run_id,
        "purge",
        "what it deletes cannot come back, so give the id of the run, or leave --run-id out for every run whose grace "
        "is over",
    )
    settings = cleanup_settings(args.config, args.cluster, context)

    from jobs.cleanup.wiring import open_cleanup
    from pipelines.cleanup.purge import PurgeRequest, purge

    with open_cleanup(context, settings, args.lake) as (place, ports):
        return purge(PurgeRequest(args.run_id, args.before_grace, execute=args.execute), place, ports)
