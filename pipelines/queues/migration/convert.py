"""What the migration makes of one queue (`ReplicationPeerManager.convert`; golden migrate-convert.tsv)."""

from collections.abc import Mapping

from pipelines.common.errors import MalformedError
from pipelines.hbase.replication_queues import GroupOffset
from pipelines.hbase.wal_names import parse_wal_name


def first_offsets(wals: Mapping[str, int]) -> dict[str, tuple[GroupOffset, ...]]:
    """The offset that is written for each WAL group: its WAL with the smallest timestamp, and that one's position.

    Args:
        wals: position by name.

    Returns:
        By group, sorted. More than one offset where WALs share the smallest timestamp: HBase takes the one that its
        hash map has first.

    Raises:
        MalformedError: where HBase throws: a name that is none, or, in a group of several, a timestamp of more than 64
            bits. The procedure tries again for ever then.
    """
    groups: dict[str, list[GroupOffset]] = {}
    for wal, position in wals.items():
        name = parse_wal_name(wal)
        if name is None:
            raise MalformedError(f"{wal} is not a valid wal file name")
        groups.setdefault(name.group, []).append(GroupOffset(wal, position))
    return {group: _first(groups[group]) for group in sorted(groups)}


def _first(offsets: list[GroupOffset]) -> tuple[GroupOffset, ...]:
    if len(offsets) == 1:  # its timestamp is compared with nothing
        return tuple(offsets)
    numbers = {offset: _timestamp(offset.wal) for offset in offsets}
    smallest = min(numbers.values())
    return tuple(sorted(offset for offset, number in numbers.items() if number == smallest))


def _timestamp(wal: str) -> int:
    name = parse_wal_name(wal)
    if name is None or name.timestamp is None:
        raise MalformedError(f"the timestamp of {wal} does not fit 64 bits")
    return name.timestamp
