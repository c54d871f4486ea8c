"""Decodes the requests of a mutation into row writes (`idl/rrdb.thrift`)."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pipelines.common.errors import MalformedError
from pipelines.pegasus.domain.keys import decode_key, encode_key
from pipelines.pegasus.domain.private_log.mutations import EMPTY_WRITE, THRIFT_BINARY, MutationUpdate
from pipelines.pegasus.domain.private_log.thrift import Kind, ThriftReader

_CHECK_AND_MUTATE_REMOVE = 4
"""`update_type.UT_CHECK_AND_MUTATE_REMOVE`: the put of an idempotent table that stands for a remove."""


class Replay(StrEnum):
    """Whether a request can be replayed from the log alone."""

    ROWS = "ROWS"
    """The request puts and removes the rows that it names."""
    EMPTY = "EMPTY"
    """An empty write: it only advances the decree."""
    NEEDS_BASE = "NEEDS_BASE"
    """INCR and CHECK_AND_…: the result depends on the previous value, which the log does not contain."""
    UNKNOWN = "UNKNOWN"
    """Another request, another serialization, or bytes that do not match the task code."""


@dataclass(frozen=True, slots=True)
class RowWrite:
    """The write or removal of one row.

    Attributes:
        key: raw key: length of the hash key, hash key, sort key.
        value: the user's bytes; None = removed.
        expire_ts: seconds since 2016; 0 = never.
    """

    key: bytes
    value: bytes | None
    expire_ts: int = 0


@dataclass(frozen=True, slots=True)
class DecodedRequest:
    """A decoded request.

    Attributes:
        key: a raw key with the same hash as the request; None if there is no such key, as for an empty write.
        rows: the rows that the request writes; empty unless `replay` is ROWS.
        problem: why the request is UNKNOWN; None = it is known.
    """

    replay: Replay
    key: bytes | None = None
    rows: tuple[RowWrite, ...] = ()
    problem: str | None = None


def decode_request(update: MutationUpdate) -> DecodedRequest:
    """Decodes one request; an invalid request never raises an error."""
    if update.code == EMPTY_WRITE:
        return DecodedRequest(Replay.EMPTY)
    reading = _READING.get(update.code.removeprefix("RPC_RRDB_RRDB_"))
    if reading is None:
        return DecodedRequest(Replay.UNKNOWN, problem=f"{update.code} is not decoded")
    if update.serialization != THRIFT_BINARY:
        return DecodedRequest(Replay.UNKNOWN, problem=f"{update.code} in serialization {update.serialization}")
    try:
        return reading(_Argument(update.data))
    except MalformedError as error:
        return DecodedRequest(Replay.UNKNOWN, problem=f"{update.code}: {error}")


class _Argument:
    """The argument of a call: field 0 from C++ clients, field 1 from other clients."""

    def __init__(self, data: bytes) -> None:
        self._reader = ThriftReader(data)

    def of(self, kind: Callable[[ThriftReader], Any]) -> Any:  # noqa: ANN401 - a thrift value
        found = self._reader.fields({0: kind, 1: kind})
        self._reader.end()
        if len(found) != 1 or not found.keys() <= {0, 1}:
            raise MalformedError(f"{len(found)} arguments, at {sorted(found)}")
        return next(iter(found.values()))

    def struct(self, *blobs: int, **lists: Callable[[ThriftReader], Any]) -> dict[int, Any]:
        """Reads a struct.

        Args:
            blobs: the numbers of the fields that are blobs.
            lists: the readers of list fields; the name of the argument is f<field>.
        """
        known: dict[int, Callable[[ThriftReader], Any]] = dict.fromkeys(blobs, ThriftReader.blob)
        known |= {int(name[1:]): lambda reader, kind=kind: reader.items(kind) for name, kind in lists.items()}  # type: ignore[misc]
        found: dict[int, Any] = self.of(lambda reader: reader.fields(known))
        return found


def _put(argument: _Argument) -> DecodedRequest:
    found = argument.struct(1, 2, 7)
    key = _key(found.get(1, b""))
    if found.get(4) == _CHECK_AND_MUTATE_REMOVE:
        return DecodedRequest(Replay.ROWS, key, (RowWrite(key, None),))
    return DecodedRequest(Replay.ROWS, key, (RowWrite(key, found.get(2, b""), _expiry(found.get(3, 0))),))


def _remove(argument: _Argument) -> DecodedRequest:
    key = _key(argument.of(ThriftReader.blob))
    return DecodedRequest(Replay.ROWS, key, (RowWrite(key, None),))


def _multi_put(argument: _Argument) -> DecodedRequest:
    found = argument.struct(1, f2=lambda reader: reader.fields({1: ThriftReader.blob, 2: ThriftReader.blob}))
    hash_key, expiry = found.get(1, b""), _expiry(found.get(3, 0))
    rows = tuple(RowWrite(encode_key(hash_key, one.get(1, b"")), one.get(2, b""), expiry) for one in found.get(2, ()))
    return DecodedRequest(Replay.ROWS, rows[0].key if rows else encode_key(hash_key, b""), rows)


def _multi_remove(argument: _Argument) -> DecodedRequest:
    found = argument.struct(1, f2=ThriftReader.blob)
    hash_key = found.get(1, b"")
    rows = tuple(RowWrite(encode_key(hash_key, one), None) for one in found.get(2, ()))
    return DecodedRequest(Replay.ROWS, rows[0].key if rows else encode_key(hash_key, b""), rows)


def _incr(argument: _Argument) -> DecodedRequest:
    return DecodedRequest(Replay.NEEDS_BASE, _key(argument.struct(1).get(1, b"")))


def _check_and_set(argument: _Argument) -> DecodedRequest:
    found = argument.struct(1, 2, 4, 6, 7)
    return DecodedRequest(Replay.NEEDS_BASE, encode_key(found.get(1, b""), found.get(2, b"")))


def _check_and_mutate(argument: _Argument) -> DecodedRequest:
    mutate: dict[int, Kind] = {2: ThriftReader.blob, 3: ThriftReader.blob}
    found = argument.struct(1, 2, 4, f5=lambda reader: reader.fields(mutate))
    return DecodedRequest(Replay.NEEDS_BASE, encode_key(found.get(1, b""), found.get(2, b"")))


def _key(data: bytes) -> bytes:
    decode_key(data)
    return data


def _expiry(seconds: object) -> int:
    return int(seconds) if isinstance(seconds, int) and seconds > 0 else 0


_READING: dict[str, Callable[[_Argument], DecodedRequest]] = {
    "PUT": _put,
    "REMOVE": _remove,
    "MULTI_PUT": _multi_put,
    "MULTI_REMOVE": _multi_remove,
    "INCR": _incr,
    "CHECK_AND_SET": _check_and_set,
    "CHECK_AND_MUTATE": _check_and_mutate,
}
