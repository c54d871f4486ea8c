"""A second reading of replicas: requests, keys and values as Pegasus reads them.

Written from the source of Apache Pegasus at commit db756dc; nothing here uses walsafe's own reading.
"""

from collections.abc import Callable, Iterator

from tests.labs.pegasus.own_logs import Logged

Change = tuple[bytes, bytes | None, int]
"""Raw key, the user's bytes or None for a removal, expiry."""
NEED_BASE = {"RPC_RRDB_RRDB_INCR", "RPC_RRDB_RRDB_CHECK_AND_SET", "RPC_RRDB_RRDB_CHECK_AND_MUTATE"}
"""Requests whose results depend on rows that the log does not have."""
_REMOVES = 4
EPOCH_S = 1_451_606_400
HEADER = 12
"""Bytes before the user's data in a value of version 1."""


def changes(one: Logged) -> Iterator[Change]:
    """What `pegasus_server_write::on_batched_writes` does to the rows."""
    for code, data in one.requests:
        if code != "RPC_REPLICATION_WRITE_EMPTY":
            argument = _Thrift(data)
            assert argument.take(1) == b"\x0c", "the argument is a struct or a bare blob"
            argument.take(2)
            yield from _REQUESTS[code.removeprefix("RPC_RRDB_RRDB_")](argument)


class _Thrift:
    """The binary protocol as far as `rrdb.thrift` needs it; a `dsn.blob` is its length and its bytes."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        self.at += count
        assert self.at <= len(self.data)
        return self.data[self.at - count : self.at]

    def blob(self) -> bytes:
        return self.take(int.from_bytes(self.take(4), "big"))

    def fields(self, structs: dict[int, Callable[[], object]]) -> dict[int, object]:
        found: dict[int, object] = {}
        while (kind := self.take(1)[0]) != 0:
            number = int.from_bytes(self.take(2), "big")
            if kind in (12, 15):
                found[number] = structs[number]()
            else:
                found[number] = int.from_bytes(self.take({2: 1, 8: 4, 10: 8}[kind]), "big", signed=True)
        return found

    def listed(self, item: Callable[[], object]) -> list[object]:
        assert self.take(1) == b"\x0c"
        return [item() for _ in range(int.from_bytes(self.take(4), "big"))]


def _put(argument: _Thrift) -> Iterator[Change]:
    """`update_request`; UT_CHECK_AND_MUTATE_REMOVE is a removal (docs/split-run.md: where Pegasus differs)."""
    found = argument.fields({1: argument.blob, 2: argument.blob, 7: argument.blob})
    removes = found.get(4) == _REMOVES
    yield _bytes(found, 1), None if removes else _bytes(found, 2), _number(found, 3)


def _remove(argument: _Thrift) -> Iterator[Change]:
    yield argument.blob(), None, 0


def _multi_put(argument: _Thrift) -> Iterator[Change]:
    def pair() -> object:
        found = argument.fields({1: argument.blob, 2: argument.blob})
        return _bytes(found, 1), _bytes(found, 2)

    found = argument.fields({1: argument.blob, 2: lambda: argument.listed(pair)})
    for sort, value in found[2]:  # type: ignore[attr-defined]
        yield raw_key(_bytes(found, 1), sort), value, _number(found, 3)


def _multi_remove(argument: _Thrift) -> Iterator[Change]:
    found = argument.fields({1: argument.blob, 2: lambda: argument.listed(argument.blob)})
    for sort in found[2]:  # type: ignore[attr-defined]
        yield raw_key(_bytes(found, 1), sort), None, 0


_REQUESTS = {"PUT": _put, "REMOVE": _remove, "MULTI_PUT": _multi_put, "MULTI_REMOVE": _multi_remove}


def raw_key(hash_key: bytes, sort_key: bytes) -> bytes:
    """`pegasus_generate_key`."""
    return len(hash_key).to_bytes(2, "big") + hash_key + sort_key


def is_well_formed(key: bytes) -> bool:
    """Returns whether `pegasus_restore_key` takes the key."""
    return len(key) >= 2 and len(key) - 2 >= int.from_bytes(key[:2], "big")


def value_1(data: bytes, expire: int, time_us: int, cluster: int) -> bytes:
    """`pegasus_value_generator::generate_value_v1`."""
    return expire.to_bytes(4, "big") + (time_us << 8 | cluster << 1).to_bytes(8, "big") + data


def has_expired(value: bytes, now_s: int) -> bool:
    """`check_if_ts_expired` of a value of version 1."""
    return 0 < int.from_bytes(value[:4], "big") <= now_s - EPOCH_S


def time_tag(value: bytes) -> int:
    """`pegasus_extract_timetag` of a value of version 1."""
    return int.from_bytes(value[4:12], "big")


def data_of(value: bytes) -> bytes:
    """`pegasus_extract_user_data` of a value of version 1."""
    return value[12:]


def _bytes(found: dict[int, object], number: int) -> bytes:
    data = found.get(number, b"")
    assert isinstance(data, bytes)
    return data


def _number(found: dict[int, object], number: int) -> int:
    value = found.get(number, 0)
    assert isinstance(value, int)
    return value
