"""Writes the data of a simulated table split to files that the other split jobs read."""

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.common.errors import EXIT_DONE, UsageError
from pipelines.common.outcome import Outcome
from pipelines.pegasus.simulate.batch import design_of
from pipelines.pegasus.simulate.cases import CANCELLED
from pipelines.pegasus.simulate.emission import Emitted, EmittedRow, emit
from pipelines.pegasus.simulate.faults import FAULTS
from pipelines.pegasus.simulate.injections import BY_ROW, HOMES
from pipelines.pegasus.simulate.walk import History, scope_of, walk
from pipelines.pegasus.simulate.witness import broken_history, struck_history
from pipelines.pegasus.transforms.log_checksum import crc32c

_SCHEMA = pa.schema([("partition_index", pa.int32()), ("key", pa.binary()), ("value", pa.binary())])
_UNFINISHED = frozenset({"pause", "cancel", "restart_split"})
_MOST_TRIES = 1000
_MANY = 8
"""From this number of partitions on, only some steps of the histories produce a state file."""


def emit_table(directory: str, histories: Sequence[History], confirmed: int | None = None) -> Outcome:
    """Write the files of one group per partition, and return what was written and how to audit it.

    Raises:
        UsageError: the directory is not empty.
    """
    emitted = write_table(directory, histories, confirmed)
    result = {
        "directory": directory,
        "partitions": len(histories),
        "seeds": [history.seed for history in histories],
        "broken": [history.broken for history in histories if history.broken],
        "rows_before": len(emitted.before),
        "rows_after": len(emitted.after),
        "states": len(emitted.states),
        "requests": len(emitted.journal),
        "logs": len(emitted.logs),
        "commands": audit_commands(directory, emitted),
    }
    old, new = emitted.counts
    text = (
        f"{directory}: before/ ({len(emitted.before):,} rows of {old} partitions), after/ "
        f"({len(emitted.after):,} rows of {new}), states/ ({len(emitted.states)}), logs/ ({len(emitted.logs)}) with "
        f"facts.json, requests.jsonl ({len(emitted.journal)})\n\nThe audits of it:\n"
    )
    return Outcome(EXIT_DONE, result, text + "".join(f"  {line}\n" for line in audit_commands(directory, emitted)))


def write_table(directory: str, histories: Sequence[History], confirmed: int | None = None) -> Emitted:
    """Write all files of a simulated table split.

    Raises:
        UsageError: the directory is not empty.
    """
    emitted = emit(histories, crc32c, confirmed, max(1, len(histories) // _MANY))
    write_emitted(emitted, directory)
    return emitted


def audit_commands(directory: str, emitted: Emitted) -> list[str]:
    """Returns the command lines of the five audits, with the options for this table."""
    old, new = emitted.counts
    env = "true" if emitted.validates else "unset"
    versions = "".join(f" --version {index}={version}" for index, version in sorted(emitted.versions.items()))
    logs = f"--logs {directory}/logs --facts {directory}/facts.json --journal {directory}/requests.jsonl"
    rows = f"--before {directory}/before --before-partitions {old} --after {directory}/after --after-partitions {new}"
    placed = f"--partitions {new} --created-with {old} --validate-env {env}{versions}"
    jobs = (
        f"split-verify --table temp {rows}",
        f"split-stale --table temp --rows {directory}/after {placed}",
        f"split-audit-log {logs}",
        f"split-audit-config --states {directory}/states",
        f"split-route --journal {directory}/requests.jsonl --from {old}",
    )
    return [f"./spark-submit.sh {job}" for job in jobs]


def histories_of(groups: int, first_seed: int, design: str, rows: Sequence[str]) -> list[History]:
    """Returns one history per partition: one per given row, for a mutant one that breaks, the rest by seed.

    Raises:
        UsageError: an unknown row or design, more rows than partitions, rows that one table cannot combine, or too few
            seeds whose split ends.
    """
    protocol = design_of(design)
    home = [HOMES[design]] if design in HOMES and not rows else []
    unknown = [row for row in rows if row not in BY_ROW]
    if unknown:
        raise UsageError(f"no row {unknown[0]!r}; there are {', '.join(BY_ROW)} (docs/split-simulate.md)")
    if len(rows) > groups:
        raise UsageError(f"{len(rows)} rows need --groups {1 << (len(rows) - 1).bit_length()} or more")
    given_up = [row for row in rows if row in CANCELLED and broken_history(BY_ROW[row], protocol) is None]
    if given_up and len(given_up) < groups:
        raise UsageError(
            f"the splits of {', '.join(given_up)} are cancelled, and a table is cancelled as a whole: give only such "
            f"rows ({', '.join(CANCELLED)}), and as many as --groups"
        )
    ends = ("cancelled",) if given_up else ("split",)
    try:
        shown = [
            broken_history(BY_ROW[row], protocol) or struck_history(BY_ROW[row], protocol, ends)
            for row in [*rows, *home]
        ]
    except LookupError as error:
        raise UsageError(f"{error} in protocol {design}") from None
    return [*shown, *whole_histories(groups - len(shown), first_seed, design)]


def whole_histories(groups: int, first_seed: int, design: str) -> list[History]:
    """Returns histories of the first seeds whose split ends, or breaks, without a pause."""
    protocol = design_of(design)
    may = tuple(name for name in FAULTS if name not in _UNFINISHED)
    found: list[History] = []
    for seed in range(first_seed, first_seed + _MOST_TRIES):
        if len(found) == groups:
            return found
        history = walk(seed, protocol, scope_of(seed, may))
        if history.broken or history.is_settled:
            found.append(history)
    raise UsageError(f"of {_MOST_TRIES} histories from seed {first_seed} on, only {len(found)} come to an end")


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
    pq.write_table(pa.table(columns, _SCHEMA), directory / "part-00000.parquet")
