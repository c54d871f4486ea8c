"""Converts one queue as the migration does (`ReplicationPeerManager.convert`; golden migrate-convert.tsv)."""

from collections.abc import Mapping

from pipelines.common.errors import MalformedError
from pipelines.hbase.replication_queues import GroupOffset
from pipelines.hbase.wal_names import parse_wal_name


def first_offsets(wals: Mapping[str, int]) -> dict[str, tuple[GroupOffset, ...]]:
    """Returns the offset that is written for each WAL group: the WAL with the smallest timestamp, and its position.

    Args:
        wals: position by WAL name.

    Returns:
        By group, sorted. A group has several offsets if WALs share the smallest timestamp: HBase writes the one that
        its hash map returns first.

    Raises:
        MalformedError: where HBase throws: on an invalid WAL name or, in a group of several WALs, on a timestamp of
            more than 64 bits. The procedure then retries forever.
    """
    groups: dict[str, list[GroupOffset]] = {}
    for wal, position in wals.items():
        name = parse_wal_name(wal)
        if name is None:
            raise MalformedError(f"{wal} is not a valid wal file name")
        groups.setdefault(name.group, []).append(GroupOffset(wal, position))
    return {group: _first(groups[group]) for group in sorted(groups)}


def _first(offsets: list[GroupOffset]) -> tuple[GroupOffset, ...]:
    if len(offsets) == 1:  # HBase does not parse the timestamp of a single WAL
        return tuple(offsets)
    numbers = {offset: _timestamp(offset.wal) for offset in offsets}
    smallest = min(numbers.values())
    return tuple(sorted(offset for offset, number in numbers.items() if number == smallest))


def _timestamp(wal: str) -> int:
    name = parse_wal_name(wal)
    if name is None or name.timestamp is None:
        raise MalformedError(f"the timestamp of {wal} does not fit 64 bits")
    return name.timestamp
