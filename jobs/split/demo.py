"""The job split-demo: simulates a split, removes one row, and checks that split-verify finds it."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from shlex import quote

from jobs.cli.context import JobContext, directory_here
from jobs.cli.launch.places import PROGRAM
from pipelines.common.conditions import Condition
from pipelines.common.errors import EXIT_DONE, EXIT_REFUSED, RefusedError, UsageError
from pipelines.common.instants import compact_instant
from pipelines.common.job_result import JobResult
from pipelines.files.local_paths import local_uri

NEEDS_SPARK = True
DESCRIPTION = """\
Plays the split of a Pegasus table from 4 to 8 partitions, with crashes and failovers, on a model of the protocol;
writes the rows before and after; takes one acknowledged row away from the partition that owns it; and lets split-verify
compare. It must find exactly that row. It needs no cluster and no network.

Use it when you want to see what split-verify says, before you have data of your own.
"""
GROUPS = 4


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--out", metavar="DIR", help="where everything goes; default: walsafe-out/split-demo-<time>")
    parser.add_argument("--seed", type=int, default=7, metavar="N", help="of the histories; default: 7")


def run(args: Namespace, context: JobContext) -> JobResult:
    """Simulates a split, removes a row and runs split-verify; exit code 0 if exactly the removed row was found.

    Raises:
        UsageError: the output directory exists, or is not on this machine.
        RefusedError: split-verify found something else, which is a defect.
    """
    from jobs.split.wiring import run_split_verify
    from pipelines.pegasus.domain.keys import escape_bytes, key_hash
    from pipelines.pegasus.domain.partitions import partition_index
    from pipelines.pegasus.domain.rows import Placement
    from pipelines.pegasus.simulate.emission.files import whole_histories, write_rows, write_table
    from pipelines.pegasus.simulate.scope import Design
    from pipelines.pegasus.use_cases.frame import split_run
    from pipelines.pegasus.use_cases.split_verify import ComparedSide, VerifyRequest

    now = context.clock.now_ms()
    out = directory_here(args.out or f"walsafe-out/split-demo-{compact_instant(now)}")
    if out.exists():
        raise UsageError(f"{out}: is there already; give a new directory")
    emitted = write_table(str(out), whole_histories(GROUPS, args.seed, Design()))
    owned = [row for row in emitted.after if partition_index(key_hash(row.key), 2 * GROUPS) == row.partition_index]
    lost = owned[args.seed % len(owned)]
    write_rows([row for row in emitted.after if row != lost], out / "after-with-a-loss")

    def verified(after: str) -> JobResult:
        before = ComparedSide(local_uri((out / "before").resolve()), Placement(GROUPS, GROUPS))
        request = VerifyRequest(
            "temp", before, ComparedSide(local_uri((out / after).resolve()), Placement(2 * GROUPS, GROUPS)), now
        )
        of = split_run("split-verify", "simulated", now, request.inputs)
        return run_split_verify(context, request, of, local_uri((out / "lake").resolve()))

    whole, damaged = verified("after"), verified("after-with-a-loss")
    shown = damaged.result["shown"]
    found = [(row["reason"], row["key"]) for row in shown] if isinstance(shown, list) else []
    if whole.exit_code != EXIT_DONE or damaged.exit_code != EXIT_REFUSED or found != [("lost", escape_bytes(lost.key))]:
        raise RefusedError(
            Condition.SELF_CHECK_FAILED,
            f"split-verify should have found the row {escape_bytes(lost.key)} alone, and found {found}",
        )
    text = (
        f"The split as it was played:\n\n{whole.text}\nThe same with one row taken away, {escape_bytes(lost.key)} of "
        f"partition {lost.partition_index}:\n\n{damaged.text}\nFound exactly. All of it is in {out}; the tables are in "
        f"{out}/lake.\n\nTry next:\n{_next_commands(out)}"
    )
    result = {"directory": str(out), "lost": escape_bytes(lost.key), "whole": whole.result, "damaged": damaged.result}
    return JobResult(EXIT_DONE, result, text)


def _next_commands(out: Path) -> str:
    """Returns commands to paste, with paths of this machine, whatever the default file system of Hadoop is."""

    def at(name: str) -> str:
        return quote(local_uri(out.resolve() / name))

    return (
        f"  # Did ballots and partition counts keep to the rules?\n"
        f"  {PROGRAM} split-audit-config --states {at('states')}\n"
        f"  # What do the private logs say, and which of them can be deleted?\n"
        f"  {PROGRAM} split-audit-log --logs {at('logs')} --facts {at('facts.json')}\n"
        f"  # Were the clients told what they should have been?\n"
        f"  {PROGRAM} split-route --journal {at('requests.jsonl')}\n"
        f"  # What would a compaction delete after the split?\n"
        f"  {PROGRAM} split-stale --table temp --rows {at('after')} --partitions {2 * GROUPS} --created-with {GROUPS} "
        "--validate-env true\n"
        f"  # What would a split of the rows before it yield?\n"
        f"  {PROGRAM} split-plan --rows {at('before')} --partitions {GROUPS} --target 1KiB\n"
    )
