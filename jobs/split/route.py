"""The job split-route: checks requests against the rules of a split, and predicts the answers at each stage."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from jobs.split.options import acknowledged_findings, add_run_options
from pipelines.common.errors import UsageError
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Holds a journal of requests (docs/split-route.md) against what a primary must say: ERR_OK, a rejection while its
partition is being registered, ERR_PARENT_PARTITION_MISUSED for keys of its child (Q1 to Q5 of docs/split-rules.md).
With --from it also tells what the same requests, or the hashes given, would be told at each stage of a split.

A rejection is called ERR_OBJECT_NOT_FOUND in the design, ERR_SPLITTING in the code since 2.3: --reject-code chooses the
name that is shown; in journals both are understood.

Use it when clients of a table saw errors while it was split, and you must know whether these were right; or to see
before a split what clients will see.

Exit code 3: a rule was broken (a finding of severity error).

examples:
  ./spark-submit.sh split-route --hash 5 --from 4
  ./spark-submit.sh split-route --journal /walsafe/pegasus/requests.jsonl --from 4 --reject-code shipped
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--journal", metavar="FILE", help="requests and answers, a JSON object a line")
    parser.add_argument(
        "--hash", action="extend", nargs="+", default=[], metavar="N", help="hashes of keys, 0x… or decimal"
    )
    parser.add_argument("--from", type=int, metavar="COUNT", dest="old", help="partitions before the split")
    parser.add_argument("--reject-code", choices=("seed", "shipped"), default="seed", help="default: seed")
    parser.add_argument("--cluster", default="pegasus", metavar="NAME", help="name for the tables (pegasus)")
    add_run_options(parser)


def run(args: Namespace, context: JobContext) -> JobResult:
    """Validates the arguments, wires the ports and runs the use case."""
    from jobs.split.wiring import log_reader, split_lake
    from pipelines.pegasus.domain.partitions import MOST_PARTITIONS, is_power_of_two
    from pipelines.pegasus.use_cases.frame import split_run
    from pipelines.pegasus.use_cases.route import checked_journal, run_route

    if args.old is not None and not (is_power_of_two(args.old) and 2 * args.old <= MOST_PARTITIONS):
        raise UsageError(f"--from {args.old}: a power of two up to {MOST_PARTITIONS // 2}; else see split-preflight")
    if args.old is None and args.hash:
        raise UsageError("--hash needs --from COUNT, the number of partitions before the split")
    if not args.journal and not args.hash:
        raise UsageError("give --journal FILE, or --hash N with --from COUNT")
    known = acknowledged_findings(args, context)
    journal = log_reader(context, args.journal).journal(args.journal) if args.journal else None
    at = checked_journal(journal) if journal is not None else context.clock.now_ms()
    hashes = [_number(text) for text in args.hash]
    inputs = [args.journal, args.hash, args.old, args.reject_code]
    identity = split_run(context.job, args.cluster, at, inputs, args.run_id, known)
    lake = split_lake(context, args.lake)
    return run_route(identity, journal, lake, old_count=args.old, hashes=hashes, names=args.reject_code)


def _number(text: str) -> int:
    try:
        found = int(text, 0)
    except ValueError:
        found = -1
    if not 0 <= found < 1 << 64:
        raise UsageError(f"--hash {text}: a number from 0 to 2^64-1, decimal or 0x…")
    return found
