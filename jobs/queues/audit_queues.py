"""The job audit-queues: classifies every replication queue, dates its claims and plans the claim of orphans."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Looks at every replication queue of a snapshot (see capture), in hbase:replication or in ZooKeeper, and gives its class:
normal, recovered, in failover, orphan, of a removed peer, duplicate, suspect, or with lost WALs; in ZooKeeper also
locks that were left behind and empty znodes. Each comes with evidence, the bytes that it pins, and the exact remedy.

  several --snapshot  of one cluster, and with --lake the audits that it remembers: who claimed which queue when, and
                      how long the queue waited for it
  --plan DIR          for orphans: claim-plan.txt, to follow, and servers.txt, for HBCK2 'scheduleRecoveries -i'

It reads snapshots and writes tables and these two files; to the cluster it writes nothing. docs/audit-queues.md has
all classes.

Exit code 5: WALs of a queue are missing or lost, and this is new.

examples:
  ./spark-submit.sh audit-queues --snapshot /snapshots/prod-a/2026-11-21 --plan /tmp/plan
  ./spark-submit.sh audit-queues --snapshot /snapshots/prod-a/2026-11-2* --lake /walsafe/lake
  ./spark-submit.sh audit-queues --snapshot /snapshots/prod-a/2026-11-21 --output json
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument(
        "--snapshot",
        required=True,
        action="extend",
        nargs="+",
        metavar="DIR",
        help="snapshot directories (see capture) of one cluster; the newest is audited",
    )
    parser.add_argument("--plan", metavar="DIR", help="write the claim plan there; any URI, made if missing")
    parser.add_argument("--lake", metavar="DIR", help="write the Delta tables there too, and remember; made if missing")
    parser.add_argument("--config", metavar="FILE", help="for findings.acknowledged, release and queues.row_layout")


def run(args: Namespace, context: JobContext) -> JobResult:
    """Reads the arguments, wires the ports and runs the use case."""
    from jobs.cli.config.configuration import load_config
    from jobs.queues.wiring import snapshots_and_lake, text_writer
    from pipelines.queues.audit.audit_queues import audit_queues
    from pipelines.queues.audit.rows import AUDIT_SUFFIX

    settings = load_config(args.config, context).settings()
    ports = snapshots_and_lake(context, settings, args.lake, AUDIT_SUFFIX)
    write_plan = text_writer(context, args.plan) if args.plan else None
    return audit_queues(args.snapshot, settings, *ports, context.clock, write_plan)
