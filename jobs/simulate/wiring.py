"""Wires simulate: plays ranges of seeds on Spark executors and writes one lake row per range."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

from pyspark.sql import functions as F

from jobs.cli.context import JobContext
from jobs.demo.generated_snapshot import write_snapshot
from pipelines.common.clock import Clock
from pipelines.common.errors import UsageError
from pipelines.common.version import VERSION
from pipelines.lake.delta_tables import DeltaTables
from pipelines.lake.lake_errors import lake_errors
from pipelines.simulate.adversary.batch import Played, code_sha256, play_range
from pipelines.simulate.adversary.captured import captured
from pipelines.simulate.adversary.players import player
from pipelines.simulate.adversary.text import ending
from pipelines.simulate.adversary.walk import DESIGN_ITSELF, walk
from schemas.simulations import SIMULATIONS, VIOLATION

RANGE = 1_000
"""Number of seeds in one range."""
RANGES_OF_A_TASK = 8
"""Ranges per core in one wave; a run that is stopped loses at most one wave."""
_SHOWN = 3
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """What to play: whole ranges from `first_seed` on that cover `seeds` histories."""

    first_seed: int
    seeds: int
    mutant: str
    lake: str

    @property
    def ranges(self) -> range:
        """First seeds of the ranges."""
        first = self.first_seed // RANGE * RANGE
        return range(first, self.first_seed + self.seeds, RANGE)


def play_seeds(context: JobContext, request: Request) -> tuple[dict[str, object], str]:
    """Play the ranges that the lake does not have yet, and report on all requested ranges.

    Raises:
        UsageError: the mutant does not exist, or the lake folder is not a lake.
        UnavailableError: the lake cannot be read or written.
    """
    player(request.mutant)
    code = code_sha256()
    tables = DeltaTables(context.spark, request.lake)
    tables.ensure([SIMULATIONS])
    rows = _rows(context, tables, request, code)
    there = {row["first_seed"] for row in rows}
    missing = [first for first in request.ranges if first not in there]
    _LOG.info("%d ranges of %d seeds, %d of them played before", len(request.ranges), RANGE, len(there))
    for played in _waves(context, missing, request.mutant):
        at = context.clock.now_ms()
        tables.append_rows(SIMULATIONS, [_row(one, request.mutant, code, at) for one in played])
        _LOG.info("%d histories up to seed %d", len(played) * RANGE, max(one.first_seed for one in played) + RANGE)
    return _answer(request, code, len(there), _rows(context, tables, request, code))


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
    """Write what the capture of one history found, as a snapshot directory that `reconcile` reads.

    Args:
        seed: of the history.
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


def _waves(context: JobContext, firsts: Sequence[int], mutant: str) -> Iterator[Sequence[Played]]:
    """Plays the ranges wave by wave, so that a run that is stopped loses at most one wave."""
    spark = context.spark.sparkContext
    size = spark.defaultParallelism * RANGES_OF_A_TASK
    for begin in range(0, len(firsts), size):
        wave = list(firsts[begin : begin + size])
        work = spark.parallelize(wave, min(len(wave), spark.defaultParallelism))
        yield work.map(lambda first: play_range(first, RANGE, mutant)).collect()


def _row(played: Played, mutant: str, code: str, at: int) -> Mapping[str, object]:
    names = [field.name for field in VIOLATION]
    return {
        "cluster": "simulated",
        "run_id": f"{mutant}-{code[:8]}-{played.first_seed:012d}"[-64:],
        "run_date": datetime.fromtimestamp(at // 1000, timezone.utc).date(),
        "mutant": mutant,
        "code_sha256": code,
        "first_seed": played.first_seed,
        "seeds": played.seeds,
        "contested": played.contested,
        "moves": played.moves,
        "cpu_ms": played.cpu_ms,
        "at": at,
        "walsafe_version": VERSION,
        "violations": [tuple(asdict(one)[name] for name in names) for one in played.violations],
    }


def _rows(context: JobContext, tables: DeltaTables, request: Request, code: str) -> list[Mapping[str, object]]:
    location = tables.location(SIMULATIONS)
    with lake_errors(location):
        frame = context.spark.read.format("delta").load(location)
        mine = (F.col("mutant") == request.mutant) & (F.col("code_sha256") == code)
        asked = F.col("first_seed").between(request.ranges[0], request.ranges[-1])
        found = frame.where(mine & asked).dropDuplicates(["first_seed"]).orderBy("first_seed").collect()
    return [row.asDict(recursive=True) for row in found]


def _answer(
    request: Request, code: str, before: int, rows: Sequence[Mapping[str, object]]
) -> tuple[dict[str, object], str]:
    total = {name: sum(int(str(row[name])) for row in rows) for name in ("seeds", "contested", "moves", "cpu_ms")}
    violations = [one for row in rows for one in row["violations"]]  # type: ignore[attr-defined]
    result: dict[str, object] = {
        "mutant": request.mutant,
        "code_sha256": code,
        "first_seed": request.ranges[0],
        "histories": total["seeds"],
        "played_before": before * RANGE,
        "contested": total["contested"],
        "moves": total["moves"],
        "cpu_ms": total["cpu_ms"],
        "violations": len(violations),
        "examples": violations[:_SHOWN],
    }
    per_second = 1000 * total["seeds"] // max(total["cpu_ms"], 1)
    where = f"; table {SIMULATIONS.name} has every one, such as" if violations else ""
    lines = [
        f"{total['seeds']:,} histories of {request.mutant}, {before * RANGE:,} of them played before",
        f"{total['moves']:,} steps, {per_second:,} histories a second of one core",
        f"{total['contested']:,} ended with a listed WAL that is still needed",
        f"{len(violations):,} lost data{where}",
    ]
    for one in violations[:_SHOWN]:
        lines += [f"\nseed {one['seed']}", str(one["replay"])]
    return result, "\n".join(lines)
