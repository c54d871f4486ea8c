"""Writes private logs and their requests as Pegasus does, for tests and benchmarks.

Written from the source of Apache Pegasus at commit db756dc; nothing here uses walsafe's own writer.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import google_crc32c

EMPTY = "RPC_REPLICATION_WRITE_EMPTY"
_MAGIC = 0xDEADBEEF
_BINARY = 1
_UPDATE_TYPE_REMOVE = 4


def put(key: bytes, value: bytes, expire_ts: int = 0, field_id: int = 0) -> tuple[str, bytes]:
    fields = field_blob(1, key) + field_blob(2, value) + field_i32(3, expire_ts)
    return "RPC_RRDB_RRDB_PUT", argument(fields + b"\x00", field_id)


def idempotent_put(key: bytes, value: bytes, expire_ts: int, update_type: int) -> tuple[str, bytes]:
    """The put of an idempotent table that stands for an atomic write, with what its answer needs."""
    fields = field_blob(1, key) + field_blob(2, value) + field_i32(3, expire_ts) + field_i32(4, update_type)
    checked = b"\x02\x00\x05\x01\x02\x00\x06\x01" + field_blob(7, b"checked")
    return "RPC_RRDB_RRDB_PUT", argument(fields + checked + b"\x00")


def idempotent_remove(key: bytes) -> tuple[str, bytes]:
    """The put of an idempotent table that stands for a remove: UT_CHECK_AND_MUTATE_REMOVE."""
    return idempotent_put(key, b"", 0, _UPDATE_TYPE_REMOVE)


def remove(key: bytes) -> tuple[str, bytes]:
    return "RPC_RRDB_RRDB_REMOVE", argument(_blob(key))


def multi_put(hash_key: bytes, rows: Sequence[tuple[bytes, bytes]], expire_ts: int = 0) -> tuple[str, bytes]:
    items = b"".join(field_blob(1, sort) + field_blob(2, value) + b"\x00" for sort, value in rows)
    listed = b"\x0f\x00\x02\x0c" + len(rows).to_bytes(4, "big") + items
    return "RPC_RRDB_RRDB_MULTI_PUT", argument(field_blob(1, hash_key) + listed + field_i32(3, expire_ts) + b"\x00")


def multi_remove(hash_key: bytes, sort_keys: Sequence[bytes]) -> tuple[str, bytes]:
    listed = b"\x0f\x00\x02\x0c" + len(sort_keys).to_bytes(4, "big") + b"".join(map(_blob, sort_keys))
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
    """One log file.

    Attributes:
        start: its global offset.
        before: the largest decree of earlier logs, for its header.
        valid: the offset from which mutations count, for its header.
        data: the bytes of the file so far.
    """

    app_id: int
    partition: int
    start: int = 0
    before: int = 0
    valid: int = 0
    data: bytearray = field(default_factory=bytearray)
    _sum: int = 0

    def __post_init__(self) -> None:
        """The header is a block of its own: `mutation_log::create_new_log_file`, `log_file::write_file_header`."""
        header = struct.pack("<IiqI", _MAGIC, 1, self.start, 1)
        self._block(header + struct.pack("<iiqq", self.app_id, self.partition, self.before, self.valid))

    def add(self, *entries: Entry) -> "LogWriter":
        """Adds one block with these mutations."""
        body = bytearray()
        for entry in entries:
            body += self._mutation(entry, self.end + 16 + len(body))
        self._block(bytes(body))
        return self

    @property
    def end(self) -> int:
        """Returns the global offset after the file."""
        return self.start + len(self.data)

    def _mutation(self, entry: Entry, place: int) -> bytes:
        """`mutation::write_mutation_header`, `mutation::write_to`."""
        requests = entry.requests or ((EMPTY, b""),)
        head = struct.pack(
            "<qiiqqqqqi", 0, *(entry.gpid or (self.app_id, self.partition)), entry.ballot, entry.decree,
            place if entry.log_offset is None else entry.log_offset,
            entry.decree - 1 if entry.committed is None else entry.committed, entry.timestamp_us, len(requests),
        )  # fmt: skip
        codes = b"".join(
            struct.pack("<i", len(code)) + code.encode() + struct.pack("<ii", code != EMPTY and _BINARY, len(data))
            for code, data in requests
        )
        return head + codes + b"".join(data for _, data in requests)

    def _block(self, body: bytes) -> None:
        """`log_file::commit_log_blocks`: the CRC goes on from block to block."""
        self._sum = google_crc32c.extend(self._sum, body)
        self.data += struct.pack("<IiII", _MAGIC, len(body), self._sum, len(self.data)) + body


def argument(inner: bytes, field_id: int = 0) -> bytes:
    """The one field of a call's argument struct: 0 from C++ clients, 1 from others."""
    return b"\x0c" + field_id.to_bytes(2, "big") + inner + b"\x00"


def field_blob(number: int, data: bytes) -> bytes:
    """Thrift calls a `dsn.blob` a struct, but it is a length and bytes."""
    return b"\x0c" + number.to_bytes(2, "big") + _blob(data)


def field_i32(number: int, value: int) -> bytes:
    return b"\x08" + number.to_bytes(2, "big") + value.to_bytes(4, "big", signed=True)


def _blob(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data
