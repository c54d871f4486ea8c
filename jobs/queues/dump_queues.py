"""The job dump-queues: prints HBase's DumpReplicationQueues from a snapshot."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from pipelines.common.errors import UsageError
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Prints peers and replication queues of a snapshot (see capture) as HBase's own tool prints those of a live cluster:

  hbase org.apache.hadoop.hbase.replication.regionserver.DumpReplicationQueues [--distributed [--hdfs]]

The words are those of HBase's tool, so scripts that parse them still work. That tool counts files twice, shows every
position as 0, and prints nothing while no table has a replication scope; dump-queues does not. docs/dump-queues.md
lists the differences. The cluster may be down: everything comes from the snapshot, sizes from its listing. Queues in
the table (HBase 3) and in ZooKeeper (1.x, 2.x).

  no option             the records: rows of hbase:replication, or znodes
  --distributed         queue by queue: WALs with positions; deleted queues, dead servers, WALs of each peer
  --distributed --hdfs  with sizes, and how many WALs are nowhere
  --lake, --output json everything, whatever the options above

examples:
  ./spark-submit.sh dump-queues --snapshot /snapshots/prod-a/2026-11-21 --distributed --hdfs
  ./spark-submit.sh dump-queues --snapshot /snapshots/prod-a/2026-11-21 --lake /walsafe/lake --output json
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--snapshot", required=True, metavar="DIR", help="snapshot directory (see capture)")
    parser.add_argument("--distributed", action="store_true", help="queue by queue, in place of the records")
    parser.add_argument("--hdfs", action="store_true", help="with the sizes of WALs; only with --distributed")
    parser.add_argument("--lake", metavar="DIR", help="write the Delta tables there too; made if missing")
    parser.add_argument("--config", metavar="FILE", help="for queues.row_layout")


def run(args: Namespace, context: JobContext) -> JobResult:
    """Validates the arguments, wires the ports and runs the use case."""
    from jobs.cli.config.configuration import load_config

    if args.hdfs and not args.distributed:
        raise UsageError("--hdfs is about the queues that --distributed prints: give both")
    settings = load_config(args.config, context).settings()
    context.need_spark()

    from jobs.queues.wiring import snapshots_and_lake
    from pipelines.queues.dump.dump_queues import dump_queues
    from pipelines.queues.dump.rows import DUMP_SUFFIX

    ports = snapshots_and_lake(context, settings, args.lake, DUMP_SUFFIX)
    return dump_queues(args.snapshot, settings, *ports, distributed=args.distributed, sizes=args.hdfs)
