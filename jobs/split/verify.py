"""The job split-verify: proves that a partition split lost nothing, or reports what it lost."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from jobs.split.options import acknowledged_findings, add_identity, add_instant, add_run_options, instant_ms
from pipelines.common.errors import UsageError
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Compares two copies of a Pegasus table, whatever their numbers of partitions: before and after a partition split, or
the tables of two clusters. Every row is put into the partition of the finer copy that owns it; of each partition the
live rows are counted and digested, without moving them. Where the sums agree, the rows are the same. Only where they
differ are the rows compared by key, and each difference gets a reason:

  lost         live on one side, not there on the other
  value        live on both, with other values
  expired      live on one side, expired on the other
  stale-newer  a copy in a partition that does not own it is newer than the owner's row: a misrouted write
  stale        a copy that compaction should have taken (with --compacted; without, they are only counted)
  foreign      it lies where it never belonged, neither before nor after any split
  malformed    no key or value that Pegasus writes, or a key twice

Rows are Parquet with the columns partition_index, key, value as they are in RocksDB (docs/split-rows.md).

Use it when a split has ended, before a compaction takes the copies: they are the last ones of a row that was lost. And
when two clusters should have the same table.

Exit code 3: a difference is proven, and not acknowledged.

examples:
  ./spark-submit.sh split-verify --table t --before /export/t-8 --before-partitions 8 \\
      --after /export/t-16 --after-partitions 16 --lake /walsafe/lake
  ./spark-submit.sh split-verify --table t --before /c1/t --before-partitions 8 --before-created-with 8 \\
      --after /c2/t --after-partitions 32 --after-created-with 32 --output json
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    for side in ("before", "after"):
        parser.add_argument(f"--{side}", required=True, metavar="DIR", help=f"rows {side} the split, or of a cluster")
        parser.add_argument(f"--{side}-partitions", required=True, type=int, metavar="N", help="its partitions")
        parser.add_argument(
            f"--{side}-created-with",
            type=int,
            metavar="N",
            help="partitions it had before any split whose copies may be left; "
            + (
                "default: as many as now"
                if side == "before"
                else "default: as for `before` if its partitions divide these"
            ),
        )
    parser.add_argument(
        "--compacted", action="store_true", help="compaction ended after the split: no copy may be left"
    )
    parser.add_argument("--data-version", type=int, choices=(0, 1), default=1, help="pegasus_data_version; default: 1")
    parser.add_argument("--most", type=int, default=1000, metavar="N", help="differences told of each reason; 1000")
    add_instant(parser)
    add_identity(parser)
    add_run_options(parser)


def run(args: Namespace, context: JobContext) -> JobResult:
    """Reads the arguments, wires the ports and runs the use case."""
    from jobs.split.wiring import run_split_verify
    from pipelines.pegasus.domain.rows import Placement
    from pipelines.pegasus.use_cases.frame import split_run
    from pipelines.pegasus.use_cases.split_verify import ComparedSide, VerifyRequest

    if args.most < 0:
        raise UsageError(f"--most {args.most}: give the number of differences told of each reason, 0 or more")
    old, new = args.before_partitions, args.after_partitions
    given_before, given_after = args.before_created_with, args.after_created_with
    before = Placement(old, old if given_before is None else given_before, args.data_version)
    split_from = before.created_with if old <= new and new % old == 0 else new
    after = Placement(new, split_from if given_after is None else given_after, args.data_version)
    request = VerifyRequest(
        table=args.table,
        before=ComparedSide(args.before, before),
        after=ComparedSide(args.after, after),
        at_ms=instant_ms(args.at, context.clock.now_ms()),
        compacted=args.compacted,
        most=args.most,
    )
    known = acknowledged_findings(args, context)
    run = split_run("split-verify", args.cluster, request.at_ms, request.inputs, args.run_id, known)
    return run_split_verify(context, request, run, args.lake)
