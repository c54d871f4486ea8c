"""Private logs: three of Pegasus's own, the recorded vectors, and every truncation and corruption of a small one."""

import io
import json
import os
from dataclasses import replace

import awscrt.checksums
import pytest

from pipelines.common.errors import MalformedError
from pipelines.pegasus.domain.keys import encode_key, key_hash
from pipelines.pegasus.domain.private_log import thrift
from pipelines.pegasus.domain.private_log.blocks import LogEnd, blocks, crc32c
from pipelines.pegasus.domain.private_log.mutations import (
    FileHeader,
    Mutation,
    MutationUpdate,
    as_mutation,
    mutation_span,
    parse_file_header,
)
from pipelines.pegasus.domain.private_log.names import Gpid, LogName, parse_log_name, parse_replica_name
from pipelines.pegasus.domain.private_log.reader import PrivateLogReader
from pipelines.pegasus.domain.private_log.requests import DecodedRequest, Replay, decode_request
from pipelines.pegasus.simulate.emission import logs as writing
from tests.labs.pegasus import private_logs as made
from tests.labs.pegasus.own_logs import read_log
from tests.labs.pegasus.private_logs import Entry, LogWriter
from tests.labs.places import TESTS

GOLDEN = TESTS / "golden" / "pegasus"
VECTORS = json.loads((GOLDEN / "vectors.json").read_text())
REAL = {
    "log.1.0.handle_real_private_log": (Gpid(1, 4), "ROWS ROWS ROWS EMPTY ROWS EMPTY EMPTY", "abcd"),
    "log.1.0.handle_real_private_log2": (Gpid(1, 4), "EMPTY ROWS EMPTY", "a"),
    "log.1.0.all_loaded_are_write_empties": (Gpid(1, 5), "EMPTY EMPTY EMPTY", ""),
}


def read(data: bytes, start: int = 0) -> tuple[PrivateLogReader, list[Mutation]]:
    reader = PrivateLogReader(io.BytesIO(data).read, start)
    return reader, list(reader)


def read_mutation(body: bytes, begin: int) -> tuple[Mutation, int]:
    """A mutation, and where it ends."""
    span = mutation_span(body, begin)
    return as_mutation(body, span), span[-1]


def requests(mutations: list[Mutation]) -> list[DecodedRequest]:
    return [decode_request(update) for mutation in mutations for update in mutation.updates]


@pytest.mark.parametrize("name", REAL)
def test_pegasus_own_logs(name: str) -> None:
    gpid, kinds, values = REAL[name]
    log = parse_log_name(name.rpartition(".")[0])  # the suffix is a name of Pegasus's test
    assert log == LogName(1, 0)
    reader, mutations = read((GOLDEN / "plog" / name).read_bytes(), log.start_offset)
    assert (reader.ending, reader.problem, reader.bad_blocks) == (LogEnd.WHOLE, None, 0)
    assert reader.header is not None
    assert reader.header.max_decrees == {gpid: 0}
    assert {mutation.gpid for mutation in mutations} == {gpid}
    assert [mutation.decree for mutation in mutations] == list(range(1, len(mutations) + 1))
    assert [mutation.committed for mutation in mutations] == list(range(len(mutations)))
    assert {mutation.ballot for mutation in mutations} == {3}
    found = requests(mutations)
    assert [request.replay.value for request in found] == kinds.split()
    rows = [row for request in found for row in request.rows]
    assert [row.value for row in rows] == [bytes([letter]) for letter in values.encode()]
    assert all(key_hash(row.key) % 8 == 4 for row in rows), "the partition that the log is of"


def test_the_recorded_log() -> None:
    recorded = VECTORS["plog_synthetic"]
    data = bytes.fromhex(recorded["hex"])
    reader, mutations = read(data)
    assert (reader.ending, len(list(blocks(io.BytesIO(data).read)))) == (LogEnd.WHOLE, recorded["blocks"])
    assert [
        {
            "ballot": one.ballot,
            "decree": one.decree,
            "last_committed_decree": one.committed,
            "timestamp_us": one.timestamp_us,
            "log_offset": one.log_offset,
            "codes": [update.code for update in one.updates],
            "live_effect": None,
        }
        for one in mutations
    ] == recorded["mutations"]
    live: dict[bytes, tuple[bytes, int]] = {}
    for request in requests(mutations):
        for row in request.rows:
            if row.value is None:
                live.pop(row.key)
            else:
                live[row.key] = (row.value, row.expire_ts)
    assert live == {encode_key(b"hashkey1", b"s1"): (b"v1", 77), encode_key(b"hashkey1", b"s3"): (b"v3", 0)}
    assert requests(mutations)[-1].replay is Replay.NEEDS_BASE
    cut, kept = read(bytes.fromhex(recorded["hex"])[:-7])
    assert (cut.ending, kept) == (LogEnd.TORN, mutations[: len(kept)])
    flipped = bytearray.fromhex(recorded["hex"])
    flipped[200] ^= 1
    bad, rest = read(bytes(flipped))
    assert (bad.ending, bad.bad_blocks) == (LogEnd.CORRUPT, 1)
    assert [one.decree for one in rest] == [3, 4, 5, 6], "the block behind a bad one is checked by its own header"


def rewritten(data: bytes, start: int = 0) -> bytes:
    """What the writer makes of the blocks that were read."""
    first, *rest = blocks(io.BytesIO(data).read)
    header, end = parse_file_header(first.body)
    assert end == len(first.body)
    writer = writing.LogWriter(header)
    assert header.start_offset == start
    for block in rest:
        place, found = 0, list[Mutation]()
        while place < len(block.body):
            mutation, place = read_mutation(block.body, place)
            found.append(mutation)
        writer.append(*(replace(one, log_offset=0) for one in found))  # the offsets must come out by themselves
    return bytes(writer.data)


@pytest.mark.parametrize("name", REAL)
def test_pegasus_own_logs_are_written_again_byte_by_byte(name: str) -> None:
    data = (GOLDEN / "plog" / name).read_bytes()
    assert rewritten(data) == data


def test_the_recorded_log_is_written_again_byte_by_byte() -> None:
    data = bytes.fromhex(VECTORS["plog_synthetic"]["hex"])
    assert rewritten(data) == data


def test_a_later_log_keeps_its_offsets() -> None:
    gpid = Gpid(2, 5)
    writer = writing.LogWriter(FileHeader(4096, {gpid: 45}, {gpid: 17}))
    first = Mutation(gpid, 3, 46, -1, 45, 1_600_000_000_000_000, (writing.encode_put(encode_key(b"h", b"s"), b"v"),))
    writer.append(first, replace(first, decree=47, updates=(writing.EMPTY,)))
    writer.append(replace(first, decree=48, updates=()))
    reader, mutations = read(bytes(writer.data), 4096)
    assert (reader.ending, reader.header) == (LogEnd.WHOLE, FileHeader(4096, {gpid: 45}, {gpid: 17}))
    assert [one.decree for one in mutations] == [46, 47, 48]
    assert writer.end == 4096 + reader.length
    assert rewritten(bytes(writer.data), 4096) == bytes(writer.data)


def made_put() -> MutationUpdate:
    code, data = made.put(encode_key(b"user", b"name"), b"v1")
    return MutationUpdate(code, 1, data)


def small_log() -> bytes:
    key = encode_key(b"user", b"name")
    writer = LogWriter(2, 1)
    writer.add(Entry(1, (made.put(key, b"v1"), made.put(key, b"v2", 9))), Entry(2, (made.remove(key),)))
    writer.add(Entry(3))
    writer.add(Entry(4, (made.multi_put(b"user", [(b"a", b"1"), (b"b", b"2")]),)))
    return bytes(writer.data)


def test_a_small_log_cut_at_every_byte() -> None:
    whole = small_log()
    _, all_of_it = read(whole)
    assert len(all_of_it) == 4
    ends = set()
    for size in range(len(whole)):
        reader, mutations = read(whole[:size])
        assert mutations == all_of_it[: len(mutations)], size
        assert reader.problem is None, size
        if reader.ending is LogEnd.WHOLE:
            ends.add(size)
            assert reader.length == size
        else:
            assert reader.ending is (LogEnd.TORN if ends else LogEnd.NO_HEADER), size
    assert len(ends) == 3, "behind the header and the two blocks before the last"


@pytest.mark.parametrize("puts", [1, 2])
@pytest.mark.parametrize("mask", [0x01, 0x80])
def test_a_mutation_is_read_as_it_is_written_or_not_at_all(puts: int, mask: int) -> None:
    put = made_put()
    whole = writing.encode_mutation(Mutation(Gpid(2, 1), 3, 4, 5, 3, 1_700_000_000_000_000, (put,) * puts))
    for size in range(len(whole)):
        with pytest.raises(MalformedError):
            read_mutation(whole[:size], 0)
    read_again = 0
    for place in range(len(whole)):
        data = bytearray(whole)
        data[place] ^= mask
        try:
            found, end = read_mutation(bytes(data), 0)
        except MalformedError:
            continue
        if place < 8:  # the layout before Pegasus 1.x begins with another number than 0, and has no time
            assert found.timestamp_us is None
            continue
        read_again += 1
        assert writing.encode_mutation(found) == bytes(data[:end]), place
    assert read_again > len(put.data)


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_a_small_log_with_every_byte_damaged(mask: int) -> None:
    whole = small_log()
    _, all_of_it = read(whole)
    unused = {begin + place for begin in block_starts(whole) for place in range(12, 16)}
    silent = []
    for place in range(len(whole)):
        data = bytearray(whole)
        data[place] ^= mask
        reader, mutations = read(bytes(data))
        assert all(one in all_of_it for one in mutations), f"a made-up mutation at {place}"
        if reader.ending is LogEnd.CORRUPT:
            assert reader.problem
            assert reader.bad_blocks > 0
            continue
        if place in unused:
            assert (reader.ending, mutations) == (LogEnd.WHOLE, all_of_it)
        else:
            silent.append(place)
            assert reader.ending is LogEnd.TORN, place
    last = block_starts(whole)[-1]
    assert set(silent) <= set(range(last + 4, last + 8)), "the length of the last block alone may look like a torn end"


def block_starts(data: bytes) -> list[int]:
    starts, place = [], 0
    while place < len(data):
        starts.append(place)
        place += 16 + int.from_bytes(data[place + 4 : place + 8], "little")
    return starts


def test_bytes_that_are_no_log() -> None:
    for size in (0, 1, 3, 15, 16, 17, 400):
        reader, mutations = read(os.urandom(size))
        assert mutations == []
        assert reader.ending in {LogEnd.NO_HEADER, LogEnd.CORRUPT}
    assert read(b"")[0].ending is LogEnd.NO_HEADER


def test_an_offset_that_is_not_the_names() -> None:
    reader, _ = read(small_log(), start=77)
    assert reader.problem is not None
    assert "its header has offset 0, its name 77" in reader.problem
    moved = LogWriter(2, 1)
    moved.add(Entry(1, log_offset=5))
    reader, mutations = read(bytes(moved.data))
    assert (reader.ending, mutations) == (LogEnd.CORRUPT, [])
    assert "says offset 5, not 76" in str(reader.problem)


@pytest.mark.parametrize(
    ("request_", "replay"),
    [
        (made.put(encode_key(b"h", b"s"), b"v", 5, field_id=1), Replay.ROWS),
        (made.incr(encode_key(b"h", b"s"), -3), Replay.NEEDS_BASE),
        (made.check_and_set(b"h", b"s", b"v"), Replay.NEEDS_BASE),
        (made.check_and_mutate(b"h", b"s", b"v"), Replay.NEEDS_BASE),
        (("RPC_RRDB_RRDB_DUPLICATE", b"\0"), Replay.UNKNOWN),
        (("RPC_RRDB_RRDB_PUT", b""), Replay.UNKNOWN),
        (("RPC_RRDB_RRDB_PUT", made.put(b"\0\1h", b"v")[1] + b"\0"), Replay.UNKNOWN),
        (made.put(b"\0\5h", b"v"), Replay.UNKNOWN),
    ],
)
def test_requests(request_: tuple[str, bytes], replay: Replay) -> None:
    found = decode_request(MutationUpdate(request_[0], 1, request_[1]))
    assert found.replay is replay
    assert (found.problem is not None) == (replay is Replay.UNKNOWN)
    if replay is not Replay.UNKNOWN:
        assert found.key == encode_key(b"h", b"s")
        for cut in range(len(request_[1])):
            assert decode_request(MutationUpdate(request_[0], 1, request_[1][:cut])).replay is Replay.UNKNOWN, cut
    assert decode_request(MutationUpdate(request_[0], 3, request_[1])).replay is Replay.UNKNOWN, "thrift JSON"


@pytest.mark.parametrize(("code", "data"), [("PUT", b"\x08\0\2\0\0\0\1\0"), ("REMOVE", b"\x0b\0\2\0\0\0\2\0\0\0")])
def test_an_argument_of_another_number_is_not_decoded(code: str, data: bytes) -> None:
    found = decode_request(MutationUpdate(f"RPC_RRDB_RRDB_{code}", 1, data))
    assert (found.replay, found.problem) == (Replay.UNKNOWN, f"RPC_RRDB_RRDB_{code}: 1 arguments, at [2]")


BLOBS = [("PUT", 1), ("PUT", 2), ("INCR", 1), ("MULTI_PUT", 1)]
OTHER_TYPES = [
    *((code, field, kind) for code, field in BLOBS for kind in (thrift.BYTE, thrift.I32, thrift.DOUBLE)),
    *((code, field, kind) for code, field in (("PUT", 0), ("MULTI_PUT", 2)) for kind in (thrift.I32, thrift.STRING)),
]


@pytest.mark.parametrize(("code", "field", "kind"), OTHER_TYPES)
def test_a_field_of_another_type_is_not_decoded(code: str, field: int, kind: int) -> None:
    size = {thrift.BYTE: 1, thrift.I32: 4, thrift.STRING: 4, thrift.DOUBLE: 8}[kind]
    given = bytes([kind, 0, field]) + bytes(size) + b"\0"
    found = decode_request(MutationUpdate(f"RPC_RRDB_RRDB_{code}", 1, made.argument(given) if field else given))
    assert found.replay is Replay.UNKNOWN
    assert f"a field of thrift type {kind} " in str(found.problem)


def test_the_sum_is_crc32c_and_goes_on_from_an_earlier_one() -> None:
    assert crc32c(b"123456789") == 0xE3069283, "the catalogue's check value"
    data = bytes(range(256)) * 500 + b"tail"
    for size in (0, 1, 1023, 70_000, len(data)):
        assert crc32c(data[size:], crc32c(data[:size])) == crc32c(data) == awscrt.checksums.crc32c(data)


@pytest.mark.parametrize(
    "name", ["log.1", "log.x.0", "log.1.0x", "lag.1.0", "", "log.-1.0", "log.1.0.removed", "log.old"]
)
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(MalformedError):
        parse_log_name(name)


def test_replica_directories() -> None:
    assert parse_replica_name("2.5.pegasus") == Gpid(2, 5)
    for name in ("2.5.pegasus.gar", "2.5", "x.5.pegasus", "2.5.err", "9999999999.0.pegasus", "2.2147483648.pegasus"):
        with pytest.raises(MalformedError):
            parse_replica_name(name)


@pytest.mark.parametrize("name", REAL)
def test_the_second_reading_takes_pegasus_own_logs_and_its_writer_makes_them(name: str) -> None:
    data = (GOLDEN / "plog" / name).read_bytes()
    log = read_log(name, data)
    ((app, partition),) = log.before or {}
    writer = LogWriter(app, partition)
    for block in log.blocks[1:]:
        entries = [(one.decree, one.requests, one.ballot, one.committed, one.gpid, one.time_us) for one in block]
        writer.add(*(Entry(*entry) for entry in entries))
    assert (bytes(writer.data), log.end, log.torn) == (data, len(data), False)
    assert [one.decree for one in log.mutations] == [one.decree for one in read(data)[1]]
