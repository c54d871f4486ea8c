"""The job plan-syncup: predicts what ReplicationSyncUp would ship while the source cluster is down."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
HBase's ReplicationSyncUp ships what is left in the queues of a source cluster that is down; it has no dry run. From a
snapshot of that cluster this job tells
  of each queue  what the tool reads for it: the WALs in order, from which offset, bytes; which are missing; what is
                 sent again because hbase:replication was not flushed; queues that it makes up (placeholders)
  of each peer   the sum, HFiles of bulk loads that wait, last pushed sequence ids
and whether the tool would ever end. It refuses (exit code 3) where edits would be lost: WALs in a half-split directory
(WALs/<server>-splitting), which the tool does not read; queues whose row was never flushed. It also refuses where the
tool would die half-way: files that are not WALs, queues of a serial peer.

Of queues in ZooKeeper it tells what the tool of HBase 2 does: it moves queues of disabled peers to a name of its own,
and it waits forever for a WAL that it does not find.

The snapshot is taken with HBase stopped, HDFS and ZooKeeper up (docs/syncup.md); this one is of HBase 3, and HBase 2
has queues: {source: zookeeper, quorum: "zk1:2181,zk2:2181,zk3:2181"}:

  capture:
    files:  {source: hadoop}
    queues: {source: hfiles, jars: [/opt/hbase/lib/*.jar, /opt/hbase/lib/client-facing-thirdparty/*.jar]}
    state:  {source: offline, quorum: "zk1:2181,zk2:2181,zk3:2181"}
    hbase:  {site: /etc/walsafe/hbase-site.xml}     # a copy of the master's

It only reads. Exit code 5: the tool would never end, an earlier run has left flag files, or a WAL is missing, and
this is new.

examples:
  ./spark-submit.sh capture --config prod-a-down.yaml --out /snapshots/prod-a/down
  ./spark-submit.sh plan-syncup --snapshot /snapshots/prod-a/down
  ./spark-submit.sh plan-syncup --snapshot /snapshots/prod-a/down --lake /walsafe/lake --output json
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--snapshot", required=True, metavar="DIR", help="snapshot of the cluster while it is down")
    parser.add_argument("--lake", metavar="DIR", help="write the Delta tables there too; made if missing")
    parser.add_argument("--config", metavar="FILE", help="for findings.acknowledged and queues.row_layout")


def run(args: Namespace, context: JobContext) -> JobResult:
    """Reads the arguments, wires the ports and runs the use case."""
    from jobs.cli.config.configuration import load_config
    from jobs.queues.wiring import snapshots_and_lake
    from pipelines.queues.syncup.plan_syncup import plan
    from pipelines.queues.syncup.rows import PLAN_SUFFIX

    settings = load_config(args.config, context).settings()
    return plan(args.snapshot, settings, *snapshots_and_lake(context, settings, args.lake, PLAN_SUFFIX))
