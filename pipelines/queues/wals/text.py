"""The result of inspect-wals, as text and as JSON."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pipelines.common.human import human_bytes, human_count, human_instant
from pipelines.common.instants import format_instant
from pipelines.common.text import text_table
from pipelines.lake.findings import finding_lines
from pipelines.lake.run_summary import FindingRow
from pipelines.queues.wals.offsets import OffsetStatus
from pipelines.queues.wals.rows import InspectedFile, QueueEditsRow, file_row, table_rows
from pipelines.snapshot.model import Snapshot

_SHOWN = 20
_PLACES = {
    OffsetStatus.OK: "between two entries",
    OffsetStatus.AT_END: "behind its last entry",
    OffsetStatus.FINISHED: "finished",
    OffsetStatus.MID_ENTRY: "AT NO ENTRY THAT CAN BE READ",
    OffsetStatus.BEYOND_EOF: "BEHIND ITS LAST BYTE",
    OffsetStatus.NO_HEADER: "but it has NO WHOLE HEADER",
    OffsetStatus.UNREADABLE: "but it cannot be read so far",
    OffsetStatus.GONE: "but it is GONE",
    OffsetStatus.NOT_READ: "not read in this run",
}


def inspection_result(
    snapshot: Snapshot, files: Sequence[InspectedFile], queues: Sequence[QueueEditsRow]
) -> dict[str, object]:
    """Returns the inspection's part of the JSON object; keys are the column names of the tables."""
    return {
        "files_started_at": format_instant(snapshot.files_step.started_at),
        "files": len(files),
        "bytes": sum(file.known_length for file in files),
        "endings": dict(sorted(Counter(file.ending for file in files).items())),
        "tables": tables_of(files),
        "wals": [
            {**asdict(file_row(file)), "tables": [_without_path(row) for row in table_rows(file)]} for file in files
        ],
        "queues": [{"queue": row.queue, **asdict(row)} for row in queues],
    }


def inspection_lines(
    cluster: str, files: Sequence[InspectedFile], queues: Sequence[QueueEditsRow], findings: Sequence[FindingRow]
) -> Iterator[str]:
    """Yields the text for the on-call engineer."""
    yield from _head(cluster, files)
    yield from _table_lines(files)
    yield from _file_lines(files) if len(files) <= _SHOWN else _odd_lines(files)
    yield from _queue_lines(queues)
    yield from finding_lines(findings)


def tables_of(files: Sequence[InspectedFile]) -> list[dict[str, Any]]:
    """Returns the sums per table over all files, most bytes first."""
    sums: dict[str, Counter[str]] = {}
    for file in files:
        for row in table_rows(file):
            numbers = {name: value for name, value in asdict(row).items() if isinstance(value, int)}
            sums.setdefault(row.table, Counter()).update(numbers)
    order = sorted(sums, key=lambda table: (-sums[table]["bytes"], table))
    names = ("entries", "cells", "bytes", "global_entries", "global_bytes")
    return [{"table": table, **{name: sums[table][name] for name in names}} for table in order]


def _without_path(row: object) -> Mapping[str, object]:
    return {name: value for name, value in asdict(row).items() if name != "path"}  # type: ignore[call-overload]  # rows are dataclasses


def _head(cluster: str, files: Sequence[InspectedFile]) -> Iterator[str]:
    size = human_bytes(sum(file.known_length for file in files))
    endings = ", ".join(
        f"{number:,} {ending}" for ending, number in Counter(file.ending for file in files).most_common()
    )
    yield f"cluster {cluster}: {human_count(len(files), 'WAL')}, {size}{': ' + endings if endings else ''}"


def _table_lines(files: Sequence[InspectedFile]) -> Iterator[str]:
    tables = tables_of(files)
    rows = [
        (row["table"], row["entries"], row["cells"], human_bytes(row["bytes"]), human_bytes(row["global_bytes"]))
        for row in tables[:_SHOWN]
    ]
    if rows:
        yield ""
        heading = ("table", "entries", "cells", "bytes", "of them with scope 1")
        yield from text_table("  {:<32} {:>12} {:>12} {:>10}  {:>10}", [heading, *rows])
    if len(tables) > _SHOWN:
        yield f"  … and {len(tables) - _SHOWN:,} tables more"


def _file_lines(files: Sequence[InspectedFile]) -> Iterator[str]:
    for file in files:
        row = file_row(file)
        yield ""
        yield f"  {row.path}"
        size = human_bytes(file.known_length)
        yield f"    {row.ending}, {size}, {_entries(row.entries)}"
        if row.problem:
            yield f"    {row.problem}"
        if row.first_write_time is not None and row.last_write_time is not None:
            times = f"{human_instant(row.first_write_time)} to {human_instant(row.last_write_time)}"
            yield f"    sequence ids {row.first_sequence_id} to {row.last_sequence_id}, written {times}"


def _odd_lines(files: Sequence[InspectedFile]) -> Iterator[str]:
    """Yields only the files with a problem; used where there are too many files to print each."""
    odd = [file for file in files if file_row(file).problem]
    if odd:
        yield ""
    for file in odd[:_SHOWN]:
        yield f"  {file.path}: {file.ending}, {file.problem_text}"
    if len(odd) > _SHOWN:
        yield f"  … and {len(odd) - _SHOWN:,} files more; `wals` in the JSON has every one"


def _queue_lines(queues: Sequence[QueueEditsRow]) -> Iterator[str]:
    shown = sorted(queues, key=lambda row: (-row.pending_bytes, row.queue, row.wal_group))
    for row in shown[:_SHOWN]:
        state = "" if row.peer_state == "ENABLED" else f" ({row.peer_state or 'removed'})"
        yield ""
        yield f"  queue {row.queue}, peer {row.peer_id}{state}, group {row.wal_group}"
        if row.wal is None:
            yield "    no offset yet: it begins with the oldest WAL"
        else:
            yield f"    stands at {row.wal}:{row.offset}, {_PLACES.get(OffsetStatus(row.offset_status), '')}"
        if not row.pending_files:
            yield "    none of these files is before it"
            continue
        pending = f"{_entries(row.pending_entries)}, {human_bytes(row.pending_bytes)}"
        yield f"    before it: {human_count(row.pending_files, 'file')}, {pending}"
        wanted = (
            f"{row.wanted_entries:,} of them, {human_bytes(row.wanted_bytes)}" if row.wanted_entries else "none of them"
        )
        yield f"    its peer wants {wanted}{_doubts(row)}"
    if len(shown) > _SHOWN:
        yield f"  … and {len(shown) - _SHOWN:,} queues and groups more; `queues` in the JSON has every one"


def _doubts(row: QueueEditsRow) -> str:
    doubts = []
    if row.peer_exists and not row.rule_known:
        doubts.append("the snapshot does not say which edits it takes: at most")
    if row.foreign_entries:
        doubts.append(f"{row.foreign_entries:,} came from other clusters")
    if row.unread_files:
        doubts.append(f"and {human_bytes(row.unread_bytes)} in {human_count(row.unread_files, 'file')} are unknown")
    return f" ({'; '.join(doubts)})" if doubts else ""


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number:,} entries"
