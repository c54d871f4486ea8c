"""Computes the checksum of private logs, CRC-32C, with `google-crc32c`, which uses the processor's own instruction."""

import google_crc32c


def crc32c(data: bytes, before: int = 0) -> int:
    """Returns the CRC-32C of some bytes; `before` is the CRC of the bytes that precede them."""
    return int(google_crc32c.extend(before, data))
