"""The job split-stale: predicts what the compaction filter of Pegasus drops after a split, and why."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from jobs.split.options import (
    acknowledged_findings,
    add_identity,
    add_instant,
    add_run_options,
    instant_ms,
    partition_numbers,
)
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
After a partition split parent and child both hold all rows of the parent; half of them are stale copies. Pegasus's
compaction filter takes them, silently, if its conditions hold: the table's env replica.split.validate_partition_hash is
true, the replica's partition_version is neither -1 nor below its own index. This job rehearses that filter on an export
of the rows and says for each partition what a compaction would drop, what it would keep and why, and how many bytes it
gives back. It changes nothing.

Rows are Parquet with the columns partition_index, key, value as they are in RocksDB (docs/split-rows.md).

Use it when a split has ended and is verified, before the manual compaction that should give back its space; or when a
table has more rows after a restore than before.

Exit code 3: the env was lost, so that copies stay forever and scans see them; or the table has no power of two of
partitions, so that the filter takes rows that are no copies; or rows lie in partitions that never owned them.

examples:
  ./spark-submit.sh split-stale --table t --rows /export/t-16 --partitions 16 --created-with 8 --validate-env true
  ./spark-submit.sh split-stale --table t --rows /export/t-16 --partitions 16 --created-with 8 --validate-env unset \\
      --version 3=-1 --lake /walsafe/lake
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--rows", required=True, metavar="DIR", help="rows of the table")
    parser.add_argument("--partitions", required=True, type=int, metavar="N", help="its partitions")
    parser.add_argument(
        "--created-with",
        required=True,
        type=int,
        metavar="N",
        help="partitions before any split: init_partition_count, or that of another table from which the data came "
        "(duplication)",
    )
    parser.add_argument(
        "--validate-env",
        required=True,
        choices=("true", "false", "unset"),
        help="the table's env replica.split.validate_partition_hash",
    )
    parser.add_argument("--default-ttl", type=int, default=0, metavar="S", help="the table's env default_ttl, seconds")
    parser.add_argument(
        "--version",
        action="append",
        default=[],
        metavar="INDEX=VERSION",
        help="partition_version of a partition where it is not the count minus 1; may be repeated",
    )
    parser.add_argument("--data-version", type=int, choices=(0, 1), default=1, help="pegasus_data_version; default: 1")
    add_instant(parser)
    add_identity(parser)
    add_run_options(parser)


def run(args: Namespace, context: JobContext) -> JobResult:
    """Reads the arguments, wires the ports and runs the use case."""
    from jobs.split.wiring import run_split_stale
    from pipelines.pegasus.domain.rows import Placement
    from pipelines.pegasus.domain.stale import FilterSettings
    from pipelines.pegasus.use_cases.frame import split_run
    from pipelines.pegasus.use_cases.split_stale import StaleRequest

    placement = Placement(args.partitions, args.created_with, args.data_version)
    settings = FilterSettings(
        placement, args.validate_env == "true", args.default_ttl, partition_numbers("--version", args.version)
    )
    request = StaleRequest(args.table, args.rows, settings, instant_ms(args.at, context.clock.now_ms()))
    inputs = {"table": args.table, "rows": args.rows, "settings": str(settings)}
    known = acknowledged_findings(args, context)
    run_of = split_run("split-stale", args.cluster, request.at_ms, inputs, args.run_id, known)
    return run_split_stale(context, request, run_of, args.lake)
