"""Reads the beginning of a WAL file: `PWAL` and the message `WALHeader`."""

from dataclasses import dataclass

from pipelines.common.errors import MalformedError
from pipelines.hbase.protobuf_wire import LENGTH, VARINT, CutOffError, fields
from pipelines.hbase.wal_format.window import FileWindow

MAGIC = b"PWAL"
PLAIN_CODEC = "org.apache.hadoop.hbase.regionserver.wal.WALCellCodec"
WRITERS = ("ProtobufLogWriter", "AsyncProtobufLogWriter", "SecureProtobufLogWriter", "SecureAsyncProtobufLogWriter")
ALGORITHMS = ("LZO", "GZ", "NONE", "SNAPPY", "LZ4", "BZIP2", "ZSTD", "LZMA", "BROTLI")
"""HBase's `Compression.Algorithm`, by ordinal."""
LARGEST_HEADER = 1 << 10
"""More bytes than HBase writes for any header."""


class HeaderEndError(CutOffError):
    """The file ends inside its header (`WALHeaderEOFException`)."""


class HeaderDamagedError(HeaderEndError):
    """HBase says the same of this header, but its lengths are wrong: entries may follow."""


@dataclass(frozen=True, slots=True)
class WalHeader:
    """The header of a WAL.

    Attributes:
        writer: the class that wrote the file, without its package; None in files of old HBase versions.
        codec: the class of the cell codec, with its package; None = HBase's default codec.
        encrypted: whether the cells can only be read with the cluster's key.
        compressed: whether names are in dictionaries.
        compressed_tags: whether tags are in a dictionary too.
        value_algorithm: the compression of the values; None = not compressed.
    """

    writer: str | None = None
    codec: str | None = None
    encrypted: bool = False
    compressed: bool = False
    compressed_tags: bool = False
    value_algorithm: str | None = None


def read_header(window: FileWindow) -> WalHeader:
    """Reads the magic and the header (`AbstractProtobufWALReader.readHeader`).

    Raises:
        HeaderEndError: the file ends inside the header.
        HeaderDamagedError: it does so only by the lengths in the header, which are wrong.
        MalformedError: the file is not a WAL, or its writer class or value compression is unknown.
    """
    size = 0
    try:
        magic = window.take(len(MAGIC))
        if magic != MAGIC:
            raise MalformedError(f"not a WAL: it begins with {magic!r}, not with {MAGIC!r}")
        size = window.varint()
        message = window.take(size)
    except CutOffError as error:
        if size > LARGEST_HEADER:
            raise HeaderDamagedError(f"the header is damaged: it would have {size:,} bytes") from error
        raise HeaderEndError("the file ends inside its header") from error
    try:
        numbers, texts = _values(message)
    except CutOffError as error:
        raise HeaderDamagedError("the header is damaged: it ends inside a field") from error
    header = WalHeader(
        writer=texts.get(4),
        codec=texts.get(5),
        encrypted=2 in texts,
        compressed=bool(numbers.get(1)),
        compressed_tags=bool(numbers.get(1)) and bool(numbers.get(3)),
        value_algorithm=_algorithm(numbers.get(7)) if numbers.get(1) and numbers.get(6) else None,
    )
    if header.writer is not None and header.writer not in WRITERS:
        raise MalformedError(f"unknown writer class {header.writer!r}, which HBase refuses too")
    return header


def _values(message: bytes) -> tuple[dict[int, int], dict[int, str]]:
    numbers: dict[int, int] = {}
    texts: dict[int, str] = {}
    for number, kind, value in fields(message, 0, len(message)):
        if kind == VARINT and isinstance(value, int):
            numbers[number] = value
        elif kind == LENGTH and isinstance(value, bytes):
            texts[number] = value.decode("utf-8", errors="replace")
    return numbers, texts


def _algorithm(ordinal: int | None) -> str | None:
    if ordinal is None:
        return None
    if ordinal >= len(ALGORITHMS):
        raise MalformedError(f"unknown value compression {ordinal}")
    return ALGORITHMS[ordinal]
