"""Writes private logs as Pegasus does (`src/replica/mutation_log.cpp`, `log_block.cpp`).

It serves simulated logs only: no job writes into a replica's directory.
"""

import struct

from pipelines.pegasus.domain.private_log.blocks import MAGIC, Checksum
from pipelines.pegasus.domain.private_log.mutations import PUT, FileHeader, Mutation, MutationUpdate
from pipelines.pegasus.domain.private_log.names import Gpid

_BLOCK = struct.Struct("<4siII")
_FILE = struct.Struct("<4siqi")
_GPID = struct.Struct("<iiqq")
_MUTATION = struct.Struct("<qiiqqqqqi")
_UPDATE = struct.Struct("<ii")
_VERSION = 0
EMPTY = MutationUpdate("RPC_REPLICATION_WRITE_EMPTY", 0, b"")
"""The request of an empty write: it only advances the decree."""


class LogWriter:
    """One log in memory.

    Attributes:
        data: its bytes so far.
    """

    def __init__(self, header: FileHeader, checksum: Checksum) -> None:
        """Creates a log with this header as its first block; `checksum` computes CRC-32C."""
        self._header = header
        self._checksum = checksum
        self._sum = 0
        self.data = bytearray()
        self._block(encode_file_header(header))

    @property
    def end(self) -> int:
        """Returns the global offset after the last block, where the next log begins."""
        return self._header.start_offset + len(self.data)

    @property
    def next_offset(self) -> int:
        """Returns the global offset of the first mutation of the next block."""
        return self.end + _BLOCK.size

    def add(self, *mutations: Mutation) -> None:
        """Adds one block with these mutations, and keeps their own `log_offset`."""
        self._block(b"".join(map(encode_mutation, mutations)))

    def append(self, *mutations: Mutation) -> None:
        """Adds one block with these mutations, and sets their `log_offset` to their place in this log."""
        place, found = self.next_offset, bytearray()
        for one in mutations:
            found += encode_mutation(one, place + len(found))
        self._block(bytes(found))

    def _block(self, body: bytes) -> None:
        self._sum = self._checksum(body, self._sum)
        self.data += _BLOCK.pack(MAGIC, len(body), self._sum, len(self.data)) + body


def encode_file_header(header: FileHeader) -> bytes:
    """Encodes a header to the bytes that `mutations.parse_file_header` reads."""
    entries = b"".join(
        _GPID.pack(gpid.app_id, gpid.partition, decree, header.valid_offsets.get(gpid, 0))
        for gpid, decree in header.max_decrees.items()
    )
    return _FILE.pack(MAGIC, 1, header.start_offset, len(header.max_decrees)) + entries


def encode_mutation(mutation: Mutation, log_offset: int | None = None) -> bytes:
    """Encodes a mutation to the bytes that `mutations.mutation_span` reads.

    Args:
        mutation: the mutation, which must have a timestamp; the layout before Pegasus 1.x is not written.
        log_offset: the offset to write instead of the mutation's own; None = its own.
    """
    gpid: Gpid = mutation.gpid
    head = _MUTATION.pack(
        _VERSION, gpid.app_id, gpid.partition, mutation.ballot, mutation.decree,
        mutation.log_offset if log_offset is None else log_offset, mutation.committed, mutation.timestamp_us,
        len(mutation.updates),
    )  # fmt: skip
    names = b"".join(
        len(one.code).to_bytes(4, "little") + one.code.encode("ascii") + _UPDATE.pack(one.serialization, len(one.data))
        for one in mutation.updates
    )
    return head + names + b"".join(one.data for one in mutation.updates)


def encode_put(key: bytes, value: bytes) -> MutationUpdate:
    """Returns an RRDB_PUT of a row that never expires, in thrift's binary protocol with Pegasus's bare blobs.

    Args:
        key: the raw key.
        value: the user's bytes.
    """
    never = b"\x08\x00\x03" + bytes(4)  # field 3, an i32
    row = _blob_field(1, key) + _blob_field(2, value) + never + b"\x00"
    return MutationUpdate(PUT, 1, b"\x0c\x00\x00" + row + b"\x00")  # field 0 of the call, as C++ clients number it


def _blob_field(number: int, data: bytes) -> bytes:
    """Encodes a `dsn.blob`, whose type is struct: length and bytes, without fields."""
    return b"\x0c" + number.to_bytes(2, "big") + len(data).to_bytes(4, "big") + data
