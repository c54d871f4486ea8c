"""Findings that only the content of WALs shows: why a queue is stuck, and which pinned edits no peer wants."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pipelines.common.human import human_bytes
from pipelines.hbase.wal_format.header import LARGEST_HEADER
from pipelines.hbase.wal_format.reader import WalEnd
from pipelines.lake.findings import ERROR, WARNING, finding
from pipelines.lake.run_summary import FindingRow
from pipelines.queues.wals.offsets import OffsetStatus
from pipelines.queues.wals.rows import UNREADABLE, InspectedFile, QueueEditsRow

UNWANTED_FROM = 1 << 30
"""A queue must pin at least this many unwanted bytes before it becomes a finding."""
_OF_BROKEN_WALS = (
    "Compare its replicas with 'hdfs fsck -files -blocks'. If all are broken, move it away, delete its znode if the "
    "queue is in ZooKeeper, restart the region server that owns the queue (if it is dead, have the queue claimed), and "
    "compare the tables with VerifyReplication."
)
_OF_BEGUN_WALS = (
    "Set replication.source.eof.autorecovery=true on the region servers: HBase passes over such a WAL then; it holds "
    "no edit."
)

_OF_ODD_OFFSETS = (
    "The WAL was replaced or the offset edited. Set the offset to 0 (in ZooKeeper: empty the data of the WAL's znode), "
    "and restart the region server that owns the queue: the WAL is shipped again from its start. If it was replaced, "
    "compare the tables with VerifyReplication."
)


def wal_findings(
    queues: Sequence[QueueEditsRow], files: Iterable[InspectedFile], *, is_whole: bool = True
) -> tuple[FindingRow, ...]:
    """Returns all findings of one inspection; `is_whole` as in `queue_edits`."""
    by_path = {file.path: file for file in files}
    living = [row for row in queues if row.peer_exists]
    return (
        *_headerless(living, by_path),
        *_corrupt(living, by_path),
        *_offsets(living, by_path),
        *(_unwanted(living) if is_whole else ()),
        *_unreadable(by_path),
    )


def _of_queue(
    code: str,
    severity: str,
    row: QueueEditsRow,
    message: str,
    remedy: str,
    *,
    files: int | None = None,
    size: int | None = None,
    **evidence: object,
) -> FindingRow:
    """Returns a finding about one group of one queue."""
    return finding(
        code,
        severity,
        f"{row.queue}/{row.wal_group}",
        message,
        remedy,
        peer_id=row.peer_id,
        server=row.owner,
        files=files,
        size=size,
        **evidence,
    )


def _headerless(queues: Sequence[QueueEditsRow], files: Mapping[str, InspectedFile]) -> Iterator[FindingRow]:
    """Yields WALs without a whole header at the head of a queue.

    One that cannot hold edits is left out if it is the newest of a group below `WALs/`: a live server may have just
    created it.
    """
    newest = _newest(files.values())
    for row in queues:
        if row.head is None or row.head_ending != WalEnd.NO_HEADER.value:
            continue
        file = files[row.head]
        may_hold_edits = _may_hold_edits(row, file)
        if row.head.startswith("WALs/") and row.head == newest[row.wal_group] and not may_hold_edits:
            continue
        early = (
            " Before HBase 2.6, it passes over empty WALs only: delete the znode of this WAL in the queue, and restart "
            "the region server that owns the queue; if it is dead, have the queue claimed."
        )
        yield _of_queue(
            "HEADERLESS_WAL",
            ERROR,
            row,
            f"Queue {row.queue} has {row.head} at its head: {file.known_length} bytes, without a whole header. "
            "Replication tries to open it forever, and ships nothing behind it."
            f"{' Its header was lost or damaged later, so it may hold edits.' if may_hold_edits else ''}",
            _OF_BROKEN_WALS if may_hold_edits else f"{_OF_BEGUN_WALS}{early if file.known_length else ''}",
            files=row.pending_files,
            size=row.pending_bytes,
            wal=row.head,
            length=file.known_length,
        )


def _may_hold_edits(row: QueueEditsRow, file: InspectedFile) -> bool:
    """Returns whether a WAL without a whole header is more than one whose server died while it created the file."""
    damaged = file.contents is not None and file.contents.header_damaged
    return damaged or file.length > LARGEST_HEADER or _offset_in(row, file) > 0


def _offset_in(row: QueueEditsRow, file: InspectedFile) -> int:
    return row.offset if row.offset is not None and row.wal == file.name.name else 0


def _corrupt(queues: Sequence[QueueEditsRow], files: Mapping[str, InspectedFile]) -> Iterator[FindingRow]:
    """Yields WALs at the head of a queue that are corrupt from some offset on.

    The damage may end before the queue's offset, or reach behind it: nothing behind its beginning was read. A
    compressed file cannot be read from the offset on anyway.
    """
    for row in queues:
        if row.head is None or row.head_ending != WalEnd.CORRUPT.value:
            continue
        file = files[row.head]
        good_end = file.contents.good_end if file.contents else 0
        is_before = file.contents is not None and file.contents.is_plain and _offset_in(row, file) > good_end
        effect = (
            f"That is before the offset, {row.offset}; whether replication can go on there is not known."
            if is_before
            else "Replication tries to read on there forever, or passes over the rest of the file."
        )
        yield _of_queue(
            "CORRUPT_WAL",
            WARNING if is_before else ERROR,
            row,
            f"Queue {row.queue} has {row.head} at its head, which cannot be read behind byte {good_end}: "
            f"{file.problem_text}. {effect}",
            f"If the offset moves on, do nothing; else: {_OF_BROKEN_WALS}" if is_before else _OF_BROKEN_WALS,
            files=row.pending_files,
            size=row.pending_bytes,
            wal=row.head,
            good_end=good_end,
        )


def _offsets(queues: Sequence[QueueEditsRow], files: Mapping[str, InspectedFile]) -> Iterator[FindingRow]:
    """Yields offsets from which no reader can continue, as far as the file can be read."""
    torn = {file.name.name: file.contents for file in files.values() if file.ending == WalEnd.TORN.value}
    for row in queues:
        if row.offset_status == OffsetStatus.BEYOND_EOF.value:
            yield _of_queue(
                "BEYOND_EOF",
                ERROR,
                row,
                f"Queue {row.queue} stands at {row.offset} in {row.wal}, which has fewer bytes.",
                "The WAL was truncated or replaced; compare the tables with VerifyReplication.",
                wal=row.wal,
                offset=row.offset,
            )
        elif row.offset_status == OffsetStatus.MID_ENTRY.value:
            contents = torn.get(row.wal or "")
            is_torn_before = contents is not None and contents.good_end < (row.offset or 0)
            place = "behind the last entry that can be read" if is_torn_before else "inside of an entry"
            is_unsure = is_torn_before and contents is not None and contents.is_plain
            outlook = "whether a reader can go on is not known" if is_unsure else "no reader can go on"
            yield _of_queue(
                "OFFSET_MID_ENTRY",
                ERROR,
                row,
                f"Queue {row.queue} stands at {row.offset} in {row.wal}, {place}: {outlook}.",
                _OF_BROKEN_WALS if is_torn_before else _OF_ODD_OFFSETS,
                wal=row.wal,
                offset=row.offset,
            )


def _unwanted(queues: Sequence[QueueEditsRow]) -> Iterator[FindingRow]:
    """Yields queues with many pending bytes of which their peer wants no entry."""
    for row in queues:
        if row.wanted_entries or row.unread_files or row.pending_bytes < UNWANTED_FROM:
            continue
        yield _of_queue(
            "UNWANTED_EDITS",
            WARNING,
            row,
            f"Queue {row.queue} pins {human_bytes(row.pending_bytes)} of edits in {row.wal_group}, none of which "
            f"peer {row.peer_id} wants by its tables and the families' scopes.",
            f"enable_peer '{row.peer_id}' lets it read past them; if it is enabled, look why the queue stands still.",
            files=row.pending_files,
            size=row.pending_bytes,
            entries=row.pending_entries,
        )


def _unreadable(files: Mapping[str, InspectedFile]) -> Iterator[FindingRow]:
    """Yields a finding for each file that the file system could not read."""
    for file in files.values():
        if file.fault == UNREADABLE:
            yield finding(
                "UNREADABLE_WAL",
                ERROR,
                file.name.name,
                f"{file.path} could not be read: {file.problem}.",
                "See the error; if blocks are missing, look at the file with 'hdfs fsck -files -blocks'. Then inspect "
                "again with --path.",
                server=str(file.name.server) if file.name.server else None,
                files=1,
                size=file.length,
                path=file.path,
            )


def _newest(files: Iterable[InspectedFile]) -> dict[str, str]:
    newest: dict[str, InspectedFile] = {}
    for file in files:
        other = newest.get(file.name.group)
        if other is None or (file.name.timestamp or 0) > (other.name.timestamp or 0):
            newest[file.name.group] = file
    return {group: file.path for group, file in newest.items()}
