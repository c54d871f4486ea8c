"""Searches the model of a partition split for histories that break it."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from pipelines.common.errors import UsageError
from pipelines.common.job_result import JobResult
from tests.models.split.audits import audit_cases
from tests.models.split.emitting import emit_table, histories_of
from tests.models.split.injections import BY_ROW
from tests.models.split.report import split_search, subjects_of

NEEDS_SPARK = False
DESCRIPTION = """\
Plays the protocol of a partition split (start, learning mutation by mutation, the sync point, the count update,
rejection, registration, activation; pause, restart, cancel; clients with any cache) on one group of replicas. With
--rows it tries every order of events with one row of the failure table each, breadth-first, side by side on all cores;
with --seeds it plays random histories with several failures. It looks for: an acknowledged write that is lost, two
owners of one key, a child without a higher ballot, a pause that is forgotten, a state without a way out.

--design says which protocol: 'mended' must hold; 'shipped' shows the known defects, Pegasus issue #2209 and
#2210 among them; a mutant lacks one thing and must break (docs/split-model.md has all).

--emit writes what the split of a whole table leaves behind: rows before and after, states, private logs as Pegasus
writes them, a request journal, facts; and prints the commands that audit it. With --rows each of these rows strikes in
one partition; with a mutant in --design one partition breaks.

--audits writes tables of good and broken splits, every row of the failure table and every mutant among them, and lets
the five audits read them: which sees what? It alone starts Spark.

Exit code 3: something breaks; of --audits: an audit misses what it must see, or raises something of a good split.

examples:
  ./tests/run --search split --rows all
  ./tests/run --search split --rows F11 --design shipped            # open Pegasus issue #2209; must exit with 3
  ./tests/run --search split --rows F38 --design shipped            # open Pegasus issue #2210; must exit with 3
  ./tests/run --search split --seeds 10000
  ./tests/run --search split --emit /tmp/split --groups 4 --first-seed 7
  ./tests/run --search split --emit /tmp/late --groups 2 --rows F29 --design shipped
  ./tests/run --search split --audits /tmp/audits
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument(
        "--rows", nargs="+", default=[], metavar="ROW", help="rows of the failure table, F1 to F39, or all"
    )
    parser.add_argument("--seeds", type=int, default=0, metavar="N", help="random histories; whole 500s are played")
    parser.add_argument("--first-seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument("--design", default="mended", metavar="NAME", help="mended (default), shipped, or a mutant")
    parser.add_argument("--emit", metavar="DIR", help="a local directory for what a table's split leaves behind")
    parser.add_argument("--audits", metavar="DIR", help="a local directory for good and broken splits, and audit them")
    parser.add_argument(
        "--confirmed", type=int, metavar="DECREE", help="with --emit: the table is duplicated, confirmed up to there"
    )
    parser.add_argument("--groups", type=int, default=4, metavar="N", help="partitions of that table; default: 4")


def run(args: Namespace, context: JobContext) -> JobResult:
    """Validates the arguments and runs the search that they describe."""
    wanted = [bool(args.emit), bool(args.audits), bool(args.seeds or (args.rows and not args.emit))]
    if sum(wanted) != 1:
        raise UsageError(
            "give --rows or --seeds to search, --emit DIR to write a table's split, or --audits DIR to audit such"
        )
    if args.seeds < 0 or args.first_seed < 0 or not 0 < args.groups <= 64 or args.groups & (args.groups - 1):
        raise UsageError("--seeds and --first-seed must not be negative, --groups a power of two of at most 64")
    if args.confirmed is not None and (args.confirmed < 0 or not args.emit):
        raise UsageError("--confirmed: a decree of at least 0, with --emit")
    if args.audits:
        return audit_cases(context, args.audits)
    rows = list(BY_ROW) if args.rows == ["all"] else args.rows
    if args.emit:
        histories = histories_of(args.groups, args.first_seed, args.design, rows)
        return emit_table(args.emit, histories, args.confirmed)
    return split_search(subjects_of(rows, args.first_seed, args.seeds), args.design, context.clock.now_ms())
