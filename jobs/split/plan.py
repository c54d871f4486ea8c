"""The job split-plan: predicts the partition sizes after a split of a Pegasus table."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from jobs.split.options import acknowledged_findings, add_run_options
from pipelines.common.errors import UsageError
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Hashes every key of a table as Pegasus does and tells what each partition would keep and what its child would get, how
uneven that is, how many doublings it takes until no partition is above a size, and which hash keys are above it alone:
no split divides those.

Rows are Parquet with the columns of docs/split-plan.md: a raw key, and its value or the number of its bytes.

Use it when partitions have grown too large or too busy, before you decide on a split and on the new number.

examples:
  ./spark-submit.sh split-plan --rows hdfs://ns1/pegasus/temp-rows --partitions 8 --target 10GiB
  ./spark-submit.sh split-plan --rows /data/temp-rows --partitions 8 --target 512MiB --lake /walsafe/lake
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--rows", required=True, metavar="DIR", help="Parquet: key, and value or value_bytes")
    parser.add_argument("--partitions", type=int, required=True, metavar="COUNT", help="partitions now")
    parser.add_argument(
        "--target", default="10GiB", metavar="SIZE", help="bytes a partition should have at most (10GiB)"
    )
    parser.add_argument("--cluster", default="pegasus", metavar="NAME", help="name for the tables (pegasus)")
    add_run_options(parser)


def run(args: Namespace, context: JobContext) -> JobResult:
    """Validates the arguments, wires the ports and runs the use case."""
    from jobs.split.wiring import read_rows, split_lake
    from pipelines.pegasus.domain.partitions import is_power_of_two
    from pipelines.pegasus.sources.row_files import parquet_errors
    from pipelines.pegasus.use_cases.frame import split_run
    from pipelines.pegasus.use_cases.plan import run_plan

    if not is_power_of_two(args.partitions) or args.partitions > 1 << 16:
        raise UsageError(f"--partitions {args.partitions}: a power of two up to 65536; for others see split-preflight")
    known = acknowledged_findings(args, context)
    rows = read_rows(context, args.rows, args.partitions)
    target = _size(args.target)
    inputs = [args.rows, args.partitions, args.target]
    identity = split_run(context.job, args.cluster, context.clock.now_ms(), inputs, args.run_id, known)
    with parquet_errors(args.rows, "docs/split-plan.md"):
        lake = split_lake(context, args.lake)
        return run_plan(identity, rows, lake, where=args.rows, count=args.partitions, target=target)


def _size(text: str) -> int:
    from pydantic import TypeAdapter, ValidationError

    from jobs.cli.config.config_types import SizeBytes

    try:
        found = TypeAdapter(SizeBytes).validate_python(text)
    except ValidationError:
        found = 0
    if found < 1:
        raise UsageError(f"--target {text}: a size such as 512MiB or 10GiB")
    return int(found)
