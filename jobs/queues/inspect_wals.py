"""The job inspect-wals: reads the WALs that replication still has to read."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from pipelines.common.errors import UsageError
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Reads the WALs themselves, where they lie, and tells
  of each file   entries, sequence ids, write times, how it ends (closed, open, torn, broken), whose edits it holds
  of each queue  whether its offset is a place where a reader can go on, what is pending behind it, and how much of
                 that its peer wants by its tables and the families' replication scopes

It takes the list of files, the offsets of the queues and the tables of the peers from a snapshot (see capture). Without
--server, --path or another restriction, it reads all files that some queue still needs; this may be terabytes. Queues
may be in hbase:replication or in ZooKeeper, where each names what it needs. It only reads; memory does not grow with
the files. Executors need Python; those of reconcile do not.

Exit code 5: a queue is stuck (a headerless or broken WAL at its head, an offset inside of an entry or behind the last
byte of its WAL), or the file system could not return a WAL, and this is new.

examples:
  ./spark-submit.sh inspect-wals --snapshot /snapshots/prod-a/2026-11-21 --server h1.example.org,16020
  ./spark-submit.sh inspect-wals --snapshot /snapshots/prod-a/2026-11-21 --lake /walsafe/lake
  ./spark-submit.sh inspect-wals --snapshot /snapshots/prod-a/2026-11-21 \\
      --path oldWALs/h1.example.org%2C16020%2C1763690000000.1763694000000 --output json
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--snapshot", required=True, metavar="DIR", help="snapshot directory (see capture)")
    parser.add_argument(
        "--path",
        action="extend",
        nargs="+",
        default=[],
        metavar="PATH",
        help="these files alone, as the snapshot has them",
    )
    parser.add_argument("--server", metavar="NAME", help="WALs of this server: host,port,startcode, host,port or host")
    parser.add_argument("--group", metavar="GROUP", help="one WAL group, URL-encoded as in file names")
    parser.add_argument("--queue", metavar="ROW", help="one queue: peer-host,port,startcode[/host,port,startcode]")
    parser.add_argument("--lake", metavar="DIR", help="write the Delta tables there too; made if missing")
    parser.add_argument("--config", metavar="FILE", help="for findings.acknowledged and queues.row_layout")


def run(args: Namespace, context: JobContext) -> JobResult:
    """Validates the arguments, wires the ports and runs the use case."""
    from jobs.cli.config.configuration import load_config

    if args.path and (args.server or args.group or args.queue):
        raise UsageError("--path names files; --server, --group and --queue restrict all others: give one or the other")
    settings = load_config(args.config, context).settings()
    context.need_spark()

    from jobs.queues.wiring import snapshots_and_lake
    from pipelines.queues.wals.inspect_wals import InspectRequest, inspect_wals
    from pipelines.queues.wals.rows import INSPECTION_SUFFIX

    request = InspectRequest(
        snapshot=args.snapshot,
        settings=settings,
        paths=tuple(args.path),
        server=args.server,
        group=args.group,
        queue=args.queue,
    )
    ports = snapshots_and_lake(context, settings, args.lake, INSPECTION_SUFFIX)
    return inspect_wals(request, context.spark, *ports)
