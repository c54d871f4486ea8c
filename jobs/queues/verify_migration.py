"""The job verify-migration: checks that hbase:replication has what ZooKeeper had."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Holds a snapshot of hbase:replication against one of ZooKeeper that was captured before the migration: every queue with
its offset, no row too many, sequence ids, references to HFiles, the WALs of all offsets, peers enabled as before, and
nothing left in ZooKeeper. Each difference is told with what was expected and what was found.

An enabled peer goes on shipping, so the job tells what it has done since apart from what was lost. To prove most,
capture with all peers disabled, so that no offset moves between the two captures (docs/migration.md).

Exit code 3: not verified, or the migration is pending still.

examples:
  ./spark-submit.sh verify-migration --zookeeper /walsafe/migration/prod-a/before \\
      --table /walsafe/migration/prod-a/after
  ./spark-submit.sh verify-migration --zookeeper /walsafe/migration/prod-a/before \\
      --table /walsafe/migration/prod-a/after --lake /walsafe/lake --output json
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--zookeeper", required=True, metavar="DIR", help="captured from ZooKeeper before")
    parser.add_argument("--table", required=True, metavar="DIR", help="captured from hbase:replication afterwards")
    parser.add_argument("--lake", metavar="DIR", help="write the Delta tables there too; made if missing")
    parser.add_argument("--config", metavar="FILE", help="for findings.acknowledged and release.orphan_queues")


def run(args: Namespace, context: JobContext) -> JobResult:
    """Reads the arguments, wires the ports and runs the use case."""
    from jobs.cli.config.configuration import load_config
    from jobs.queues.wiring import snapshots_and_lake
    from pipelines.queues.migration.rows import VERIFY_SUFFIX
    from pipelines.queues.migration.verify_migration import verify_migration

    settings = load_config(args.config, context).settings()
    ports = snapshots_and_lake(context, settings, args.lake, VERIFY_SUFFIX)
    return verify_migration(args.zookeeper, args.table, settings, *ports)
