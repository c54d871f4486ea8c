"""Plays ranges of seeds on all cores, or shows one history."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from jobs.demo.cluster.on_disk import write_snapshot
from pipelines.common.clock import Clock
from pipelines.common.errors import UsageError
from tests.models.capture.batch import Played, code_sha256, play_range
from tests.models.capture.captured import captured
from tests.models.capture.players import player
from tests.models.capture.text import ending
from tests.models.capture.walk import DESIGN_ITSELF, walk
from tests.models.commands.record import Record
from tests.models.cores import side_by_side

RANGE = 1_000
"""Number of seeds in one range."""
_SHOWN = 3
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """What to play: whole ranges from `first_seed` on that cover `seeds` histories; `record` keeps them."""

    first_seed: int
    seeds: int
    mutant: str
    record: Path | None = None

    @property
    def ranges(self) -> range:
        """Returns the first seeds of the ranges."""
        first = self.first_seed // RANGE * RANGE
        return range(first, self.first_seed + self.seeds, RANGE)


def play_seeds(request: Request) -> tuple[dict[str, object], str]:
    """Plays the ranges that the record does not have yet, and reports on all requested ranges.

    Raises:
        UsageError: the mutant does not exist, or the file is not a record.
        UnavailableError: the record cannot be read or written.
    """
    player(request.mutant)
    code = code_sha256()
    record = Record(request.record, request.mutant, code)
    played = {first: one for first, one in record.played().items() if first in request.ranges}
    before = len(played)
    missing = [first for first in request.ranges if first not in played]
    _LOG.info("%d ranges of %d seeds, %d of them played before", len(request.ranges), RANGE, before)
    for one in side_by_side(partial(play_range, seeds=RANGE, mutant_name=request.mutant), missing):
        record.keep(one)
        played[one.first_seed] = one
        _LOG.info("%d histories, up to seed %d", len(played) * RANGE, one.first_seed + RANGE - 1)
    return _answer(request, code, before, [played[first] for first in request.ranges])


def replay(seed: int, mutant: str) -> tuple[dict[str, object], str]:
    """Returns one history as a result and as text.

    Raises:
        UsageError: the mutant does not exist.
    """
    playing = player(mutant)
    history = playing.history(seed)
    lines = [f"Seed {seed}, mutant {mutant}", playing.told(history.scope, history.moves)]
    if history.loss:
        lines.append(ending(playing.names(history.scope), history.loss))
    elif history.needed:
        lines.append(f"      nothing lost: {history.needed} listed WALs are still needed, and all of them are held")
    else:
        lines.append("      nothing to lose: no listed WAL is needed any more")
    text = "\n".join(lines)
    return {"seed": seed, "mutant": mutant, "violations": int(history.loss is not None), "history": text}, text


def write_history(seed: int, mutant: str, out: Path, clock: Clock) -> dict[str, object]:
    """Writes the capture of one history as a snapshot directory that `reconcile` reads.

    Args:
        seed: the seed of the history.
        mutant: must be the design with queues in the table; other designs have no snapshot.
        out: a directory that does not exist yet.
        clock: the capture ends at its current time.

    Raises:
        UsageError: `mutant` is another design, or the directory exists.
    """
    if mutant != DESIGN_ITSELF.name:
        raise UsageError(
            "--out writes a capture of queues in the table, in the real order: leave --mutant and --queue-storage out"
        )
    made = captured(walk(seed), clock.now_ms())
    write_snapshot(made, out)
    return {"snapshot": str(out), "cluster": made.snapshot.cluster, "files": len(made.files)}


def capture_text(written: Mapping[str, object]) -> str:
    """Returns the text with the next command for a written history."""
    snapshot = written["snapshot"]
    return (
        f"Its capture, {written['files']} files of cluster {written['cluster']}, is in {snapshot}\n"
        f"  ./spark-submit.sh reconcile --snapshot {snapshot} --lake {snapshot}-lake --lists {snapshot}-lists"
    )


def _answer(request: Request, code: str, before: int, played: Sequence[Played]) -> tuple[dict[str, object], str]:
    violations = [asdict(violation) for one in played for violation in one.violations]
    histories, moves = sum(one.seeds for one in played), sum(one.moves for one in played)
    contested, cpu_ms = sum(one.contested for one in played), sum(one.cpu_ms for one in played)
    result: dict[str, object] = {
        "mutant": request.mutant,
        "code_sha256": code,
        "first_seed": request.ranges[0],
        "histories": histories,
        "played_before": before * RANGE,
        "contested": contested,
        "moves": moves,
        "cpu_ms": cpu_ms,
        "violations": len(violations),
        "examples": violations[:_SHOWN],
    }
    more = "; such as" if violations else ""
    lines = [
        f"{histories:,} histories of {request.mutant}, {before * RANGE:,} of them played before",
        f"{moves:,} steps, {1000 * histories // max(cpu_ms, 1):,} histories a second of one core",
        f"{contested:,} ended with a listed WAL that is still needed",
        f"{len(violations):,} lost data{more}",
    ]
    for one in violations[:_SHOWN]:
        lines += [f"\nseed {one['seed']}", str(one["replay"])]
    return result, "\n".join(lines)
