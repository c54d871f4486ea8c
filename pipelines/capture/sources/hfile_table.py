"""Reads `hbase:replication` from its store files while the cluster is down, with HBase's own classes.

HBase's region scanner clears the region's `.tmp` as a region server would, so it works on a copy on this machine:
walsafe never writes to the original. The table is small: it has one cell for each queue and WAL group.
"""

import json
import logging
import tempfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from pipelines.capture.ports import LiveSource
from pipelines.capture.sources.hbase_client_scan import cells_of_row, result_mapper
from pipelines.capture.sources.hbase_library import HBaseLibrary
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError
from pipelines.files.hadoop_jvm import JavaObject, java_errors
from pipelines.hbase.offline_table import Region, regions_to_read
from pipelines.hbase.replication_queues import Cell
from pipelines.snapshot.syncup_facts import StoreFile

logger = logging.getLogger(__name__)

_HBASE = "org.apache.hadoop.hbase"
_FAMILIES = ("queue", "sid", "hfileref")
_SEQUENCE_ID = b"MAX_SEQ_ID_KEY"
_RECOVERED_EDITS = "recovered.edits"


class HFileTable(LiveSource):
    """Copies the directory of `hbase:replication` while HBase is down, and reads the copy once; a `QueueSource`.

    Args:
        library: HBase's classes.
        root: the full URI of `hbase.rootdir`.
        wal_root: the full URI of `hbase.wal.dir`.
        table: the value of `hbase.replication.queue.table.name`.
    """

    def __init__(self, library: HBaseLibrary, root: str, wal_root: str, table: str = "hbase:replication") -> None:
        self._library = library
        self._table = table
        namespace, _, name = table.rpartition(":")
        self._below = f"data/{namespace or 'default'}/{name}"
        self._where = f"{root}/{self._below}"
        self._below_wals = f"{wal_root}/{self._below}"
        self._scratch = tempfile.TemporaryDirectory(prefix="walsafe-table-")
        self._listed: tuple[tuple[str, int, int], ...] | None = None

    def cells(self, step: str) -> Iterator[Cell]:
        """See `QueueSource.cells`. The second step checks that the store files are still those that were read.

        Raises:
            RefusedError: a store file was added, removed or changed: HBase is running.
        """
        found = self._cells
        if step == "queues-2" and self._listing() != self._listed:
            raise RefusedError(
                Condition.CLUSTER_RUNNING,
                f"{self._where}: store files came or went while they were read, so HBase is running. ReplicationSyncUp "
                "is for a cluster that is down; capture a running one with queues.source hbase or thrift",
            )
        yield from found

    def exists(self) -> bool:
        """Returns whether the table has a directory."""
        with java_errors(self._where):
            path = self._path(self._where)
            return bool(path.getFileSystem(self._library.hadoop.conf).exists(path))

    def store_files(self) -> tuple[StoreFile, ...]:
        """Returns the store files of the regions that were read."""
        names = self.region_names()
        found: list[StoreFile] = []
        for path, length, modified in self._listed or ():
            region, family, _ = path.split("/")
            if region in names:
                found.append(
                    StoreFile(f"{self._below}/{path}", length, modified, region, family, self._sequence_id(path))
                )
        return tuple(found)

    def recovered_edits(self) -> tuple[str, ...]:
        """Returns the files of edits that wait for their regions to open; an unfinished crash has left them.

        HBase writes them below `hbase.wal.dir` (`WALSplitUtil.getRegionSplitEditsPath`), and reads them below both
        roots.
        """
        found: dict[str, None] = {}
        for table in dict.fromkeys((self._where, self._below_wals)):
            for region in self._regions:
                place = f"{region.name}/{_RECOVERED_EDITS}"
                for name, _, _ in self._entries(place, table):
                    if not name.endswith(".seqid"):
                        found[f"{self._below}/{place}/{name}"] = None
        return tuple(found)

    def region_names(self) -> frozenset[str]:
        """Returns the encoded names of the regions that were read."""
        return frozenset(region.name for region in self._regions)

    def close(self) -> None:
        """Removes the copy."""
        self._scratch.cleanup()

    @cached_property
    def _copied(self) -> Path:
        """Copies the table's directory to a temporary root on this machine once, and returns the copy."""
        self._listed = self._listing()
        size = sum(length for _, length, _ in self._listed)
        logger.info("Copying %d store files of %s, %d bytes", len(self._listed), self._table, size)
        local = Path(self._scratch.name, self._below)
        hadoop = self._library.hadoop
        with java_errors(self._where):
            remote = self._path(self._where).getFileSystem(hadoop.conf)
            here = self._files
            regions = {name for name, is_directory, _ in self._entries("") if is_directory and _is_encoded(name)}
            copies = [f"{region}/.regioninfo" for region in sorted(regions)]
            for file in (*copies, *(path for path, _, _ in self._listed)):
                (local / file).parent.mkdir(parents=True, exist_ok=True)
                source, target = self._path(f"{self._where}/{file}"), self._path(f"file://{local / file}")
                hadoop.view.org.apache.hadoop.fs.FileUtil.copy(remote, source, here, target, False, hadoop.conf)
        return local

    @cached_property
    def _regions(self) -> tuple[Region, ...]:
        return regions_to_read(self._infos)

    @cached_property
    def _infos(self) -> dict[Region, JavaObject]:
        found = {}
        files, kinds = self._files, self._library.java_class
        for place in sorted(self._copied.iterdir()) if self._copied.is_dir() else ():
            with java_errors(f"{self._where}/{place.name}/.regioninfo"), self._library.in_use():
                info = self._library.static(
                    f"{_HBASE}.regionserver.HRegionFileSystem",
                    "loadRegionInfoFileContent",
                    (kinds("org.apache.hadoop.fs.FileSystem"), files),
                    (kinds("org.apache.hadoop.fs.Path"), self._path(f"file://{place}")),
                )
                start, end = bytes(info.getStartKey()), bytes(info.getEndKey())
                found[Region(str(info.getEncodedName()), int(info.getRegionId()), start, end)] = info
        return found

    @cached_property
    def _cells(self) -> tuple[Cell, ...]:
        library = self._library
        found: list[Cell] = []
        with java_errors(f"{self._where}, read by HBase's own classes"), library.in_use():
            mapper = result_mapper(library.hadoop, library.java_class(f"{_HBASE}.client.Result"))
            for region in self._regions:
                scanner = self._scanner(self._infos[region])
                try:
                    while (result := scanner.next()) is not None:
                        found += cells_of_row(json.loads(str(mapper.writeValueAsString(result))))
                finally:
                    scanner.close()
        return tuple(found)

    def _scanner(self, info: JavaObject) -> JavaObject:
        """Returns the `ClientSideRegionScanner` of one region of the copy."""
        library, kinds = self._library, self._library.java_class
        name = library.static(f"{_HBASE}.TableName", "valueOf", (kinds("java.lang.String"), self._table))
        descriptor = library.static(
            f"{_HBASE}.replication.ReplicationStorageFactory",
            "createReplicationQueueTableDescriptor",
            (kinds(f"{_HBASE}.TableName"), name),
        )
        return library.new(
            f"{_HBASE}.client.ClientSideRegionScanner",
            (kinds("org.apache.hadoop.conf.Configuration"), self._conf),
            (kinds("org.apache.hadoop.fs.FileSystem"), self._files),
            (kinds("org.apache.hadoop.fs.Path"), self._path(f"file://{self._scratch.name}")),
            (kinds(f"{_HBASE}.client.TableDescriptor"), descriptor),
            (kinds(f"{_HBASE}.client.RegionInfo"), info),
            (kinds(f"{_HBASE}.client.Scan"), library.new(f"{_HBASE}.client.Scan")),
            (kinds(f"{_HBASE}.client.metrics.ScanMetrics"), None),
        )

    def _sequence_id(self, path: str) -> int:
        """Returns the highest sequence id in a store file; -1 for a reference to a file of the older parent region."""
        if not _is_encoded(path.rpartition("/")[2]):
            return -1
        kinds = self._library.java_class
        with java_errors(f"{self._where}/{path}"), self._library.in_use():
            reader = self._library.static(
                f"{_HBASE}.io.hfile.HFile",
                "createReader",
                (kinds("org.apache.hadoop.fs.FileSystem"), self._files),
                (kinds("org.apache.hadoop.fs.Path"), self._path(f"file://{self._copied / path}")),
                (kinds("org.apache.hadoop.conf.Configuration"), self._conf),
            )
            try:
                value = reader.getHFileInfo().get(bytearray(_SEQUENCE_ID))
            finally:
                reader.close()
        return -1 if value is None else int.from_bytes(bytes(value), "big", signed=True)

    @cached_property
    def _conf(self) -> JavaObject:
        """Returns HBase's defaults on top of Spark's Hadoop configuration, with the copy as HBase's root."""
        library = self._library
        with library.in_use():
            conf = library.static(
                f"{_HBASE}.HBaseConfiguration",
                "create",
                (library.java_class("org.apache.hadoop.conf.Configuration"), library.hadoop.conf),
            )
        conf.set("hbase.rootdir", f"file://{self._scratch.name}")
        return conf

    @cached_property
    def _files(self) -> JavaObject:
        hadoop = self._library.hadoop
        return hadoop.view.org.apache.hadoop.fs.FileSystem.getLocal(hadoop.conf).getRawFileSystem()

    def _listing(self) -> tuple[tuple[str, int, int], ...]:
        """Returns the path below the table, the length (bytes) and the modification time (ms) of every store file."""
        found: list[tuple[str, int, int]] = []
        regions = [name for name, is_directory, _ in self._entries("") if is_directory and _is_encoded(name)]
        for region in sorted(regions):
            for family in _FAMILIES:
                place = f"{region}/{family}"
                found += [(f"{place}/{name}", *numbers) for name, _, numbers in self._entries(place)]
        return tuple(sorted(found))

    def _entries(self, below: str, table: str | None = None) -> list[tuple[str, bool, tuple[int, int]]]:
        """Returns (name, is a directory, (length, time)) of a directory's elements.

        Empty if the directory does not exist.

        Args:
            below: the path of the directory below the table's directory.
            table: the table's directory; None = the one below `hbase.rootdir`.
        """
        where = f"{table or self._where}/{below}".rstrip("/")
        with java_errors(where):
            path = self._path(where)
            files = path.getFileSystem(self._library.hadoop.conf)
            if not files.exists(path):
                return []
            return [
                (str(one.getPath().getName()), bool(one.isDirectory()), (int(one.getLen()), _modified(one)))
                for one in files.listStatus(path)
            ]

    def _path(self, uri: str) -> JavaObject:
        return self._library.hadoop.path(uri)


def _is_encoded(name: str) -> bool:
    """Returns whether this is the name of a region or of a store file: 32 hexadecimal digits."""
    return len(name) == 32 and set(name) <= set("0123456789abcdef")


def _modified(status: JavaObject) -> int:
    return int(status.getModificationTime())
