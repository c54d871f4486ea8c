"""What stands beside the queues in the same storage: references to bulk-loaded HFiles, last pushed sequence ids."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.zookeeper.tree import ReplicationTree

HFILE_REF_FAMILY, SEQUENCE_ID_FAMILY = b"hfileref", b"sid"
_LONG = 8


@dataclass(frozen=True, slots=True)
class BesideQueues:
    """Both readings together.

    Attributes:
        hfile_refs: references by peer; a peer has some only if every reading of them has.
        pushed: last pushed sequence id by (peer, encoded region): the larger one, since they only grow.
    """

    hfile_refs: Mapping[str, int] = field(default_factory=dict)
    pushed: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass
class CellsBeside:
    """Notes the other families of one scan of `hbase:replication` as it goes by (`TableReplicationQueueStorage`)."""

    hfile_refs: dict[str, int] = field(default_factory=dict)
    pushed: dict[tuple[str, str], int] = field(default_factory=dict)

    def watched(self, cells: Iterable[Cell]) -> Iterator[Cell]:
        """The same cells; rows of both families are named after the peer alone."""
        for cell in cells:
            if cell.family == HFILE_REF_FAMILY:
                peer = cell.row.decode("utf-8", "replace")
                self.hfile_refs[peer] = self.hfile_refs.get(peer, 0) + 1
            elif cell.family == SEQUENCE_ID_FAMILY and len(cell.value) == _LONG:
                key = (cell.row.decode("utf-8", "replace"), cell.qualifier.decode("utf-8", "replace"))
                self.pushed[key] = int.from_bytes(cell.value, "big", signed=True)
            yield cell


def beside_rows(passes: Sequence[CellsBeside]) -> BesideQueues:
    """Of both passes over the table."""
    return _merged([one.hfile_refs for one in passes], [one.pushed for one in passes])


def beside_znodes(trees: Sequence[ReplicationTree]) -> BesideQueues:
    """Of both readings of ZooKeeper, of which only the second has more than queues."""
    refs = [{peer: len(names) for peer, names in tree.hfile_refs.items() if names} for tree in trees[-1:]]
    pushed = [{(peer, region): value for (region, peer), value in tree.sequence_ids.items()} for tree in trees]
    return _merged(refs, pushed)


def _merged(refs: Sequence[Mapping[str, int]], pushed: Sequence[Mapping[tuple[str, str], int]]) -> BesideQueues:
    in_all = set.intersection(*map(set, refs)) if refs else set()
    largest: dict[tuple[str, str], int] = {}
    for reading in pushed:
        for key, value in reading.items():
            largest[key] = max(largest.get(key, value), value)
    return BesideQueues({peer: min(reading[peer] for reading in refs) for peer in sorted(in_all)}, largest)
