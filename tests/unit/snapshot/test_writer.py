"""The snapshot writer on a local disk: whole or not at all, digests right, schema as the contract says."""

import base64
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.common.errors import UnavailableError, UsageError
from pipelines.files.file_batch import FileBatch
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.values import parse_peer
from pipelines.snapshot.capture_order import CAPTURE_ORDER
from pipelines.snapshot.model import CaptureStep, MasterFlags, Membership, Retention, Snapshot, SnapshotFile
from pipelines.snapshot.snapshot_json import parse_snapshot
from pipelines.snapshot.target import LocalTarget
from pipelines.snapshot.writer import SnapshotWriter
from tests.suite.sizes import examples

SERVER = ServerName("h1", 16020, 5)
SNAPSHOT = Snapshot(
    cluster="c",
    cluster_id=None,
    hbase_version="3.0.0",
    queue_storage="table",
    wal_root="hdfs://ns1/hbase",
    clock_host="edge",
    steps=tuple(CaptureStep(name, index, index) for index, name in enumerate(CAPTURE_ORDER)),
    contents={},
    peers=(Peer("1", "ENABLED", config={"a": "b"}),),
    membership=Membership("m,1,2", frozenset({SERVER}), frozenset()),
    membership_2=Membership("m,1,2", frozenset({SERVER}), frozenset()),
    flags=MasterFlags(queue_table_exists=True, add_peer_running=False, migration_pending=False, zk_queue_data=False),
    flags_2=MasterFlags(queue_table_exists=True, add_peer_running=False, migration_pending=False, zk_queue_data=False),
    retention=Retention(1, 2, 3),
    log_cleaner_plugins=None,
    backup=None,
    extras=(),
)


def batch(start: int, count: int) -> FileBatch:
    numbers = range(start, start + count)
    return FileBatch([f"oldWALs/{n}" for n in numbers], list(numbers), [1_700_000_000_000 + n for n in numbers])


@pytest.mark.promise("damaged-snapshot-is-untrusted")
def test_a_snapshot_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    out = tmp_path / "snapshot"
    cells = [Cell(b"1-h1,1,2", b"queue", b"\xff", b""), Cell(b"r", b"sid", b"q", b"\x00" * 8)]
    with SnapshotWriter(LocalTarget(out)) as writer:
        assert writer.files([batch(0, 3)]) == 3
        assert writer.cells("queues-1.jsonl", cells) == 2
        assert writer.cells("queues-2.jsonl", []) == 0
        assert not out.exists()
        uri = writer.finish(SNAPSHOT)
    assert uri == out.as_uri()
    assert [entry.name for entry in tmp_path.iterdir()] == ["snapshot"]
    read = parse_snapshot(json.loads((out / "snapshot.json").read_text()))
    others = {str(file.relative_to(out)): file for file in out.rglob("*") if file.is_file()}
    del others["snapshot.json"]
    assert {name: content.sha256 for name, content in read.contents.items()} == {
        name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in others.items()
    }
    assert {name: content.rows for name, content in read.contents.items()} == {
        "files/part-00000.parquet": 3,
        "queues-1.jsonl": 2,
        "queues-2.jsonl": 0,
    }
    assert isinstance(read.contents["queues-1.jsonl"], SnapshotFile)
    lines = (out / "queues-1.jsonl").read_text().splitlines()
    parts = [{key: base64.b64decode(value) for key, value in json.loads(line).items()} for line in lines]
    assert [Cell(**part) for part in parts] == cells
    table = pq.read_table(out / "files")
    assert table.schema.remove_metadata() == pa.schema(
        [("path", pa.string()), ("length", pa.int64()), ("modification_time", pa.timestamp("ms", tz="UTC"))]
    )
    assert table["length"].to_pylist() == [0, 1, 2]
    assert table["modification_time"].cast(pa.int64()).to_pylist() == [1_700_000_000_000 + n for n in range(3)]


@pytest.mark.parametrize("data", [b"", b"PBUF\x0a\x00\x12\x00\x62\x00", b"PBUF\x0a\x00\x12\x0dcom.acme.Sink"])
def test_a_peer_may_have_an_empty_cluster_key(tmp_path: Path, data: bytes) -> None:
    """HBase writes one for a peer that was added with an endpoint class alone (`ReplicationPeerConfigUtil.convert`)."""
    peer = parse_peer("1", data, None)
    assert peer.cluster_key == ""
    with SnapshotWriter(LocalTarget(tmp_path / "s")) as writer:
        writer.files([])
        writer.finish(replace(SNAPSHOT, peers=(peer,)))
    (read,) = parse_snapshot(json.loads((tmp_path / "s" / "snapshot.json").read_text())).peers
    assert (read.cluster_key, read.endpoint, read.remote_wal_dir) == ("", peer.endpoint, peer.remote_wal_dir)


@settings(deadline=None, max_examples=examples(20))
@given(sizes=st.lists(st.integers(0, 25), max_size=12), group=st.integers(1, 20), parts=st.integers(1, 4))
def test_a_listing_is_cut_into_parts_and_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], group: int, parts: int
) -> None:
    out = tmp_path_factory.mktemp("writer") / "s"

    def batches() -> Iterator[FileBatch]:
        start = 0
        for size in sizes:
            yield batch(start, size)
            start += size

    with SnapshotWriter(LocalTarget(out), rows_per_group=group, groups_per_part=parts) as writer:
        assert writer.files(batches()) == sum(sizes)
        writer.finish(SNAPSHOT)
    files = sorted((out / "files").iterdir())
    rows = [pq.read_metadata(file).num_rows for file in files]
    assert len(files) >= 1
    assert all(count == group * parts for count in rows[:-1])
    assert [n for file in files for n in pq.read_table(file)["length"].to_pylist()] == list(range(sum(sizes)))


def test_all_is_flushed_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the entries of the directories: a snapshot that exists after a power failure is complete."""
    flushed: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(os.readlink(f"/proc/self/fd/{handle}")))
    with SnapshotWriter(LocalTarget(tmp_path / "s")) as writer:
        writer.files([batch(0, 1)])
        writer.finish(SNAPSHOT)
    *made, parent = flushed
    below = {"/".join(Path(place).relative_to(tmp_path).parts[1:]) for place in made}
    assert below == {"", *(str(one.relative_to(tmp_path / "s")) for one in (tmp_path / "s").rglob("*"))}
    assert parent == str(tmp_path)


def test_a_capture_that_dies_leaves_nothing(tmp_path: Path) -> None:
    def dying() -> Iterator[FileBatch]:
        yield batch(0, 5)
        raise UnavailableError("the name node went away")

    def capture() -> None:
        with SnapshotWriter(LocalTarget(tmp_path / "s")) as writer:
            writer.cells("queues-1.jsonl", [])
            writer.files(dying())

    with pytest.raises(UnavailableError, match="name node"):
        capture()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["/sys", "/dev/null"])
def test_a_place_that_cannot_be_written_is_a_wrong_call_before_anything_is_read(place: str) -> None:
    """Nobody may write below `/sys`, not even root; `/dev/null` is no directory."""
    with pytest.raises(UsageError, match=f"{place}/s cannot be written: .*; check the path and its permissions"):
        SnapshotWriter(LocalTarget(Path(place, "s"))).__enter__()


def test_an_existing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="exists already"):
        LocalTarget(tmp_path)


def test_a_directory_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    out = tmp_path / "s"

    def capture() -> None:
        with SnapshotWriter(LocalTarget(out)) as writer:
            writer.files([])
            (out / "mine").mkdir(parents=True)
            writer.finish(SNAPSHOT)

    with pytest.raises(UsageError, match="exists already"):
        capture()
    assert [entry.name for entry in tmp_path.iterdir()] == ["s"]
    assert [entry.name for entry in out.iterdir()] == ["mine"]


def test_a_second_try_replaces_the_first(tmp_path: Path) -> None:
    def dying() -> Iterator[FileBatch]:
        yield batch(0, 5)
        raise UnavailableError("the name node went away")

    out = tmp_path / "s"
    with SnapshotWriter(LocalTarget(out), rows_per_group=1, groups_per_part=2) as writer:
        with pytest.raises(UnavailableError):
            writer.files(dying())
        writer.files([batch(7, 1)])
        writer.cells("queues-1.jsonl", [Cell(b"1", b"queue", b"", b"")])
        writer.cells("queues-1.jsonl", [])
        writer.finish(SNAPSHOT)
    assert sorted(str(file.relative_to(out)) for file in out.rglob("*.*")) == [
        "files/part-00000.parquet",
        "queues-1.jsonl",
        "snapshot.json",
    ]
    assert pq.read_table(out / "files")["length"].to_pylist() == [7]
    contents = json.loads((out / "snapshot.json").read_text())["contents"]
    assert {name: content["rows"] for name, content in contents.items()} == {
        "files/part-00000.parquet": 1,
        "queues-1.jsonl": 0,
    }
