"""A second reading of replicas: their logs, requests, keys and values as Pegasus reads them.

Written from the source of Apache Pegasus at commit db756dc; nothing here uses walsafe's own reading.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

Request = tuple[str, bytes]
Change = tuple[bytes, bytes | None, int]
"""Raw key, the user's bytes or None for a removal, expiry."""
_CASTAGNOLI = 0x82F63B78
_MAGIC = 0xDEADBEEF
_REMOVES = 4
EPOCH_S = 1_451_606_400


class DamagedError(Exception):
    """The server would not replay the log."""


@dataclass(frozen=True)
class Logged:
    """A mutation of a private log."""

    app: int
    partition: int
    ballot: int
    decree: int
    offset: int
    committed: int
    time_us: int
    requests: tuple[Request, ...]


@dataclass
class Replayed:
    """What a server that becomes primary commits of its log."""

    committed: list[Logged] = field(default_factory=list)
    left_out: list[int] = field(default_factory=list)


def crc32c(data: bytes, before: int) -> int:
    """`dsn::utils::crc32_calc`, bit by bit (`src/utils/crc.cpp`)."""
    crc = before ^ 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (_CASTAGNOLI if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def logged(data: bytes) -> list[Logged]:
    """Returns the mutations of a log: `mutation_log::replay` and `log_file::read_next_log_block`."""
    found: list[Logged] = []
    at = crc = start = 0
    while at < len(data):
        length, stored = _int(data, at + 4), _int(data, at + 8)
        body = data[at + 16 : at + 16 + length]
        crc = crc32c(body, crc)
        if _int(data, at) != _MAGIC or len(body) < length or stored != crc:
            raise DamagedError
        place = 0
        if at == 0:  # `log_file_header`, then a count of partitions with two numbers each
            start, place = _long(body, 8), 20 + 24 * _int(body, 16)
        while place < length:
            one, place = _mutation(body, place)
            if one.offset != start + at + 16 + place - _size(one):
                raise DamagedError
            found.append(one)
        at += 16 + length
    return found


def _mutation(body: bytes, at: int) -> tuple[Logged, int]:
    """`mutation::read_from`: the header, the code, serialization and size of each request, then their bytes."""
    app, partition = _int(body, at + 8), _int(body, at + 12)
    ballot, decree, offset, committed, time = (_long(body, at + 16 + 8 * number) for number in range(5))
    count, place = _int(body, at + 56), at + 60
    heads = []
    for _ in range(count):
        length = _int(body, place)
        heads.append((body[place + 4 : place + 4 + length].decode(), _int(body, place + 8 + length)))
        place += 12 + length
    requests = []
    for code, size in heads:
        requests.append((code, body[place : place + size]))
        place += size
    return Logged(app, partition, ballot, decree, offset, committed, time, tuple(requests)), place


def _size(one: Logged) -> int:
    return 60 + sum(12 + len(code) + len(data) for code, data in one.requests)


def replayed(mutations: Iterable[Logged], app: int, partition: int, flushed: int, valid_offset: int) -> Replayed:
    """`replica::replay_mutation` puts mutations into the prepare list, `replay_prepare_list` commits it."""
    prepared: dict[int, Logged] = {}
    proven = flushed
    for one in mutations:
        if (one.app, one.partition) != (app, partition) or one.offset < valid_offset:
            continue
        proven = max(proven, one.committed)
        there = prepared.get(one.decree)
        if one.decree > flushed and (there is None or there.ballot < one.ballot):
            prepared[one.decree] = one
    found, ballot = Replayed(), 0
    for decree in sorted(prepared):
        one = prepared[decree]
        gap = decree != flushed + len(found.committed) + 1
        if found.left_out or gap or (decree > proven and one.ballot < ballot):
            found.left_out.append(decree)
        else:
            found.committed.append(one)
            ballot = one.ballot
    return found


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
    found = argument.fields({1: argument.blob, 2: argument.blob})
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


def value_1(data: bytes, expire: int, time_us: int, cluster: int) -> bytes:
    """`pegasus_value_generator::generate_value_v1`."""
    return expire.to_bytes(4, "big") + (time_us << 8 | cluster << 1).to_bytes(8, "big") + data


def has_expired(value: bytes, now_s: int) -> bool:
    """`check_if_ts_expired` of a value of version 1."""
    return 0 < int.from_bytes(value[:4], "big") <= now_s - EPOCH_S


def time_tag(value: bytes) -> int:
    """`pegasus_extract_timetag` of a value of version 1."""
    return int.from_bytes(value[4:12], "big")


def _bytes(found: dict[int, object], number: int) -> bytes:
    data = found.get(number, b"")
    assert isinstance(data, bytes)
    return data


def _number(found: dict[int, object], number: int) -> int:
    value = found.get(number, 0)
    assert isinstance(value, int)
    return value


def _int(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def _long(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little", signed=True)
