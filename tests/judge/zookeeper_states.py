"""States for the cleaner of HBase 2: one reading of queues in ZooKeeper, full of traps, and files."""

import base64
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property

from hypothesis import strategies as st

from pipelines.common.errors import MalformedError
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.settings import ReconcileSettings, Release
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.decide.rule.zookeeper_queue_storage import zookeeper_view
from pipelines.hbase.peers import Peer
from pipelines.hbase.zookeeper.tree import Znode
from pipelines.snapshot.model import Backup
from tests.judge.states import JsonValue
from tests.strategies.clusters import NOW
from tests.strategies.zookeeper import BASE, ZooKeeperCase, view_of_zookeeper, zookeeper_cases, zookeeper_snapshot

RS = f"{BASE}/rs"
ODD_SERVERS = (
    "cversion_2-h,1,2",
    "lock",
    "h1",
    "h1:16020",
    "h1,16020",
    "h1,16020,5,6",
    "H1.EXAMPLE.ORG,16020,5",
    ",16020,5",
    "h1,port,5",
    "h1,99999,5",
)
_NOT_IN_ZNODES = set(map(chr, range(0x20))) | set(map(chr, range(0x7F, 0xA0)))
_SURROGATES, _PRIVATE = 0xD800, 0xF8FF


@dataclass(frozen=True)
class ZkJudgedState:
    """One state: the znodes of both readings, of which HBase reads the first, and files."""

    case: ZooKeeperCase

    @cached_property
    def view(self) -> ClusterView:
        """As reconcile would build it."""
        case = self.case
        try:
            return view_of_zookeeper(case)
        except MalformedError as error:
            return zookeeper_view(case.snapshot, (), case.settings, str(error), unparsable=True)

    @property
    def files(self) -> tuple[ArchivedFile, ...]:
        """Under oldWALs."""
        return self.case.files

    @property
    def znodes(self) -> tuple[Znode, ...]:
        """What is below `rs`, parents first."""
        return tuple(znode for znode in self.case.pass_1 if znode.path != RS)

    @property
    def read_from(self) -> int:
        """When the cleaner began to read, ms."""
        queued = self.view.queued
        return queued.read_from


def is_znode_name(name: str) -> bool:
    """Whether ZooKeeper takes it (`PathUtils.validatePath`)."""
    odd = (char in _NOT_IN_ZNODES or _SURROGATES <= ord(char) <= _PRIVATE or ord(char) >= 0xFFF0 for char in name)
    return bool(name) and name not in (".", "..") and "/" not in name and not any(odd)


@st.composite
def zk_judged_states(draw: st.DrawFn) -> ZkJudgedState:
    """Clusters of `zookeeper_cases`, with names that nearly are those in queues, and now and then an odd znode."""
    case = draw(zookeeper_cases(max_files=15))
    queued = sorted(
        {znode.path.rpartition("/")[2] for znode in case.pass_1 if znode.path.count("/") == RS.count("/") + 3}
    )
    near = (
        draw(st.lists(st.sampled_from([one for name in queued for one in _nearly(name)]), max_size=10))
        if queued
        else []
    )
    first = case.snapshot.step("queues-1")
    assert first is not None
    times = st.sampled_from((first.started_at - 1, first.started_at, first.started_at + 1, NOW - 10**9, 0))
    known = {file.path for file in case.files}
    extra = tuple(
        ArchivedFile(path, 1, draw(times))
        for path in dict.fromkeys(f"oldWALs/{name}" for name in near if _is_file_name(name))
        if path not in known
    )
    kept = tuple(
        replace(file, modification_time=draw(times)) if draw(st.integers(0, 5)) == 5 else file
        for file in case.files
        if _is_file_name(file.name)
    )
    case = replace(case, files=tuple(sorted((*kept, *extra), key=lambda file: file.path)))
    theirs = sorted({_queue_of(znode).partition("-")[0] for znode in case.pass_1} - {"", "lock"})
    if theirs and draw(st.integers(0, 3)):  # else most states would be refused for queues of unknown peers alone
        known_peers = draw(st.lists(st.sampled_from(theirs), min_size=1, unique=True))
        peers = tuple(Peer(peer, "ENABLED") for peer in sorted(known_peers))
        case = replace(case, snapshot=replace(case.snapshot, peers=peers))
    case = _with_odd_znodes(draw, case)
    queues = [znode.path for znode in case.pass_2 if znode.path.count("/") == RS.count("/") + 2]
    names = [file.name for file in case.files if is_znode_name(file.name)]
    if queues and names and not draw(st.integers(0, 3)):  # in the second reading alone
        path = f"{draw(st.sampled_from(queues))}/{draw(st.sampled_from(names))}"
        if path not in {znode.path for znode in case.pass_2}:
            case = replace(case, pass_2=(*case.pass_2[:-1], Znode(path, b"", 0), case.pass_2[-1]))
    return ZkJudgedState(case)


def _queue_of(znode: Znode) -> str:
    """The queue's name in a path below a server; empty above that."""
    return next(iter(znode.path.removeprefix(RS).split("/")[2:]), "")


def _is_file_name(name: str) -> bool:
    """Hadoop's Path takes some names for something else."""
    return name not in ("", ".", "..") and "/" not in name


def _nearly(name: str) -> tuple[str, ...]:
    return (name, f"{name}.meta", f"{name}0", name[:-1], name.upper(), f" {name}", f"{name}.syncrep", name.lower())


def _with_odd_znodes(draw: st.DrawFn, case: ZooKeeperCase) -> ZooKeeperCase:
    whole = tuple(znode for znode in case.pass_1 if all(map(is_znode_name, znode.path[1:].split("/"))))
    second = tuple(znode for znode in case.pass_2 if all(map(is_znode_name, znode.path[1:].split("/"))))
    odd: list[Znode] = []
    what = draw(st.integers(0, 11))
    if what == 0:
        server = draw(st.sampled_from(ODD_SERVERS))
        odd = [
            Znode(f"{RS}/{server}", b"", 1),
            Znode(f"{RS}/{server}/2", b"", 1),
            Znode(f"{RS}/{server}/2/wal.123", b"", 0),
        ]
    elif what == 1 and len(whole) > 2:
        deepest = max(whole, key=lambda znode: znode.path.count("/"))
        odd = [Znode(f"{deepest.path}/below", b"", 0)]
    there = {znode.path for znode in whole}
    odd = [znode for znode in odd if znode.path not in there]
    return replace(case, pass_1=(*whole[:-1], *odd, whole[-1]), pass_2=(*second[:-1], *odd, second[-1]))


# the form in which states are kept


def zk_state_document(state: ZkJudgedState) -> dict[str, JsonValue]:
    """JSON of a state; ages count from the start of step `files`."""
    case = state.case
    return {
        "peers": [peer.peer_id for peer in case.snapshot.peers],
        "backup": asdict(case.snapshot.backup) if case.snapshot.backup else None,
        "release": asdict(case.settings.release),
        "queues_1": [_line(znode) for znode in case.pass_1],
        "queues_2": [_line(znode) for znode in case.pass_2],
        "files": [[file.path, file.length, NOW - file.modification_time] for file in case.files],
    }


def parse_zk_state(document: dict[str, JsonValue]) -> ZkJudgedState:
    """The inverse of `zk_state_document`."""
    backup = document["backup"]
    snapshot = replace(zookeeper_snapshot(document["peers"]), backup=Backup(**backup) if backup else None)
    case = ZooKeeperCase(
        snapshot,
        tuple(ArchivedFile(path, length, NOW - age) for path, length, age in document["files"]),
        _znodes(document["queues_1"]),
        _znodes(document["queues_2"]),
        ReconcileSettings(release=Release(**document["release"])),
    )
    return ZkJudgedState(case)


def _line(znode: Znode) -> list[JsonValue]:
    return [znode.path, base64.b64encode(znode.data).decode("ascii"), znode.cversion]


def _znodes(lines: Sequence[Sequence[JsonValue]]) -> tuple[Znode, ...]:
    return tuple(Znode(path, base64.b64decode(data), cversion) for path, data, cversion in lines)
