"""What makes a snapshot with queues in ZooKeeper untrusted."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from jobs.demo.cluster.snapshots import SAFE_FLAGS
from pipelines.decide.rule.cleaner_rule import HBaseVerdict, hbase_2_verdict
from pipelines.decide.rule.settings import ReconcileSettings, Release
from pipelines.decide.rule.verdict import Reason, decide
from pipelines.decide.rule.zookeeper_queue_storage import zookeeper_view
from pipelines.hbase.peers import Peer
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.tree import parse_tree
from pipelines.snapshot.model import CaptureStep, MasterFlags, Membership, Snapshot, WalDirectory
from tests.labs.documented_failover import FILES, START
from tests.models.capture.trust import zookeeper_distrust_reason
from tests.strategies.clusters import MASTER, NOW
from tests.strategies.zookeeper import Queues, znodes, zookeeper_snapshot


def distrust(snapshot: Snapshot, queues: Queues = START, release: Release | None = None) -> str:
    tree = parse_tree(znodes(queues))
    return zookeeper_distrust_reason(snapshot, [tree, tree], release or Release()) or ""


def test_the_example_is_trusted() -> None:
    assert distrust(zookeeper_snapshot(["2"])) == ""


@pytest.mark.promise(
    "zookeeper-peers-have-no-say", "zookeeper-one-cluster", "zookeeper-migration-is-refused", "zookeeper-clean-stops"
)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"extras": ("x",)}, "extra 'x'"),
        ({"flags": SAFE_FLAGS}, "hbase:replication exists"),
        ({"flags": MasterFlags(False, False, True, True)}, "migration"),
        ({"hbase_version": "3.0.0"}, "HBase 3.0.0"),
        ({"peers": (Peer("2-x", "ENABLED"),)}, "peer id '2-x' has a '-', which HBase forbids"),
        (
            {"membership": Membership(None, frozenset({ServerName("else", 1, 1)}), frozenset())},
            "belongs to a server that is online or has a directory below WALs/ (else,1,1",
        ),
        (
            {"membership": Membership(None, frozenset(), frozenset(), (WalDirectory(ServerName("else", 1, 1), 1, 1),))},
            "belongs to a server that is online or has a directory below WALs/ (else,1,1",
        ),
        (
            {"hbase_version": None, "peers": (Peer("2", "ENABLED", sync_replication_state="NONE"),)},
            "peer '2' has a state of synchronous replication: HBase 3 has taken it over",
        ),
        (  # the version was asked for before the listing: the master may have been replaced since
            {"peers": (Peer("2", "ENABLED", sync_replication_state="NONE"),)},
            "peer '2' has a state of synchronous replication: HBase 3 has taken it over",
        ),
        (
            {
                "membership": Membership(MASTER, frozenset(), frozenset()),
                "membership_2": Membership("m2,16000,1", frozenset(), frozenset()),
            },
            "active master changed",
        ),
    ],
)
def test_what_is_not_believed(changes: dict[str, object], message: str) -> None:
    assert message in distrust(replace(zookeeper_snapshot(["2"]), **changes))  # type: ignore[arg-type]


def test_peers_without_queues_and_queues_without_peers() -> None:
    assert "no queue of any of these" in distrust(zookeeper_snapshot(["1"]))
    nobody = Membership(None, frozenset(), frozenset())  # read below the same znode, which may be the wrong one
    idle = replace(zookeeper_snapshot(["1"]), membership=nobody, membership_2=nobody)
    assert "no queue of any of these" in distrust(idle)
    orphans = distrust(zookeeper_snapshot([]))
    assert "queues but no peer" in orphans
    assert "If a RemovePeer is running, wait until it has ended and capture again. If none is" in orphans
    assert distrust(zookeeper_snapshot([]), release=Release(orphan_queues=True)) == ""


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("files", "queues-1"), "'queues-2' is missing"),
        (("queues-1", "files", "queues-2"), "in the order queues-1, files, queues-2"),
        (("files", "peers", "queues-1", "queues-2", "online-2"), ""),
        (("files", "queues-1", "peers", "queues-2"), "in the order"),
    ],
)
def test_other_steps_may_stand_between(names: Sequence[str], message: str) -> None:
    steps = tuple(CaptureStep(name, NOW + number, NOW + number + 1) for number, name in enumerate(names))
    found = distrust(replace(zookeeper_snapshot(["2"]), steps=steps))
    assert message in found
    assert bool(message) == bool(found)


def test_a_snapshot_whose_znodes_cannot_be_read_holds_everything() -> None:
    view = zookeeper_view(zookeeper_snapshot(["2"]), (), ReconcileSettings(), "malformed", unparsable=True)
    assert {decide(file, view).reason for file in FILES} == {Reason.SNAPSHOT_UNTRUSTED}
    assert hbase_2_verdict("w.1", 0, view) is HBaseVerdict.KEEP
