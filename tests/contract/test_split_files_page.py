"""The samples of docs/split-files.md are what the readers take."""

import io
from pathlib import Path

from pipelines.files.file_reader import LocalFileReader
from pipelines.pegasus.domain.keys import encode_key
from pipelines.pegasus.domain.offline.replica_info import AppInfo, parse_app_info
from pipelines.pegasus.domain.private_log.blocks import LogEnd
from pipelines.pegasus.domain.private_log.blocks import blocks as log_blocks
from pipelines.pegasus.domain.private_log.names import Gpid
from pipelines.pegasus.domain.private_log.reader import PrivateLogReader
from pipelines.pegasus.domain.private_log.requests import Replay, decode_request
from pipelines.pegasus.sources.cold_backup import backup_of
from pipelines.pegasus.sources.replica_tree import find_old_partitions
from tests.labs.documented_commands import blocks
from tests.labs.pegasus.replicas import init_info
from tests.labs.places import DOCS

REPLICAS, BACKUP, METADATA, LOG, APP_INFO = blocks(DOCS / "split-files.md", "text", "json")


def app_info() -> bytes:
    mark, document = APP_INFO.splitlines()
    return bytes.fromhex(mark) + document.encode()


def lay_out(tree: str, root: Path) -> None:
    for name in tree.splitlines():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()


def test_the_tree_of_replicas(tmp_path: Path) -> None:
    lay_out(REPLICAS.replace("2.1.pegasus", "2.0.pegasus"), tmp_path)
    replica = tmp_path / "n1" / "replica" / "reps" / "2.0.pegasus"
    (replica / ".app-info").write_bytes(app_info().replace(b'"5":{"i32":4}', b'"5":{"i32":1}'))
    (replica / ".init-info").write_bytes(init_info(7, 5))
    (source,) = find_old_partitions(LocalFileReader(), str(tmp_path), 2, 1)
    assert (source.database, source.logs) == (str(replica / "data" / "rdb"), str(replica / "plog"))
    assert (source.unread, source.lacks_init_info) == (None, False)
    assert (source.valid_offset, source.durable_decree) == (7, 5)


def test_the_tree_of_a_backup(tmp_path: Path) -> None:
    lay_out(BACKUP, tmp_path)
    (root,) = (tmp_path / "daily").iterdir()
    (root / "temp_2" / "meta" / "app_metadata").write_text(METADATA)
    for partition, host in enumerate(("10.0.0.1", "10.0.0.2")):
        (root / "temp_2" / str(partition) / "current_checkpoint").write_text(f"chkpt_{host}_34801\n")
    found = backup_of(LocalFileReader(), str(root), 2, 2)
    assert backup_of(LocalFileReader(), str(tmp_path), 2, 2) == found, (
        "a directory above it, if there is one backup below"
    )
    assert [Path(source.database).name for source in found] == ["chkpt_10.0.0.1_34801", "chkpt_10.0.0.2_34801"]
    assert [source.unread for source in found] == [None, None]


def test_the_log() -> None:
    reader = PrivateLogReader(io.BytesIO(bytes.fromhex(LOG)).read, 0)
    put, empty = list(reader)
    assert (reader.ending, put.gpid) == (LogEnd.WHOLE, Gpid(2, 1))
    assert len(list(log_blocks(io.BytesIO(bytes.fromhex(LOG)).read))) == 3
    (row,) = decode_request(put.updates[0]).rows
    assert (row.key, row.value) == (encode_key(b"user", b"name"), b"v1")
    assert decode_request(empty.updates[0]).replay is Replay.EMPTY


def test_app_info() -> None:
    assert parse_app_info(app_info()) == AppInfo(2, "temp", 4, 4)
