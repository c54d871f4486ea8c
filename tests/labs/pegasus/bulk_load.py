"""Pegasus's side of a bulk load: its checks transcribed from its source, and the RocksDB of its line that ingests.

Nothing here uses walsafe's own reading of keys, hashes and values. Source: Apache Pegasus at commit db756dc.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.labs.cluster.classpath import ALONE, Artifact, Classpath, resolve
from tests.labs.cluster.jvm import Jvm

ROCKSDB = Classpath("rocksdb", (Artifact("org.rocksdb:rocksdbjni:8.5.4", ALONE),), ("py4j-*.jar",))
"""Pegasus builds RocksDB 8.5.3 (`thirdparty/CMakeLists.txt`)."""
_POLYNOMIAL = 0x9A6C9329AC4BC9B5
_ALL = (1 << 64) - 1


class RefusedError(Exception):
    """Pegasus would refuse the bulk load; the text is its error code."""


def start(folder: Path, app: str, app_id: int, partition_count: int) -> None:
    """What the meta server checks: `bulk_load_service::check_bulk_load_request_params`.

    It opens `bulk_load_info` without a look at it (`create_file` with `ignore_metadata`), so only the read fails.
    """
    if not (folder / "bulk_load_info").is_file():
        raise RefusedError("ERR_OBJECT_NOT_FOUND, read bulk_load_info failed")
    info = json.loads((folder / "bulk_load_info").read_text())
    assert info["app_name"] == app
    if info["app_id"] != app_id or info["partition_count"] != partition_count:
        raise RefusedError("ERR_INCONSISTENT_STATE, app_id or partition_count is inconsistent")


def download(folder: Path) -> list[Path]:
    """What a replica checks: `replica_bulk_loader::parse_bulk_load_metadata` and `download_sst_file`."""
    metadata = json.loads((folder / "bulk_load_metadata").read_text())
    if metadata["file_total_size"] <= 0:
        raise RefusedError("ERR_CORRUPTION")
    files = [folder / one["name"] for one in metadata["files"]]
    for path, said in zip(files, metadata["files"], strict=True):
        data = path.read_bytes()
        if hashlib.md5(data, usedforsecurity=False).hexdigest() != said["md5"] or len(data) != said["size"]:
            raise RefusedError("ERR_CORRUPTION")
    return files


class Ingestion:
    """RocksDB of Pegasus's line in a JVM of its own."""

    def __init__(self, work: Path) -> None:
        self._jvm, self._work, self._made = Jvm("rocksdb", resolve(ROCKSDB), work, heap="256m"), work, 0
        self._rocks = self._jvm.view.org.rocksdb
        self._rocks.RocksDB.loadLibrary()

    def rows(self, files: Sequence[Path]) -> dict[bytes, bytes]:
        """Returns all rows after `rocksdb_wrapper::ingest_files` with `ingest_behind`, which refuses overlapping files.

        Raises:
            Py4JJavaError: RocksDB refuses the files.
        """
        self._made += 1
        options = self._rocks.Options().setCreateIfMissing(True).setAllowIngestBehind(True)
        database = self._rocks.RocksDB.open(options, str(self._work / f"ingested-{self._made}"))
        try:
            how = self._rocks.IngestExternalFileOptions().setMoveFiles(False).setIngestBehind(True)
            database.ingestExternalFile([str(path) for path in files], how)
            return dict(self._all(database))
        finally:
            database.close()

    def stored(self, folder: Path) -> dict[bytes, bytes]:
        """Returns the rows of a replica's database, which it opens read-only.

        Raises:
            Py4JJavaError: RocksDB cannot open it.
        """
        util = self._jvm.view.java.util
        names, handles = util.ArrayList(), util.ArrayList()
        for name in (b"default", b"pegasus_meta_cf"):
            names.add(self._rocks.ColumnFamilyDescriptor(name))
        database = self._rocks.RocksDB.openReadOnly(str(folder), names, handles)
        try:
            return dict(self._all(database))
        finally:
            for handle in handles:
                handle.close()
            database.close()

    def loaded(self, folder: Path, app: str, app_id: int, count: int) -> dict[bytes, bytes]:
        """Returns all rows of a table after a bulk load, each of which lies in the partition that owns it.

        The record of an empty write, which a partition without rows has, is left out.
        """
        start(folder, app, app_id, count)
        found: dict[bytes, bytes] = {}
        for partition in range(count):
            rows = self.rows(download(folder / str(partition)))
            rows.pop(b"", None)
            assert {owner(key, count) for key in rows} <= {partition}
            assert not rows.keys() & found.keys()
            found |= rows
        return found

    def _all(self, database: object) -> Iterator[tuple[bytes, bytes]]:
        iterator = database.newIterator()  # type: ignore[attr-defined]
        iterator.seekToFirst()
        while iterator.isValid():
            yield bytes(iterator.key()), bytes(iterator.value())
            iterator.next()
        iterator.status()
        iterator.close()

    def close(self) -> None:
        """Ends the JVM."""
        self._jvm.close()


def crc64(data: bytes) -> int:
    """`dsn::utils::crc64_calc`, bit by bit (`src/utils/crc.cpp`)."""
    crc = _ALL
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
    return crc ^ _ALL


def owner(raw_key: bytes, count: int) -> int:
    """The partition to which clients send a key: `pegasus_key_hash` and `partition_resolver::get_partition_index`."""
    length = int.from_bytes(raw_key[:2], "big")
    return crc64(raw_key[2 : 2 + length] if length else raw_key[2:]) % count
