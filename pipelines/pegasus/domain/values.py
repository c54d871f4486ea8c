"""Encodes and decodes values of the data column family: when a row expires and when it was written.

The format is that of src/base/pegasus_value_schema.h; all numbers are big-endian. Version 0 is `expire_ts`, data;
version 1 `expire_ts`, `timetag`, data; version 2 a byte 0x82, `expire_ts`, `timetag`, data. The first bit identifies
version 2. Only the replica's meta column family (`pegasus_data_version`) distinguishes 0 from 1; new replicas have 1.
"""

from dataclasses import dataclass

from pipelines.common.errors import MalformedError

EPOCH_S = 1_451_606_400
"""2016-01-01T00:00:00Z in seconds since 1970: the epoch of `expire_ts`."""
VERSIONS = (0, 1, 2)
NEWEST = 2
_HEADER_BYTES = {0: 4, 1: 12, 2: 13}
_MARKED = 0x80


@dataclass(frozen=True, slots=True)
class Timetag:
    """When and where a value was written.

    Attributes:
        timestamp_us: microseconds since 1970, by the primary's clock.
        cluster_id: the cluster that first wrote the value, 0 … 127.
        deleted: whether this is the record of a delete.
    """

    timestamp_us: int
    cluster_id: int
    deleted: bool

    @classmethod
    def of(cls, packed: int) -> "Timetag":
        """Unpacks the 64 bits: timestamp (56), cluster (7), deleted (1)."""
        return cls(packed >> 8, packed >> 1 & 0x7F, bool(packed & 1))

    @property
    def packed(self) -> int:
        """Returns the timetag as 64 bits. Of two writes of one key, the one with the greater number wins."""
        return self.timestamp_us << 8 | self.cluster_id << 1 | int(self.deleted)


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A decoded value.

    Attributes:
        version: 0, 1 or 2.
        expire_ts: seconds since `EPOCH_S`; 0 = never.
        timetag: None in version 0.
        data: the user's bytes.
    """

    version: int
    expire_ts: int
    timetag: Timetag | None
    data: bytes


def header_bytes(version: int) -> int:
    """Returns the number of bytes before the user's data."""
    return _HEADER_BYTES[version]


def decode_value(raw: bytes, data_version: int = 1) -> StoredValue:
    """Decodes a stored value.

    Args:
        raw: all bytes of the value.
        data_version: the `pegasus_data_version` of the replica, for values that do not contain their version.

    Raises:
        MalformedError: the value is too short for its header, or the version is unknown.
    """
    version = value_version(raw, data_version)
    if len(raw) < header_bytes(version):
        raise MalformedError(
            f"value of {len(raw)} bytes: the header of version {version} takes {header_bytes(version)}"
        )
    at = 1 if version == NEWEST else 0
    expire_ts = int.from_bytes(raw[at : at + 4], "big")
    packed = None if version == 0 else int.from_bytes(raw[at + 4 : at + 12], "big")
    timetag = None if packed is None else Timetag.of(packed)
    return StoredValue(version, expire_ts, timetag, raw[header_bytes(version) :])


def value_version(raw: bytes, data_version: int = 1) -> int:
    """Returns the version of a value: the version in its mark byte, or if it has no mark, the version of its replica.

    A mark with an unknown number is read as the newest version, as Pegasus does.

    Raises:
        MalformedError: the replica's version is unknown.
    """
    if raw and raw[0] & _MARKED:
        return NEWEST
    if data_version not in VERSIONS[:2]:
        raise MalformedError(f"pegasus_data_version {data_version}: 0 or 1 is known, 2 marks itself")
    return data_version


def encode_value(value: StoredValue) -> bytes:
    """Returns the bytes of a value.

    Raises:
        MalformedError: the version is unknown, does not match the timetag, or is 0 or 1 and `expire_ts` would be read
            as the mark of another version.
    """
    if value.version not in VERSIONS or (value.timetag is None) != (value.version == 0):
        raise MalformedError(f"value of version {value.version}: 1 and 2 have a timetag, 0 has none")
    if not 0 <= value.expire_ts < (1 << 31 if value.version < NEWEST else 1 << 32):
        raise MalformedError(f"expire_ts {value.expire_ts} does not fit into version {value.version}")
    mark = bytes([_MARKED | NEWEST]) if value.version == NEWEST else b""
    tag = b"" if value.timetag is None else value.timetag.packed.to_bytes(8, "big")
    return mark + value.expire_ts.to_bytes(4, "big") + tag + value.data


def as_version_1(raw: bytes) -> bytes | None:
    """Returns a value of a replica with data version 0 as a replica with data version 1 has to store it.

    It gets a timetag of 0, so every write with a timetag is newer. A value that contains its version stays as it is.

    Returns:
        The bytes; None = the value is too short for its header.
    """
    if raw and raw[0] & _MARKED:
        return raw
    cut = _HEADER_BYTES[0]
    return raw[:cut] + bytes(_HEADER_BYTES[1] - cut) + raw[cut:] if len(raw) >= cut else None


def is_expired(expire_ts: int, now_s: int) -> bool:
    """Returns whether a value has expired, with the rule of Pegasus's `check_if_ts_expired`.

    Args:
        expire_ts: the expiry of the value, seconds since 2016; 0 = never.
        now_s: seconds since 1970.
    """
    return 0 < expire_ts <= now_s - EPOCH_S
