"""The job night: capture, reconcile, clean-up, purge and maintain of one cluster, one after the other."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from jobs.reconcile import add_acceptances
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Runs the jobs of a night in one application: capture, reconcile, a rehearsal of clean, clean --execute if the
configuration says night.approval: automatic, purge --execute and maintain --execute. The configuration names the
cluster and the places: cluster, wal_root, capture, lake, lists, snapshots; without a section clean, a night cleans and
purges nothing. With night.approval: manual nothing moves to the quarantine, but runs whose grace is over are purged.

A job that ends with exit code 4 is tried again (night.tries, night.retry_delay), unless Spark ended. Any other failure
ends the night with the exit code of that job. A finding that pauses the clean-up ends it with 3. The night goes on, and
ends with 5, if an error finding is new or purge refused quarantined runs; it goes on, and ends with 4, if clean could
not move some files or purge could not finish every run. docs/deployment.md has a table of all cases.

A scheduler that asks a person in between runs the night in two parts with one --run-id: --part decide ends with the
rehearsal and changes nothing in the cluster; --part finish cleans the list that --approved names by the digest of the
rehearsal (list_sha256), if it is given, and goes on with purge and maintain.

If a night died, start it again with its --run-id: what was done is not done twice.

examples:
  ./spark-submit.sh night --config prod-a.yaml
  ./spark-submit.sh night --config prod-a.yaml --plan
  ./spark-submit.sh night --config prod-a.yaml --run-id 20261121T020000Z
  ./spark-submit.sh night --config prod-a.yaml --run-id 20261121T020000Z --part decide
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--config", required=True, metavar="FILE", help="the cluster's configuration")
    parser.add_argument("--run-id", metavar="ID", help="of the night; default: the time of its start, in UTC")
    parser.add_argument("--part", choices=("decide", "finish"), help="only this part; default: the whole night")
    parser.add_argument("--approved", metavar="DIGEST", help="with --part finish: clean the list with this digest")
    add_acceptances(parser, "overrule an expectation of the gate, as in reconcile")
    parser.add_argument("--plan", action="store_true", help="print the commands of the night and start none")


def run(args: Namespace, context: JobContext) -> JobResult:
    """Reads the configuration and runs the night.

    Raises:
        UsageError: the configuration is wrong, or a key is missing that a night needs; no JVM is started for that.
    """
    from jobs.cli.config.configuration import load_config
    from jobs.night.night import Night, run_night
    from jobs.night.plan import NightRequest, night_plan, plan_result
    from jobs.night.start import start_job

    wanted = NightRequest(args.run_id, args.part, args.approved, tuple(args.accept))
    plan = night_plan(args.config, load_config(args.config, context), wanted, context.clock)
    if args.plan:
        return plan_result(plan)
    context.need_spark()
    return run_night(Night(plan, start_job(context, args.metrics)))
