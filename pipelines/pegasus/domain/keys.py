r"""Encodes and decodes raw keys of Pegasus's data column family (src/base/pegasus_key_schema.h), and prints them.

A raw key is the length of the hash key (two bytes, big-endian), the hash key and the sort key. RocksDB compares raw
keys byte by byte, so the length of the hash key is the first sort criterion.
"""

import re
from typing import NamedTuple

from pipelines.common.errors import MalformedError
from pipelines.pegasus.domain.crc64 import crc64

LENGTH_BYTES = 2
MAX_HASH_KEY = 0xFFFE
"""The longest hash key, in bytes: Pegasus asserts that a hash key is shorter than 65535 bytes."""
EMPTY_WRITE = b""
"""The raw key under which the primary stores an empty write. No client can write it."""
_PLAIN = re.compile(rb"[ -!#-\[\]-~]")


class SplitKey(NamedTuple):
    """The two parts of a raw key."""

    hash_key: bytes
    sort_key: bytes


def encode_key(hash_key: bytes, sort_key: bytes) -> bytes:
    """Returns the raw key.

    Raises:
        MalformedError: the hash key is longer than `MAX_HASH_KEY` bytes.
    """
    if len(hash_key) > MAX_HASH_KEY:
        raise MalformedError(f"hash key of {len(hash_key)} bytes: the limit is {MAX_HASH_KEY}")
    return len(hash_key).to_bytes(LENGTH_BYTES, "big") + hash_key + sort_key


def decode_key(raw: bytes) -> SplitKey:
    """Splits a raw key into its parts.

    Raises:
        MalformedError: the key is too short for its length field, or the length is one that Pegasus never writes.
    """
    if len(raw) < LENGTH_BYTES:
        raise MalformedError(f"raw key of {len(raw)} bytes: the length of the hash key alone takes {LENGTH_BYTES}")
    length = int.from_bytes(raw[:LENGTH_BYTES], "big")
    if length > MAX_HASH_KEY:
        raise MalformedError(f"raw key {escape_bytes(raw[:20])}: a hash key of {length} bytes is never written")
    if LENGTH_BYTES + length > len(raw):
        raise MalformedError(
            f"raw key {escape_bytes(raw[:20])}: its hash key should have {length} bytes, "
            f"{len(raw) - LENGTH_BYTES} are there"
        )
    return SplitKey(raw[LENGTH_BYTES : LENGTH_BYTES + length], raw[LENGTH_BYTES + length :])


def key_hash(raw: bytes) -> int:
    """Returns `pegasus_key_hash`, 0 … 2^64-1: the CRC-64 of the hash key, or of the sort key if the hash key is empty.

    Raises:
        MalformedError: for the reasons of `decode_key`.
    """
    key = decode_key(raw)
    return crc64(key.hash_key or key.sort_key)


def escape_bytes(data: bytes) -> str:
    r"""Formats bytes like Pegasus's shell: printable ASCII unchanged, the rest, `\` and `"` with a backslash."""
    return "".join(
        chr(byte) if _PLAIN.fullmatch(bytes([byte])) else f"\\{chr(byte)}" if byte in b'\\"' else f"\\x{byte:02X}"
        for byte in data
    )
