"""Writes the data of a simulated table split to files that the other split jobs read."""

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.common.errors import UsageError
from pipelines.pegasus.simulate.emission import Emitted, EmittedRow, emit
from pipelines.pegasus.simulate.faults import FAULTS
from pipelines.pegasus.simulate.scope import Design
from pipelines.pegasus.simulate.walk import WalkHistory, scope_of, walk
from pipelines.pegasus.sinks.part_files import ParquetWriter

_UNFINISHED = frozenset({"pause", "cancel", "restart_split"})
_MOST_TRIES = 1000
_MANY = 8
"""From this number of partitions on, only some steps of the histories produce a state file."""


def write_table(directory: str, histories: Sequence[WalkHistory], confirmed: int | None = None) -> Emitted:
    """Write all files of a simulated table split.

    Raises:
        UsageError: the directory is not empty.
    """
    emitted = emit(histories, confirmed, max(1, len(histories) // _MANY))
    write_emitted(emitted, directory)
    return emitted


def whole_histories(groups: int, first_seed: int, design: Design) -> list[WalkHistory]:
    """Returns histories of the first seeds whose split ends, or breaks, without a pause."""
    may = tuple(name for name in FAULTS if name not in _UNFINISHED)
    found: list[WalkHistory] = []
    for seed in range(first_seed, first_seed + _MOST_TRIES):
        if len(found) == groups:
            return found
        history = walk(seed, design, scope_of(seed, may))
        if history.broken or history.is_settled:
            found.append(history)
    raise UsageError(
        f"{groups} histories that end or break are needed, but the {_MOST_TRIES} histories from seed {first_seed} on "
        f"have only {len(found)}; give another --seed"
    )


def write_emitted(emitted: Emitted, directory: str) -> None:
    """Write all files.

    Raises:
        UsageError: the directory is not empty.
    """
    root = Path(directory)
    if root.exists() and any(root.iterdir()):
        raise UsageError(f"{directory}: not empty; give a new directory")
    write_rows(emitted.before, root / "before")
    write_rows(emitted.after, root / "after")
    (root / "states").mkdir()
    for number, state in enumerate(emitted.states):
        (root / "states" / f"state-{number:04}.json").write_text(json.dumps(state) + "\n", encoding="utf-8")
    lines = "".join(json.dumps(request) + "\n" for request in emitted.journal)
    (root / "requests.jsonl").write_text(lines, encoding="utf-8")
    (root / "facts.json").write_text(json.dumps(emitted.facts) + "\n", encoding="utf-8")
    for path, data in emitted.logs.items():
        log = root / "logs" / path
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(data)


def write_rows(rows: Sequence[EmittedRow], directory: Path) -> None:
    """Writes rows as Parquet (docs/split-rows.md)."""
    directory.mkdir(parents=True)
    columns = [[row[place] for row in rows] for place in range(3)]
    pq.write_table(pa.table(columns, ParquetWriter.SCHEMA), directory / "part-00000.parquet")
