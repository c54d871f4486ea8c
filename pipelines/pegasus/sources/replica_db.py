"""Opens one replica's RocksDB without changing it (rocksdict, the optional extra `split`)."""

import importlib
import os
import tempfile
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError, UsageError, WalsafeError
from pipelines.pegasus.domain.encryption import MAGIC, refuse_encrypted
from pipelines.pegasus.domain.offline.merge import row_batches
from pipelines.pegasus.domain.offline.ranges import StoredPiece, is_uneven, pieces_of

_META = "pegasus_meta_cf"
_META_KEYS = b"pegasus_"
_MOST_PIECES = 4096
_LEFT_OUT = frozenset({"LOCK"})


@dataclass(frozen=True, slots=True)
class ReplicaDb:
    """An open database.

    Attributes:
        data_version: the `pegasus_data_version`.
        flushed: the `pegasus_last_flushed_decree`.
    """

    data_version: int
    flushed: int
    _database: Any
    _where: str
    _clone: str

    def pieces(self, task_bytes: int) -> list[StoredPiece]:
        """Returns where the keys of the rows can be divided: where SSTs begin, or evenly, by a look at all keys.

        Args:
            task_bytes: the approximate size of what one task reads.
        """
        found = [StoredPiece(file["start_key"], file["end_key"], file["size"]) for file in self._database.live_files()]
        files = [file for file in found if not file.first.startswith(_META_KEYS)]  # of another column family
        keys = self._spread_keys() if is_uneven(files, task_bytes) else []
        return pieces_of(keys, sum(file.size for file in files)) if keys else files

    def _spread_keys(self) -> list[bytes]:
        """Returns keys of live rows, with equally many rows between them."""
        keys, found, step = self._database.keys(), list[bytes](), 1
        while some := list(islice(keys, step - 1, step)):
            found += some
            if len(found) == _MOST_PIECES:
                del found[::2]
                step *= 2
        return found

    def batches(self, size: int, begin: bytes = b"", end: bytes | None = None) -> Iterator[list[tuple[bytes, bytes]]]:
        """Yields live rows in key order, in lists: deletes, deleted ranges and overwrites are resolved.

        Args:
            size: the most rows of a list; large rows make it shorter, see `row_batches`.
            begin: the smallest key.
            end: the first key behind the rows; None = all keys from `begin`.

        Raises:
            RefusedError: RocksDB stopped before the end, at a damaged block or at a merge that it cannot resolve.
        """
        # rocksdict's bounds of an iterator do not know raw keys
        rows, last, count = self._database.items(from_key=begin), None, 0
        for batch in row_batches(rows, size):
            last, count = batch[-1][0], count + len(batch)
            if end is not None and last >= end:
                del batch[bisect_left(batch, end, key=itemgetter(0)) :]
                if batch:
                    yield batch
                return
            yield batch
        self._ended(begin, last, count)

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Returns the value of each key; None = no such row.

        Raises:
            RefusedError: RocksDB cannot read a row.
        """
        try:
            return list(self._database.get(list(keys)))
        except Exception as error:  # noqa: BLE001 - rocksdict raises bare exceptions
            said = str(error).replace(self._clone, self._where)
            raise RefusedError(
                Condition.REPLICA_DAMAGED,
                f"{self._where}: RocksDB cannot read a row ({said}). Take the replica of another server",
            ) from None

    def _ended(self, begin: bytes, last: bytes | None, count: int) -> None:
        """Checks for an error after the last row, because rocksdict's `items` ends silently at an error."""
        iterator = self._database.iter()
        if last is None:
            iterator.seek(begin)
        else:
            iterator.seek(last)
            if iterator.valid():
                iterator.next()
        try:
            iterator.status()
        except Exception as error:  # noqa: BLE001 - rocksdict raises bare exceptions
            raise RefusedError(
                Condition.REPLICA_DAMAGED, _stopped(self._where, count, str(error).replace(self._clone, self._where))
            ) from None
        if iterator.valid():
            raise RefusedError(Condition.REPLICA_DAMAGED, _stopped(self._where, count, "a second read finds more rows"))


@contextmanager
def opened_db(directory: str) -> Iterator[ReplicaDb]:
    """Opens a database read-only through a directory of links, because rocksdict writes a file into what it opens.

    Raises:
        UsageError: the directory is not a RocksDB of Pegasus, or rocksdict is not installed.
        RefusedError: the database is encrypted.
        UnavailableError: the directory cannot be read.
    """
    rocksdict = rocksdict_module()
    with tempfile.TemporaryDirectory(prefix="walsafe-replica-") as clone:
        _linked(Path(directory), Path(clone))
        options = rocksdict.Options(raw_mode=True)
        try:
            families = rocksdict.Rdict.list_cf(clone, options)
            if _META not in families:
                raise UsageError(f"{directory}: no column family {_META}, so this is not data of Pegasus 2 or newer")
            known = {name: options for name in families if name != "default"}
            database = rocksdict.Rdict(
                clone, options=options, column_families=known, access_type=rocksdict.AccessType.read_only(False)
            )
        except WalsafeError:
            raise
        except Exception as error:  # noqa: BLE001 - rocksdict raises bare exceptions
            said = str(error).replace(clone, directory)
            raise UsageError(
                f"{directory}: RocksDB cannot open it ({said}); take the replica of another server, or a cold backup"
            ) from None
        try:
            meta = database.get_column_family(_META)
            yield ReplicaDb(
                _number(meta, b"pegasus_data_version", directory),
                _number(meta, b"pegasus_last_flushed_decree", directory),
                database,
                directory,
                clone,
            )
        finally:
            database.close()


def rocksdict_module() -> Any:  # noqa: ANN401 - a library without types
    """Imports the optional library.

    Raises:
        UsageError: the library is not installed.
    """
    try:
        return importlib.import_module("rocksdict")
    except ImportError:
        raise UsageError("the job needs rocksdict: pip install 'walsafe[split]'") from None


def _linked(directory: Path, clone: Path) -> None:
    try:
        names = sorted(os.listdir(directory))
    except OSError as error:
        raise UnavailableError(f"{directory} cannot be read: {error.strerror}") from None
    if "CURRENT" not in names:
        raise UsageError(f"{directory}: no file CURRENT, so this is not a RocksDB")
    for name in names:
        if name not in _LEFT_OUT:
            path = (directory / name).resolve()
            if path.is_file():
                refuse_encrypted(_head(path), str(directory / name))
            (clone / name).symlink_to(path)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(len(MAGIC))
    except OSError as error:
        raise UnavailableError(f"{path} cannot be read: {error.strerror}") from None


def _stopped(where: str, count: int, said: str) -> str:
    """Returns the error message for a RocksDB that stopped before its end.

    A merge gets its own advice, because a table of Pegasus has no merge operator (`pegasus_server_impl_init.cpp`).
    """
    way_out = "take the replica of another server, or a cold backup"
    if "merge" in said.lower():
        way_out = "Pegasus writes no merges: let the program that wrote them compact the whole database first"
    return f"{where}: RocksDB returns {count:,} rows and then stops ({said}); rows would be lost. So {way_out}"


def _number(meta: Any, key: bytes, directory: str) -> int:  # noqa: ANN401 - rocksdict's column family
    text = meta.get(key)
    if text is None or not bytes(text).isdigit():
        raise UsageError(f"{directory}: {key.decode()} is {text!r} in {_META}; it should be a number")
    return int(text)
