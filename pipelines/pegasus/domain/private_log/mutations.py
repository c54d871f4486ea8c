"""Parses the mutations of a private log (`src/replica/mutation.cpp`). All numbers are little-endian."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pipelines.common.errors import MalformedError
from pipelines.pegasus.domain.private_log.blocks import MAGIC
from pipelines.pegasus.domain.private_log.names import Gpid

MUTATION_HEAD = struct.Struct("<qiiqqqqqi")
_INT = struct.Struct("<i")
REQUEST_HEAD = struct.Struct("<ii")
FILE_HEAD = struct.Struct("<4siqi")
FILE_ENTRY = struct.Struct("<iiqq")
PUT = "RPC_RRDB_RRDB_PUT"
"""The task code of a put."""
EMPTY_WRITE = "RPC_REPLICATION_WRITE_EMPTY"
"""The task code of a write that only advances the decree."""
THRIFT_BINARY = 1
"""The serialization of a request in thrift's binary protocol."""
_PUT_CODE = PUT.encode()
_ONE_PUT = struct.Struct(f"<qiiqqqqqii{len(PUT)}sii")
_MOST_UPDATES = 1 << 20
_LONGEST_CODE = 256
_OLD_LAYOUT = 64
_HEAD, _COUNT, _KIND = MUTATION_HEAD.size, _INT.size, REQUEST_HEAD.size
RequestSpan: TypeAlias = tuple[str, int, int, int]
"""A request in a block: code, serialization, first byte, and the byte after the last one; see `MutationUpdate`."""
MutationSpan: TypeAlias = tuple[int, int, int, int, int, int, int | None, tuple[RequestSpan, ...], int, int]
"""A mutation in a block: table, partition, ballot, decree, log offset, committed, timestamp (see `Mutation`), requests,
and where the number of requests begins and the mutation ends. A plain tuple: a log has millions of them."""


@dataclass(frozen=True, slots=True)
class FileHeader:
    """The header in the first block of a log.

    Attributes:
        start_offset: the global offset of the file's first byte.
        max_decrees: by partition, the largest decree in earlier logs; a private log has one partition.
        valid_offsets: by partition, the global offset at which its own logs begin (`valid_start_offset`).
    """

    start_offset: int
    max_decrees: Mapping[Gpid, int]
    valid_offsets: Mapping[Gpid, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MutationUpdate:
    """One request of a mutation.

    Attributes:
        code: task code, such as RPC_RRDB_RRDB_PUT.
        serialization: 1 = thrift binary, 3 = thrift JSON, 0 = none.
        data: the request as the client wrote it.
    """

    code: str
    serialization: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Mutation:
    """One mutation.

    Attributes:
        committed: the `last_committed_decree` of its writer.
        timestamp_us: μs since the epoch; None in the layout before Pegasus 1.x.
        log_offset: the global offset of its first byte, as stored in the mutation.
    """

    gpid: Gpid
    ballot: int
    decree: int
    log_offset: int
    committed: int
    timestamp_us: int | None
    updates: tuple[MutationUpdate, ...]


def parse_file_header(body: bytes) -> tuple[FileHeader, int]:
    """Returns the header of a log, and its size in bytes within the first block.

    Raises:
        MalformedError: the bytes are not a valid header.
    """
    if len(body) < FILE_HEAD.size:
        raise MalformedError("the header of the log is too short")
    magic, version, start, count = FILE_HEAD.unpack_from(body)
    end = FILE_HEAD.size + count * FILE_ENTRY.size
    if magic != MAGIC or version != 1 or start < 0 or count < 0 or end > len(body):
        raise MalformedError(f"the header of the log has version {version} instead of 1")
    entries = [FILE_ENTRY.unpack_from(body, FILE_HEAD.size + place * FILE_ENTRY.size) for place in range(count)]
    decrees = {Gpid(app, partition): decree for app, partition, decree, _ in entries}
    valid = {Gpid(app, partition): offset for app, partition, _, offset in entries}
    return FileHeader(start, decrees, valid), end


def mutation_span(body: bytes, begin: int) -> MutationSpan:
    """Returns the mutation that begins at this offset, without a copy of its requests.

    Raises:
        MalformedError: the bytes are not a valid mutation.
    """
    return _one_put(body, begin) or _any_span(body, begin)


def _one_put(body: bytes, begin: int) -> MutationSpan | None:
    """Returns the mutation if it is a single put, as most are; None = it is another one, or not valid.

    It takes 0.7 µs, and `_any_span` 1.5 µs.
    """
    first = begin + _ONE_PUT.size
    if first > len(body):
        return None
    version, app, partition, ballot, decree, offset, committed, time, count, letters, code, kind, length = (
        _ONE_PUT.unpack_from(body, begin)
    )
    end = first + length
    if version or count != 1 or letters != len(PUT) or code != _PUT_CODE or not first <= end <= len(body):
        return None
    requests = ((PUT, kind, first, end),)
    return app, partition, ballot, decree, offset, committed, time, requests, begin + _HEAD - _COUNT, end


def _any_span(body: bytes, begin: int) -> MutationSpan:
    try:
        version, app, partition, ballot, decree, offset, committed, stamp, count = MUTATION_HEAD.unpack_from(
            body, begin
        )
        if 0 < version <= _OLD_LAYOUT or not 0 <= count <= _MOST_UPDATES:
            raise MalformedError(f"a mutation of version {version} with {count} requests")
        place, size = begin + _HEAD, len(body)
        heads = []
        for _ in range(count):
            (length,) = _INT.unpack_from(body, place)
            place += _COUNT
            end = place + length
            if not 0 <= length <= _LONGEST_CODE or end > size:
                raise MalformedError(f"a task code of {length} bytes")
            serialization, length = REQUEST_HEAD.unpack_from(body, end)
            heads.append((body[place:end].decode("ascii"), serialization, length))
            place = end + _KIND
        requests = []
        for code, serialization, length in heads:
            end = place + length
            if length < 0 or end > size:
                raise MalformedError(f"a request of {length} bytes")
            requests.append((code, serialization, place, end))
            place = end
    except (struct.error, UnicodeDecodeError) as error:
        raise MalformedError("a mutation that is cut off") from error
    time = None if version else stamp
    return app, partition, ballot, decree, offset, committed, time, tuple(requests), begin + _HEAD - _COUNT, place


def as_mutation(body: bytes, span: MutationSpan) -> Mutation:
    """Returns the mutation with its requests."""
    app, partition, ballot, decree, offset, committed, time, requests, _, _ = span
    updates = tuple(MutationUpdate(code, kind, body[first:last]) for code, kind, first, last in requests)
    return Mutation(Gpid(app, partition), ballot, decree, offset, committed, time, updates)
