"""Writes private logs as Pegasus does, for tests and benchmarks (`src/replica/mutation_log.cpp`)."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.pegasus.domain.private_log import writer
from pipelines.pegasus.domain.private_log.mutations import FileHeader, Mutation, MutationUpdate
from pipelines.pegasus.domain.private_log.names import Gpid
from pipelines.pegasus.domain.private_log.writer import blob_field as field_blob
from pipelines.pegasus.domain.private_log.writer import encode_blob
from pipelines.pegasus.domain.private_log.writer import encode_call as argument
from pipelines.pegasus.domain.private_log.writer import i32_field as field_i32
from pipelines.pegasus.transforms.log_checksum import crc32c

EMPTY = writer.EMPTY.code


def put(key: bytes, value: bytes, expire_ts: int = 0, field_id: int = 0) -> tuple[str, bytes]:
    made = writer.encode_put(key, value, expire_ts, field_id)
    return made.code, made.data


def idempotent_remove(key: bytes) -> tuple[str, bytes]:
    """The put of an idempotent table that stands for a remove: UT_CHECK_AND_MUTATE_REMOVE."""
    fields = field_blob(1, key) + field_blob(2, b"") + field_i32(3, 0) + field_i32(4, 4)
    return "RPC_RRDB_RRDB_PUT", argument(fields + b"\x00")


def remove(key: bytes) -> tuple[str, bytes]:
    return "RPC_RRDB_RRDB_REMOVE", argument(encode_blob(key))


def multi_put(hash_key: bytes, rows: Sequence[tuple[bytes, bytes]], expire_ts: int = 0) -> tuple[str, bytes]:
    items = b"".join(field_blob(1, sort) + field_blob(2, value) + b"\x00" for sort, value in rows)
    listed = b"\x0f\x00\x02\x0c" + len(rows).to_bytes(4, "big") + items
    return "RPC_RRDB_RRDB_MULTI_PUT", argument(field_blob(1, hash_key) + listed + field_i32(3, expire_ts) + b"\x00")


def multi_remove(hash_key: bytes, sort_keys: Sequence[bytes]) -> tuple[str, bytes]:
    listed = b"\x0f\x00\x02\x0c" + len(sort_keys).to_bytes(4, "big") + b"".join(map(encode_blob, sort_keys))
    count = b"\x0a\x00\x03" + (0).to_bytes(8, "big")
    return "RPC_RRDB_RRDB_MULTI_REMOVE", argument(field_blob(1, hash_key) + listed + count + b"\x00")


def incr(key: bytes, by: int) -> tuple[str, bytes]:
    inner = field_blob(1, key) + b"\x0a\x00\x02" + by.to_bytes(8, "big", signed=True) + field_i32(3, 0) + b"\x00"
    return "RPC_RRDB_RRDB_INCR", argument(inner)


def check_and_set(hash_key: bytes, sort_key: bytes, value: bytes) -> tuple[str, bytes]:
    inner = (
        field_blob(1, hash_key)
        + field_blob(2, sort_key)
        + field_i32(3, 1)
        + field_blob(4, b"")
        + b"\x02\x00\x05\x00"
        + field_blob(6, b"")
        + field_blob(7, value)
        + field_i32(8, 0)
        + b"\x02\x00\x09\x00\x00"
    )
    return "RPC_RRDB_RRDB_CHECK_AND_SET", argument(inner)


def check_and_mutate(hash_key: bytes, sort_key: bytes, value: bytes) -> tuple[str, bytes]:
    mutate = field_i32(1, 0) + field_blob(2, sort_key) + field_blob(3, value) + field_i32(4, 0) + b"\x00"
    inner = field_blob(1, hash_key) + field_blob(2, sort_key) + field_i32(3, 0) + field_blob(4, b"")
    return "RPC_RRDB_RRDB_CHECK_AND_MUTATE", argument(
        inner + b"\x0f\x00\x05\x0c" + (1).to_bytes(4, "big") + mutate + b"\x02\x00\x06\x00\x00"
    )


@dataclass(frozen=True)
class Entry:
    """One mutation to be written; without requests it is an empty write."""

    decree: int
    requests: tuple[tuple[str, bytes], ...] = ()
    ballot: int = 3
    committed: int | None = None
    gpid: tuple[int, int] | None = None
    timestamp_us: int = 1_600_000_000_000_000
    log_offset: int | None = None


@dataclass
class LogWriter:
    """One log file; `start` is its global offset."""

    app_id: int
    partition: int
    start: int = 0
    before: int = 0

    def __post_init__(self) -> None:
        gpid = Gpid(self.app_id, self.partition)
        self._writer = writer.LogWriter(FileHeader(self.start, {gpid: self.before}), crc32c)

    def add(self, *entries: Entry) -> "LogWriter":
        """Adds one block with these mutations."""
        place, found = self._writer.next_offset, list[Mutation]()
        for entry in entries:
            found.append(self._mutation(entry, place))
            place += len(writer.encode_mutation(found[-1]))
        self._writer.add(*found)
        return self

    def _mutation(self, entry: Entry, place: int) -> Mutation:
        requests = entry.requests or ((EMPTY, b""),)
        return Mutation(
            Gpid(*(entry.gpid or (self.app_id, self.partition))),
            entry.ballot,
            entry.decree,
            place if entry.log_offset is None else entry.log_offset,
            entry.decree - 1 if entry.committed is None else entry.committed,
            entry.timestamp_us,
            tuple(MutationUpdate(code, 0 if code == EMPTY else 1, data) for code, data in requests),
        )

    @property
    def data(self) -> bytearray:
        """Returns the bytes of the file."""
        return self._writer.data

    @property
    def end(self) -> int:
        """Returns the global offset after the file."""
        return self._writer.end
