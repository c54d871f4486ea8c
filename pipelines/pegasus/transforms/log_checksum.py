"""The checksum of private logs: CRC-32C by the library `google-crc32c`, in the processor's own instruction."""

import google_crc32c


def crc32c(data: bytes, before: int = 0) -> int:
    """The CRC-32C of some bytes, going on from that of the bytes in front of them."""
    return int(google_crc32c.extend(before, data))
