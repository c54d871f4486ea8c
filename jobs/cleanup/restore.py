"""The job restore: moves quarantined files back."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Moves files that clean put into the quarantine back below oldWALs, all of a run or some by path. Nothing is ever
overwritten: if another file has its name below oldWALs, the file stays in the quarantine, and the answer names it. It
may be run at any time before purge, and again after a crash. HBase's own cleaner decides on the files as before.

examples:
  ./spark-submit.sh restore --cluster prod-a --run-id 20261121T020000Z-1a2b3c4d \\
      --lake /walsafe/lake --config prod-a.yaml
  … the same oldWALs/h1%2C16020%2C1763690000000.1763694000000
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--cluster", required=True, metavar="NAME", help="the cluster")
    parser.add_argument(
        "--run-id", required=True, metavar="ID", help="the run whose list was cleaned; latest: the one cleaned last"
    )
    parser.add_argument("--lake", required=True, metavar="DIR", help="where the Delta tables are")
    parser.add_argument("--config", required=True, metavar="FILE", help="the cluster's configuration, with `clean`")
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="as in wal_verdicts (oldWALs/…), or a line of the list; none = all of the run",
    )


def run(args: Namespace, context: JobContext) -> JobResult:
    """Reads the arguments, wires the ports and runs the use case."""
    from jobs.cleanup.settings import cleanup_settings

    settings = cleanup_settings(args.config, args.cluster, context)

    from jobs.cleanup.run_id import latest_cleaned, on_run
    from jobs.cleanup.wiring import open_cleanup
    from pipelines.cleanup.restore import RestoreRequest, restore

    with open_cleanup(context, settings, args.lake, out_of_quarantine=True) as (place, ports):
        return on_run(
            args.run_id,
            lambda: latest_cleaned(args.cluster, context.lake(args.lake)),
            lambda run_id: restore(RestoreRequest(run_id, tuple(args.paths)), place, ports),
        )
