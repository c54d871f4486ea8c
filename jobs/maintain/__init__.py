"""The job maintain: retention, compaction and vacuum of the tables, expiry of lists, snapshots and pages."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Keeps walsafe's own output from growing forever; it never touches a file of HBase. Without --execute it is a
rehearsal: it says what would go and writes nothing.

It removes nights older than maintain.keep from the tables, merges nights of many small files, and removes files that
no reader can need any more, and expired pages. It removes expired lists and snapshots, and hidden folders of dead runs,
if the configuration names the places. The newest nights of every cluster stay, and every run with files in quarantine.

examples:
  ./spark-submit.sh maintain --lake /walsafe/lake --config prod-a.yaml
  ./spark-submit.sh maintain --lake /walsafe/lake --config prod-a.yaml --execute
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--lake", required=True, metavar="DIR", help="where the Delta tables are")
    parser.add_argument("--config", required=True, metavar="FILE", help="configuration (docs/configuration.md)")
    parser.add_argument("--execute", action="store_true", help="do it; without, say what would be done")


def run(args: Namespace, context: JobContext) -> JobResult:
    """Reads the arguments, wires the ports and runs the use case."""
    from jobs.cli.config.configuration import load_config
    from jobs.maintain.retention import retention_policy

    config = load_config(args.config, context)
    policy = retention_policy(config)
    context.need_spark()

    from jobs.maintain.wiring import run_maintain

    return run_maintain(context, config, policy, args.lake, execute=args.execute)
