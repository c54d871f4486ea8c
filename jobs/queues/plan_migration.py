"""The job plan-migration: predicts the migration of the queues to hbase:replication."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
HBase 3 keeps replication queues in hbase:replication. Its master moves them there from ZooKeeper when it first starts,
and there is no way back. This job tells from a snapshot of ZooKeeper (see capture) what it would
  write   rows of queues, last pushed sequence ids, references to HFiles
  drop    what belongs to peers that are gone, the peer of region replicas, queues that fall into one row
  block   names and positions that HBase throws on, in the migration (which it then repeats forever) or after it

and whether that is a GO or a NO-GO (exit code 3). It only reads the snapshot. Keep the snapshot: verify-migration holds
the table against it afterwards (docs/migration.md).

examples:
  ./spark-submit.sh plan-migration --snapshot /walsafe/migration/prod-a/before
  ./spark-submit.sh plan-migration --snapshot /walsafe/migration/prod-a/before --lake /walsafe/lake --output json
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--snapshot", required=True, metavar="DIR", help="captured from ZooKeeper (see capture)")
    parser.add_argument("--lake", metavar="DIR", help="write the Delta tables there too; made if missing")
    parser.add_argument("--config", metavar="FILE", help="for findings.acknowledged and release.orphan_queues")


def run(args: Namespace, context: JobContext) -> JobResult:
    """Reads the arguments, wires the ports and runs the use case."""
    from jobs.cli.config.configuration import load_config
    from jobs.queues.wiring import snapshots_and_lake
    from pipelines.queues.migration.plan_migration import plan_migration
    from pipelines.queues.migration.rows import PLAN_SUFFIX

    settings = load_config(args.config, context).settings()
    return plan_migration(args.snapshot, settings, *snapshots_and_lake(context, settings, args.lake, PLAN_SUFFIX))
