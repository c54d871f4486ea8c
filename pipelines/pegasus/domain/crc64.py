"""Computes CRC-64/NVME, the hash with which Pegasus distributes hash keys over partitions (src/utils/crc.cpp).

The CRC is reflected, with the polynomial 0xAD93D23594C93659; the initial value and the final XOR are all ones.
"""

REFLECTED_POLYNOMIAL = 0x9A6C9329AC4BC9B5
ALL_ONES = 0xFFFF_FFFF_FFFF_FFFF


def _entry(index: int) -> int:
    register = index
    for _ in range(8):
        register = register >> 1 ^ (REFLECTED_POLYNOMIAL if register & 1 else 0)
    return register


TABLE: tuple[int, ...] = tuple(_entry(index) for index in range(256))
"""The register after one byte, starting from an empty register."""


def crc64(data: bytes, before: int = 0) -> int:
    """Returns the CRC of some bytes, 0 … 2^64-1; the CRC of no bytes is 0.

    Args:
        data: the bytes.
        before: the CRC of the bytes before them.
    """
    register = before ^ ALL_ONES
    for byte in data:
        register = TABLE[(register ^ byte) & 0xFF] ^ register >> 8
    return register ^ ALL_ONES
