"""Reads snapshot directories, format 1; it checks the digest of every file before it uses the file."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession

from pipelines.common.conditions import Condition
from pipelines.common.errors import MalformedError, SnapshotError, UsageError
from pipelines.common.forms import read_value
from pipelines.common.strict_json import read_json
from pipelines.files.file_reader import DirectoryEntry, FileReader, file_reader_for
from pipelines.hbase.replication_queues import Cell, QueueCell, RowLayout, parse_queue_cells
from pipelines.hbase.zookeeper.tree import ReplicationTree, Znode, parse_tree
from pipelines.snapshot.extras import KNOWN_EXTRAS, Extras, extra_file
from pipelines.snapshot.extras_lines import parse_extras
from pipelines.snapshot.listings import Listings
from pipelines.snapshot.model import QUEUE_STORAGE_TABLE, QUEUE_STORAGE_ZOOKEEPER, Snapshot, SnapshotFile
from pipelines.snapshot.opened_snapshot import OpenedSnapshot
from pipelines.snapshot.other_families import OtherFamilyCells, beside_rows, beside_znodes
from pipelines.snapshot.queue_lines import CELL, ZNODE
from pipelines.snapshot.snapshot_json import SNAPSHOT_JSON, parse_snapshot

PassT = TypeVar("PassT")
Contents = Mapping[SnapshotFile, bytes]
"""The checked bytes of files of a snapshot, by their entries in snapshot.json; equal files have one."""
PASSES = ("queues-1.jsonl", "queues-2.jsonl")
_PARSED_FILES = frozenset({*PASSES, *map(extra_file, KNOWN_EXTRAS)})
_FOLDERS = ("files", "extras")
_PARTS = frozenset({SNAPSHOT_JSON, *PASSES, *_FOLDERS})
_SHOWN = 3
_READERS = 8


class SnapshotDirectories:
    """Opens snapshots through the session's file systems and returns their listings as one DataFrame."""

    def __init__(self, spark: SparkSession, row_layout: RowLayout = RowLayout.SHIPPED) -> None:
        self._spark = spark
        self._row_layout = row_layout
        self._readings = {QUEUE_STORAGE_TABLE: self._with_passes, QUEUE_STORAGE_ZOOKEEPER: _with_trees}
        self._listings = Listings(spark)

    def of_fleet(self, fleet: str) -> list[str]:
        """Returns the snapshot directories of a fleet: its sub-directories without hidden ones (unfinished captures).

        Raises:
            UsageError: the fleet does not exist or has no snapshot directory.
        """
        entries = file_reader_for(self._spark, fleet).entries(fleet)
        names = [entry.name for entry in entries or () if entry.is_directory and not entry.name.startswith(".")]
        if not names:
            raise UsageError(f"--fleet {fleet}: no such directory, or no snapshot below it")
        return [f"{fleet.rstrip('/')}/{name}" for name in names]

    def open(self, uris: Sequence[str]) -> list[OpenedSnapshot]:
        """Opens snapshots and checks all their digests; an error in one snapshot becomes its `fault`, not an exception.

        Raises:
            UsageError: a directory does not exist, or none of them has a part of a snapshot.
            UnavailableError: the file system did not answer.
        """
        with ThreadPoolExecutor(_READERS) as pool:
            entries = list(pool.map(self._entries, uris))
            if not any(entry.name in _PARTS for found in entries for entry in found):
                raise UsageError(_no_part(uris[0], [entry.name for entry in entries[0]]))
            opened = list(pool.map(self._open, uris, entries))
        return self._listings.counted(opened)

    def files(self, opened: Sequence[OpenedSnapshot]) -> DataFrame:
        """See `Listings.files`."""
        return self._listings.files(opened)

    def cells(self, opened: OpenedSnapshot) -> tuple[Cell, ...]:
        """Returns all cells of `hbase:replication`, in scan order.

        Raises:
            SnapshotError: a line is not a cell.
        """
        return tuple(read_value(CELL, line, where) for line, where in self._last_reading(opened))

    def znodes(self, opened: OpenedSnapshot) -> tuple[Znode, ...]:
        """Returns all znodes, in the order they were read.

        Raises:
            SnapshotError: a line is not a znode.
        """
        return tuple(read_value(ZNODE, line, where) for line, where in self._last_reading(opened))

    def extra_lines(self, opened: OpenedSnapshot, name: str) -> tuple[tuple[bytes, str], ...]:
        """Returns the lines of one extra, each with its name for messages.

        It returns no lines if the snapshot has no such file.

        Raises:
            SnapshotError: the number of lines differs from snapshot.json.
        """
        part = extra_file(name)
        if part not in opened.known.contents:
            return ()
        return tuple(self._read_lines(opened, part))

    def _last_reading(self, opened: OpenedSnapshot) -> Iterator[tuple[bytes, str]]:
        return self._read_lines(opened, PASSES[-1])

    def _read_lines(self, opened: OpenedSnapshot, name: str) -> Iterator[tuple[bytes, str]]:
        content = file_reader_for(self._spark, opened.uri).read(f"{opened.uri}/{name}")
        return _lines({opened.known.contents[name]: content}, opened.uri, name, opened.known)

    def _entries(self, uri: str) -> list[DirectoryEntry]:
        entries = file_reader_for(self._spark, uri).entries(uri)
        if entries is None:
            raise UsageError(f"no snapshot directory at {uri}")
        return entries

    def _open(self, uri: str, entries: Sequence[DirectoryEntry]) -> OpenedSnapshot:
        storage = file_reader_for(self._spark, uri)
        place = storage.qualified(uri)
        if SNAPSHOT_JSON not in {entry.name for entry in entries}:
            fault = f"{uri} has no {SNAPSHOT_JSON}: the capture, or a copy of the snapshot, did not finish"
            return OpenedSnapshot(place, fault=fault, fault_condition=Condition.SNAPSHOT_INCOMPLETE)
        raw = storage.read(f"{uri}/{SNAPSHOT_JSON}")
        opened = OpenedSnapshot(place, sha256=hashlib.sha256(raw).hexdigest())
        try:
            opened = replace(opened, snapshot=parse_snapshot(read_json(raw, f"{uri}/{SNAPSHOT_JSON}")))
            contents = _checked_contents(storage, uri, entries, opened.known)
        except SnapshotError as error:
            return replace(opened, fault=_fault(error), fault_condition=error.condition)
        try:
            opened = replace(opened, extras=_extras(contents, uri, opened.known))
            whole = self._readings[opened.known.queue_storage](contents, uri, opened)
            return replace(whole, listing_readable=True)
        except SnapshotError as error:
            return replace(opened, listing_readable=True, fault=_fault(error), fault_condition=error.condition)
        except MalformedError as error:
            return replace(opened, listing_readable=True, malformed=str(error))

    def _with_passes(self, contents: Contents, uri: str, opened: OpenedSnapshot) -> OpenedSnapshot:
        passes = _both_passes(opened, lambda name: _pass(contents, uri, name, opened.known, self._row_layout))
        return replace(
            opened, passes=tuple(cells for cells, _ in passes), beside=beside_rows([beside for _, beside in passes])
        )


def _no_part(uri: str, names: Iterable[str]) -> str:
    seen = [name for name in names if not name.startswith(".")]
    more = f" and {len(seen) - _SHOWN} more" if len(seen) > _SHOWN else ""
    below = f"it has {', '.join(seen[:_SHOWN])}{more}" if seen else "it is empty"
    return (
        f"{uri} is not a snapshot: {below}. Name a directory that has {SNAPSHOT_JSON}; `reconcile --fleet` takes a "
        "directory whose sub-directories have it"
    )


def _checked_contents(storage: FileReader, uri: str, entries: Iterable[DirectoryEntry], snapshot: Snapshot) -> Contents:
    """Checks that every file named in snapshot.json exists with its digest, and that no other file exists.

    Returns:
        The bytes of the passes and of the known extras, as they were checked.

    Raises:
        SnapshotError: a check failed; the message names the file.
    """
    found = {entry.name for entry in entries if not entry.is_directory}
    for folder in _FOLDERS:
        found |= {f"{folder}/{entry.name}" for entry in storage.entries(f"{uri}/{folder}") or ()}
    # Hadoop's local file system writes checksum files next to its files
    found = {name for name in found if not name.rpartition("/")[2].startswith(".") or not name.endswith(".crc")}
    named = set(snapshot.contents)
    for name in sorted((found - {SNAPSHOT_JSON}) ^ named):
        state = "is missing" if name in named else "is not named in snapshot.json"
        raise SnapshotError(
            Condition.SNAPSHOT_DAMAGED,
            f"{uri}/{name} {state}: the snapshot is not the one that was captured; capture again",
        )
    for name in PASSES:
        if name not in named:
            raise SnapshotError(
                Condition.SNAPSHOT_INCOMPLETE, f"{uri}: snapshot.json does not name {name}; capture again"
            )
    if not any(name.startswith("files/") and content.rows for name, content in snapshot.contents.items()):
        raise SnapshotError(
            Condition.LISTING_EMPTY,
            f"{uri}: the listing is empty, which no cluster with a region server can be; capture again",
        )
    contents: dict[SnapshotFile, bytes] = {}
    for name, content in sorted(snapshot.contents.items()):
        if name in _PARSED_FILES and content not in contents:
            contents[content] = storage.read(f"{uri}/{name}")
            digest = hashlib.sha256(contents[content]).hexdigest()
        else:
            digest = storage.sha256(f"{uri}/{name}")
        if digest != content.sha256:
            raise SnapshotError(
                Condition.SNAPSHOT_DAMAGED,
                f"{uri}/{name}: SHA-256 differs from snapshot.json: truncated or edited; capture again",
            )
    return contents


def _both_passes(opened: OpenedSnapshot, parse: Callable[[str], PassT]) -> tuple[PassT, ...]:
    """Parses both passes; if their files are equal, as those of a quiet cluster are, it parses only the first."""
    contents = [opened.known.contents[name] for name in PASSES]
    parsed: dict[SnapshotFile, PassT] = {}
    for name, content in zip(PASSES, contents, strict=True):
        if content not in parsed:
            parsed[content] = parse(name)
    return tuple(parsed[content] for content in contents)


def _pass(
    contents: Contents, uri: str, name: str, snapshot: Snapshot, layout: RowLayout
) -> tuple[tuple[QueueCell, ...], OtherFamilyCells]:
    cells = (read_value(CELL, line, where) for line, where in _lines(contents, uri, name, snapshot))
    beside = OtherFamilyCells()
    return parse_queue_cells(beside.watched(cells), layout), beside


def _extras(contents: Contents, uri: str, snapshot: Snapshot) -> Extras:
    files = {name: extra_file(name) for name in sorted(KNOWN_EXTRAS) if extra_file(name) in snapshot.contents}
    return parse_extras(snapshot, {name: _lines(contents, uri, file, snapshot) for name, file in files.items()})


def _with_trees(contents: Contents, uri: str, opened: OpenedSnapshot) -> OpenedSnapshot:
    trees = _both_passes(opened, lambda name: _tree(contents, uri, name, opened.known))
    return replace(opened, trees=trees, beside=beside_znodes(trees))


def _tree(contents: Contents, uri: str, name: str, snapshot: Snapshot) -> ReplicationTree:
    return parse_tree([read_value(ZNODE, line, where) for line, where in _lines(contents, uri, name, snapshot)])


def _lines(contents: Contents, uri: str, name: str, snapshot: Snapshot) -> Iterator[tuple[bytes, str]]:
    """Yields the lines of one pass or extra, each with its name for messages."""
    where, content = f"{uri}/{name}", snapshot.contents[name]
    raw = contents[content]
    lines = raw.removesuffix(b"\n").split(b"\n") if raw else []  # names may contain Unicode's other line ends
    if len(lines) != content.rows:
        raise SnapshotError(
            Condition.SNAPSHOT_DAMAGED, f"{where}: {len(lines)} rows, but snapshot.json says {content.rows}"
        )
    for number, line in enumerate(lines, 1):
        yield line, f"{where}, line {number}"


def _fault(error: SnapshotError) -> str:
    return f"{error}; capture again" if error.condition is Condition.DOCUMENT_MALFORMED else str(error)
