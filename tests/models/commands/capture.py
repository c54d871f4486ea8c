"""Searches the models of the capture: plays random histories of a model cluster by seed and looks for lost data."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from jobs.cli.context import JobContext
from pipelines.common.errors import EXIT_DONE, EXIT_REFUSED, UsageError
from pipelines.common.job_result import JobResult
from tests.models.commands.seeds import Request, capture_text, play_seeds, replay, write_history

NEEDS_SPARK = False
DESIGNS = {"table": "design", "zookeeper": "zk-design"}
"""The design that is played when no mutant is named, by `queue_storage`."""
DESCRIPTION = """\
Plays random histories of a model of HBase replication: servers crash, queues are claimed, peers come and go, masters
fail over, while walsafe's capture reads in between. Capture order and rule are the real ones. A history in which a WAL
that a peer still needs is DELETABLE is a violation: exit code 3, and the history in its shortest form. What the model
has, and what it leaves out: docs/proof.md.

Seeds are played in ranges of a thousand, side by side on all cores. With --record each range that was played is a line
of that file, and is not played again by this very code: a run that was stopped goes on where it was.

examples:
  ./tests/run --search capture --seeds 1000000 --record walsafe-out/proof.jsonl
  ./tests/run --search capture --seeds 20000 --mutant no-directories              # must exit with 3
  ./tests/run --search capture --seeds 100000 --queue-storage zookeeper
  ./tests/run --search capture --replay 4711
  ./tests/run --search capture --replay 755 --out /tmp/history    # and write its capture, for reconcile --snapshot
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("--seeds", type=int, metavar="N", help="histories to play, whole thousands are played anyway")
    parser.add_argument("--first-seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument(
        "--record", metavar="FILE", help="with --seeds: keep what was played there, a JSON object a line, and go on"
    )
    parser.add_argument(
        "--queue-storage",
        choices=tuple(DESIGNS),
        help="where the model has its queues (default: table, or what --mutant is about)",
    )
    parser.add_argument("--mutant", metavar="NAME", help="weaken capture or rule (docs/proof.md)")
    parser.add_argument("--replay", type=int, metavar="SEED", help="show one history, and play nothing else")
    parser.add_argument(
        "--out", metavar="DIR", help="with --replay: write its capture there, a snapshot like any other"
    )


def run(args: Namespace, context: JobContext) -> JobResult:
    """Plays the seeds, or shows one history."""
    if (args.seeds is None) == (args.replay is None):
        raise UsageError("give exactly one of --seeds N and --replay SEED")
    mutant = _mutant(args)
    if args.replay is not None:
        if args.record is not None:
            raise UsageError("--record keeps ranges of seeds: give it with --seeds N")
        result, text = replay(args.replay, mutant)
        if args.out is not None:
            written = write_history(args.replay, mutant, Path(args.out), context.clock)
            result, text = {**result, **written}, f"{text}\n\n{capture_text(written)}"
    elif args.out is not None:
        raise UsageError("--out writes the capture of one history: name it with --replay SEED")
    else:
        if args.seeds < 1 or args.first_seed < 0:
            raise UsageError("--seeds must be 1 or more, --first-seed 0 or more")
        record = Path(args.record) if args.record else None
        result, text = play_seeds(Request(args.first_seed, args.seeds, mutant, record))
    return JobResult(EXIT_REFUSED if result["violations"] else EXIT_DONE, result, text)


def _mutant(args: Namespace) -> str:
    """Returns the name of the mutant or design to play; mutants with queues in ZooKeeper begin with `zk-`."""
    if args.mutant is None:
        return DESIGNS[args.queue_storage or "table"]
    mutant: str = args.mutant
    storage = "zookeeper" if mutant.startswith("zk-") else "table"
    if args.queue_storage not in (None, storage):
        raise UsageError(f"the mutant {mutant} is one of queue storage {storage}, not {args.queue_storage}")
    return mutant
