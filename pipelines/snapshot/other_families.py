"""Other data in the storage of the queues: references to bulk-loaded HFiles, and last pushed sequence ids."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.common.errors import MalformedError
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.zookeeper.tree import ReplicationTree

HFILE_REF_FAMILY, SEQUENCE_ID_FAMILY = b"hfileref", b"sid"
_LONG = 8


@dataclass(frozen=True, slots=True)
class OtherFamilies:
    """The combined data of both readings.

    Attributes:
        hfile_refs: number of references by peer, the smaller one; a peer is included only if all readings of references
            have it.
        pushed: last pushed sequence id by (peer, encoded region), the larger one, because these ids only grow.
    """

    hfile_refs: Mapping[str, int] = field(default_factory=dict)
    pushed: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass
class OtherFamilyCells:
    """Collects the cells of other families during one scan of `hbase:replication` (`TableReplicationQueueStorage`)."""

    hfile_refs: dict[str, int] = field(default_factory=dict)
    pushed: dict[tuple[str, str], int] = field(default_factory=dict)

    def watched(self, cells: Iterable[Cell]) -> Iterator[Cell]:
        """Yields the same cells; in both families the row key is the peer id alone."""
        for cell in cells:
            if cell.family == HFILE_REF_FAMILY:
                peer = cell.row.decode("utf-8", "replace")
                self.hfile_refs[peer] = self.hfile_refs.get(peer, 0) + 1
            elif cell.family == SEQUENCE_ID_FAMILY and len(cell.value) == _LONG:
                key = (cell.row.decode("utf-8", "replace"), cell.qualifier.decode("utf-8", "replace"))
                self.pushed[key] = int.from_bytes(cell.value, "big", signed=True)
            yield cell


def hfile_refs_of(cells: Iterable[Cell]) -> dict[str, tuple[str, ...]]:
    """Returns the HFiles of each peer's row. HBase's own listing of peer 1 scans from `1` and so includes peer 10.

    Raises:
        MalformedError: a name is not UTF-8.
    """
    found: dict[str, list[str]] = {}
    for peer, name in (peer_and_name(cell) for cell in cells if cell.family == HFILE_REF_FAMILY):
        found.setdefault(peer, []).append(name)
    return {peer: tuple(names) for peer, names in found.items()}


def peer_and_name(cell: Cell) -> tuple[str, str]:
    """Returns the row and the qualifier of a cell of another family: the peer, and the region or the HFile.

    Raises:
        MalformedError: one of them is not UTF-8.
    """
    try:
        return cell.row.decode("utf-8"), cell.qualifier.decode("utf-8")
    except UnicodeDecodeError:
        family = cell.family.decode("utf-8")
        raise MalformedError(f"row {cell.row!r}, family {family}, qualifier {cell.qualifier!r}: not UTF-8") from None


def beside_rows(passes: Sequence[OtherFamilyCells]) -> OtherFamilies:
    """Combines both passes over the table."""
    return _merged([one.hfile_refs for one in passes], [one.pushed for one in passes])


def beside_znodes(trees: Sequence[ReplicationTree]) -> OtherFamilies:
    """Combines both readings of ZooKeeper; only the second one reads more than queues."""
    refs = [{peer: len(names) for peer, names in tree.hfile_refs.items() if names} for tree in trees[-1:]]
    pushed = [{(peer, region): value for (region, peer), value in tree.sequence_ids.items()} for tree in trees]
    return _merged(refs, pushed)


def _merged(refs: Sequence[Mapping[str, int]], pushed: Sequence[Mapping[tuple[str, str], int]]) -> OtherFamilies:
    in_all = set.intersection(*map(set, refs)) if refs else set()
    largest: dict[tuple[str, str], int] = {}
    for reading in pushed:
        for key, value in reading.items():
            largest[key] = max(largest.get(key, value), value)
    return OtherFamilies({peer: min(reading[peer] for reading in refs) for peer in sorted(in_all)}, largest)
