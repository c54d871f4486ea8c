"""An export with queues of ZooKeeper: read as they are read live, or refused."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipelines.capture.sources.export_parts import ExportDirectory
from pipelines.capture.sources.exported_state import ExportedState
from pipelines.capture.sources.exported_znodes import ExportedZnodes
from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError, UsageError, WalsafeError
from pipelines.files.saved_text import LocalCopies
from pipelines.hbase.zookeeper.tree import ABSENT, Znode
from pipelines.snapshot.model import Backup
from tests.labs.exported_cluster import REPLICATION, Exported, counted, zookeeper_export
from tests.labs.small_cluster import H1, H2, ROOT, small, wal

QUEUES = f"{REPLICATION}/rs"
REGION = "0123456789abcdef0123456789abcdef"
SECOND = (
    Znode(QUEUES, b"", 7),
    Znode(f"{QUEUES}/{H1}", b"", 1),
    Znode(f"{QUEUES}/{H1}/1", b"", 2),
    Znode(f"{QUEUES}/{H1}/1/{wal(H1, 1)}", bytes.fromhex("5042554608bb03"), 0),
    Znode(f"{QUEUES}/{H1}/1/{wal(H1, 2)}", b"", 0),
    Znode(f"{QUEUES}/{H2}", b"", 0),
    Znode(f"{QUEUES}/{H2}/lock", b"", 0),
    Znode(f"{QUEUES}/{H1}", b"", 1),
    Znode(f"{QUEUES}/{H2}", b"", 0),
    Znode(QUEUES, b"", 7),
    Znode(f"{REPLICATION}/hfile-refs/1/f1", b"", 0),
    Znode(f"{REPLICATION}/regions/01/23/{REGION[4:]}-1", (900).to_bytes(8, "big"), 0),
)
"""A second reading; a first one has neither the second look at the servers nor what is not below `rs`."""


def exported() -> Exported:
    return zookeeper_export(small("prod"), SECOND)


def source(directory: Path) -> ExportedZnodes:
    return ExportedZnodes(ExportDirectory(str(directory), LocalCopies()))


def read(directory: Path) -> object:
    """Whatever a capture asks of it."""
    znodes = source(directory)
    return (
        znodes.settings(),
        znodes.cluster_id(),
        znodes.online("online"),
        znodes.peers(),
        znodes.has_backup_table(),
        [znodes.znodes(step) for step in ("queues-1", "queues-2")],
        znodes.online("online-2"),
        [znodes.stamp(step) for step in ("online", "peers", "queues-1", "queues-2", "online-2")],
    )


def test_what_was_saved_is_read(tmp_path: Path) -> None:
    znodes = source(exported().write(tmp_path))
    assert znodes.znodes("queues-2") == list(SECOND)
    assert znodes.cluster_id() == znodes.settings().cluster_id == "a"
    assert znodes.settings().backup == Backup(enabled=False)
    (peer,) = znodes.peers()
    assert (peer.peer_id, peer.state, peer.cluster_key) == ("1", "ENABLED", "zk1:2181:/hbase")
    assert peer.sync_replication_state is None
    membership = small("prod").snapshot.membership
    assert membership is not None
    assert znodes.online("online") == membership.online
    assert znodes.has_backup_table() is None
    assert (znodes.backups(), znodes.barriers()) == (None, None)
    assert znodes.stamp("queues-2").step.finished_at == exported().times["queues-2"][1]


def test_without_queues_peers_and_servers_it_says_so(tmp_path: Path) -> None:
    nothing = (Znode(QUEUES, b"", ABSENT), Znode(QUEUES, b"", ABSENT))
    empty = zookeeper_export(small("prod"), nothing)
    empty.parts |= {"peers": ["0 znode(s)"], "peers-2": ["0 znode(s)"], "online": [json.dumps({"servers": None})]}
    znodes = source(empty.write(tmp_path))
    assert (znodes.znodes("queues-1"), znodes.peers(), znodes.online("online")) == (list(nothing), (), None)


@pytest.mark.promise("zookeeper-migration-is-refused")
def test_the_mark_of_an_hbase_3_that_takes_over_meanwhile_counts(tmp_path: Path) -> None:
    later = exported()
    mark = Znode(f"{REPLICATION}/peers/1/sync-rep-state", b"PBUF\x08\x00", 0)
    removed = Znode(f"{REPLICATION}/peers/2/sync-rep-state", b"PBUF\x08\x00", 0)
    later.parts["peers-2"] = counted([mark, removed])
    (peer,) = source(later.write(tmp_path)).peers()
    assert (peer.state, peer.sync_replication_state) == ("ENABLED", "NONE")
    later.times["peers-2"] = later.times["queues-1"]
    with pytest.raises(SnapshotError, match=r"peers-2\.txt: it was not read after the queues") as refused:
        source(later.write(tmp_path)).peers()
    assert refused.value.condition is Condition.SNAPSHOT_OUT_OF_ORDER


@pytest.mark.promise("cut-export-is-refused")
@pytest.mark.parametrize("name", ["peers", "queues-1", "queues-2", "peers-2"])
def test_a_line_that_is_gone_or_doubled_is_refused(tmp_path: Path, name: str) -> None:
    """Even where the stamps are as they were."""
    lines = exported().parts[name]
    for number, line in enumerate(lines):
        for mangled in (lines[:number] + lines[number + 1 :], [*lines[: number + 1], line, *lines[number + 1 :]]):
            changed = exported()
            changed.parts[name] = mangled
            with pytest.raises(SnapshotError, match=rf"{name}\.txt"):
                read(changed.write(tmp_path))


@pytest.mark.promise("cut-export-is-refused")
@pytest.mark.parametrize("name", ["peers", "queues-2"])
def test_lines_in_another_order_are_refused_by_name_and_line(tmp_path: Path, name: str) -> None:
    """The order shows what moved while queues were read, and a text that was sorted has lost it."""
    lines = exported().parts[name]
    orders: list[list[str]] = [sorted(lines[:-1]), lines[-2::-1]]
    for first in range(len(lines) - 2):
        swapped = list(lines[:-1])
        swapped[first : first + 2] = reversed(swapped[first : first + 2])
        orders.append(swapped)
    for order in orders:
        if order == lines[:-1]:
            continue
        changed = exported()
        changed.parts[name] = [*order, lines[-1]]
        with pytest.raises(
            SnapshotError, match=rf"{name}\.txt, line \d+: znode '.*' is not where the script"
        ) as refused:
            read(changed.write(tmp_path))
        assert refused.value.condition is Condition.EXPORT_DAMAGED


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not a line like"),
        (json.dumps({"path": f"{QUEUES}/{H1}", "data": "?", "cversion": 1}), "not a line like"),
        (json.dumps({"path": f"{QUEUES}/{H1}", "data": ""}), "not a line like"),
        (json.dumps({"path": f"/other{QUEUES}/{H1}", "data": "", "cversion": 1}), "is not where the script"),
        (json.dumps({"path": f"{REPLICATION}/peers/1", "data": "", "cversion": 1}), "is not where the script"),
        (json.dumps({"path": "/hbase/table/t", "data": "", "cversion": 1}), "is not where the script"),
    ],
)
def test_a_mangled_line_is_refused_by_name_and_line(tmp_path: Path, line: str, words: str) -> None:
    changed = exported()
    changed.parts["queues-1"][1] = line
    with pytest.raises(WalsafeError, match=rf"queues-1\.txt, line 3: .*{words}"):
        read(changed.write(tmp_path))


def test_an_export_of_the_other_kind_is_named(tmp_path: Path) -> None:
    table = Exported(small("prod")).write(tmp_path / "table")
    with pytest.raises(UsageError, match=r"settings\.txt: this export has no queues of ZooKeeper: run walsafe-export"):
        source(table).settings()
    znodes = exported().write(tmp_path / "znodes")
    with pytest.raises(UsageError, match=r"settings\.txt: this export has queues of ZooKeeper: capture\.queues"):
        ExportedState(ExportDirectory(str(znodes), LocalCopies()), ROOT).settings()


@pytest.mark.parametrize(
    ("part", "ask"),
    [
        ("queues-2", lambda znodes: znodes.znodes("queues-2")),
        ("peers", lambda znodes: znodes.peers()),
        ("online", lambda znodes: znodes.online("online")),
        ("settings", lambda znodes: (znodes.settings(), znodes.has_backup_table())),
    ],
)
@given(
    lines=st.lists(st.sampled_from([*exported().parts["queues-2"], *exported().parts["peers"]]) | st.text(), max_size=5)
)
@example(lines=['{"servers": ["h"]}'])
@example(lines=['{"path": "/hbase/replication/peers/1", "data": "/w==", "cversion": 0}', "1 znode(s)"])
def test_anything_else_is_our_error(
    tmp_path_factory: pytest.TempPathFactory, part: str, ask: Callable[[ExportedZnodes], object], lines: list[str]
) -> None:
    changed = exported()
    changed.parts[part] = lines
    directory = tmp_path_factory.mktemp("export")
    for name in changed.parts:
        (directory / f"{name}.txt").write_text(changed.text(name), encoding="utf-8", errors="replace")
    with suppress(WalsafeError):
        ask(source(directory))
