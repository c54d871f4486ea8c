"""Computes what each queue still has to read, and how much of it its peer wants."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pipelines.decide.rule.cluster_view import MergedQueueRow
from pipelines.hbase.peer_rules import replicates_family
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import GroupOffset
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import WalName, is_replication_table_group
from pipelines.queues.wals.offsets import OffsetStatus, offset_status
from pipelines.queues.wals.rows import GONE, InspectedFile, QueueEditsRow
from pipelines.queues.wals.tally import EntryShare

Groups = Mapping[str, Sequence[InspectedFile]]
"""Files by WAL group, oldest first."""


def by_group(files: Iterable[InspectedFile]) -> Groups:
    """Groups files, in the order in which a queue reads them (`AbstractFSWALProvider.TIMESTAMP_COMPARATOR`)."""
    groups: dict[str, list[InspectedFile]] = {}
    for file in sorted(files, key=lambda one: (one.name.timestamp or 0, one.name.name)):
        groups.setdefault(file.name.group, []).append(file)
    return groups


def cuts_of(rows: Iterable[MergedQueueRow]) -> dict[str, frozenset[int]]:
    """Returns the positive offsets that queues have stored, by WAL name."""
    cuts: dict[str, frozenset[int]] = {}
    for row in rows:
        stored = [(offset.wal, offset.offset) for offset in row.offsets.values()]
        for wal, offset in (*stored, *(row.wals or {}).items()):
            if offset > 0:
                cuts[wal] = cuts.get(wal, frozenset()) | {offset}
    return cuts


def queue_edits(
    rows: Iterable[MergedQueueRow], peers: Iterable[Peer], groups: Groups, *, is_whole: bool = True
) -> list[QueueEditsRow]:
    """Returns one row per queue and group that has files.

    A queue without an offset for a group of its server still has to read the whole group, unless it names its WALs.

    Args:
        rows: of both passes.
        peers: all peers.
        groups: the files that were to be read.
        is_whole: whether these are all listed files of their groups that the queues still need.
    """
    known = {peer.peer_id: peer for peer in peers}
    return [
        _queue_edits(row, group, known.get(row.queue.peer_id), groups[group], is_whole=is_whole)
        for row in rows
        for group in groups_of(row, groups)
    ]


def groups_of(row: MergedQueueRow, groups: Groups) -> Iterator[str]:
    """Yields the groups that a queue reads, sorted: those of its server, and those that it has an offset for.

    A queue that names its WALs reads only the groups of these.
    """
    for group in sorted(groups):
        if row.wals is not None:
            if group in row.offsets:
                yield group
            continue
        name = groups[group][0].name
        of_server = name.server == row.queue.wals_of
        if group in row.offsets or (of_server and name.server and not is_never_replicated(name, name.server)):
            yield group


def is_never_replicated(name: WalName, server: ServerName) -> bool:
    """Tell whether no queue ever gets this WAL: it is of hbase:meta or of hbase:replication."""
    return name.is_meta or is_replication_table_group(name.group, server)


def _queue_edits(
    row: MergedQueueRow, group: str, peer: Peer | None, files: Sequence[InspectedFile], *, is_whole: bool
) -> QueueEditsRow:
    offset = row.offsets.get(group)
    pending = [file for file in files if _is_pending(row, group, file)]
    unread: list[int] = []
    entries = size = wanted = wanted_size = foreign = 0
    for file in pending:
        position = _position(row, offset, file)
        unread.append(file.unread_bytes(position))
        for share in _shares(file, position):
            entries += share.entries
            size += share.bytes
            if is_wanted(peer, share):
                wanted += share.entries
                wanted_size += share.bytes
                foreign += share.foreign
    head = pending[0] if pending and (_is_offset_in(offset, pending[0]) or (is_whole and row.wals is None)) else None
    return QueueEditsRow(
        peer_id=row.queue.peer_id,
        peer_state=peer.state if peer else None,
        peer_exists=peer is not None,
        rule_known=peer is not None and _is_rule_known(peer),
        owner=str(row.queue.owner),
        source=str(row.queue.wals_of),
        wal_group=group,
        wal=offset.wal if offset and offset.wal else None,
        offset=offset.offset if offset else None,
        offset_status=_status(offset, files).value,
        head=head.path if head else None,
        head_ending=head.ending if head else None,
        pending_files=len(pending),
        pending_entries=entries,
        pending_bytes=size,
        wanted_entries=wanted,
        wanted_bytes=wanted_size,
        foreign_entries=foreign,
        unread_files=sum(behind > 0 for behind in unread),
        unread_bytes=sum(unread),
    )


def is_wanted(peer: Peer | None, share: EntryShare) -> bool:
    """Tell whether the peer is sent these entries, or at least one cell of each.

    A peer that does not exist wants none. A peer with an endpoint of its own may want all. A peer that the edits came
    through may be sent fewer: a snapshot does not say which cluster the peer is.
    """
    if peer is None:
        return False
    if share.marker or peer.has_own_endpoint:
        return True
    return any(replicates_family(peer.replicate_all, peer.rule, share.table, family) for family in share.families)


def _is_rule_known(peer: Peer) -> bool:
    return peer.rule is not None and peer.replicate_all is not None and not peer.has_own_endpoint


def _is_offset_in(offset: GroupOffset | None, file: InspectedFile) -> bool:
    return offset is not None and offset.offset >= 0 and offset.wal == file.name.name


def _is_pending(row: MergedQueueRow, group: str, file: InspectedFile) -> bool:
    if row.wals is not None:
        return file.name.name in row.wals
    return (file.name.timestamp or 0) >= row.need(group)


def _position(row: MergedQueueRow, offset: GroupOffset | None, file: InspectedFile) -> int:
    """Returns the offset where the queue continues in a pending file."""
    if row.wals is not None:
        return row.wals[file.name.name]
    return offset.offset if offset and offset.wal == file.name.name else 0


def _shares(file: InspectedFile, behind: int) -> Iterator[EntryShare]:
    for share in file.contents.shares if file.contents else ():
        if share.cut >= behind:
            yield share


def _status(offset: GroupOffset | None, files: Sequence[InspectedFile]) -> OffsetStatus:
    if offset is None or not offset.wal:
        return OffsetStatus.NONE
    if offset.offset < 0:
        return OffsetStatus.FINISHED
    file = next((one for one in files if one.name.name == offset.wal), None)
    if file is None:
        return OffsetStatus.NOT_READ
    if file.contents is None:
        return OffsetStatus.GONE if file.fault == GONE else OffsetStatus.UNREADABLE
    return offset_status(offset.offset, file.contents)
