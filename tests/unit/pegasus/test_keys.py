"""Key codec and CRC against other libraries' CRC-64/NVME, and the columns against the definition."""

import anycrc
import pyarrow as pa
import pytest
from awscrt.checksums import crc64nvme
from hypothesis import given
from hypothesis import strategies as st

from pipelines.common.errors import MalformedError
from pipelines.pegasus.domain.crc64 import crc64
from pipelines.pegasus.domain.keys import (
    MAX_HASH_KEY,
    SplitKey,
    decode_key,
    encode_key,
    escape_bytes,
    key_hash,
)
from pipelines.pegasus.domain.partitions import is_power_of_two, partition_index
from pipelines.pegasus.transforms import key_columns
from pipelines.pegasus.transforms.crc64_columns import LINEAR_BYTES
from pipelines.pegasus.transforms.key_columns import binary_column, key_hashes, partition_indexes

ANYCRC = anycrc.Model("CRC64-NVME")
RAW_KEYS = st.one_of(
    st.binary(max_size=40),
    st.builds(encode_key, st.binary(max_size=40), st.binary(max_size=40)),
    st.builds(encode_key, st.integers(200, 700).map(lambda size: b"\xa5" * size), st.binary(max_size=3)),
)


@given(st.binary(max_size=600), st.binary(max_size=30))
def test_the_crc_is_that_of_two_other_libraries(data: bytes, more: bytes) -> None:
    assert crc64(data) == ANYCRC.calc(data) == crc64nvme(data)
    assert crc64(more, crc64(data)) == crc64nvme(data + more)


@given(st.lists(RAW_KEYS, max_size=60), st.integers(0, 5), st.sampled_from([1, 3, 4, 6, 8, 1024]))
def test_columns_say_of_every_key_what_the_definition_says(keys: list[bytes], skipped: int, count: int) -> None:
    column = pa.array([*[b"skipped"] * skipped, *keys], pa.binary()).slice(skipped)
    found = key_hashes(binary_column(column))
    indexes = partition_indexes(found.hashes, count)
    for place, raw in enumerate(keys):
        assert found.empty[place] == (raw == b"")
        try:
            expected = key_hash(raw)
        except MalformedError:
            assert found.malformed[place] == bool(raw)
        else:
            assert not found.malformed[place]
            assert int(found.hashes[place]) == expected
            assert indexes[place] == partition_index(expected, count)


def test_columns_longer_than_a_batch_and_keys_longer_than_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_columns, "BATCH", 7)
    hash_keys = [
        bytes([size % 251]) * size for size in (*range(50), LINEAR_BYTES, LINEAR_BYTES + 1, 3000, MAX_HASH_KEY)
    ]
    column = pa.array([encode_key(key, b"s") for key in hash_keys], pa.large_binary())
    found = key_hashes(binary_column(column))
    assert found.hashes.tolist() == [crc64nvme(key or b"s") for key in hash_keys]


def test_a_column_of_nothing() -> None:
    assert len(key_hashes(binary_column(pa.array([], pa.binary()))).hashes) == 0
    none = key_hashes(binary_column(pa.array([b"", None, b"\x00"], pa.binary())))
    assert none.empty.tolist() == [True, True, False]
    assert none.malformed.tolist() == [False, False, True]


@given(st.binary(max_size=30), st.binary(max_size=30))
def test_a_key_is_read_as_it_was_written(hash_key: bytes, sort_key: bytes) -> None:
    raw = encode_key(hash_key, sort_key)
    assert decode_key(raw) == SplitKey(hash_key, sort_key)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "raw key of 0 bytes"),
        (b"\x00", "raw key of 1 bytes"),
        (b"\x00\x02a", r"should have 2 bytes, 1 are there"),
        (b"\xff\xff" + b"a" * 65535, "a hash key of 65535 bytes is never written"),
    ],
)
def test_a_key_that_pegasus_never_writes_is_named(raw: bytes, message: str) -> None:
    with pytest.raises(MalformedError, match=message):
        decode_key(raw)


def test_a_hash_key_has_its_limit() -> None:
    assert decode_key(encode_key(b"a" * MAX_HASH_KEY, b"")).hash_key == b"a" * MAX_HASH_KEY
    with pytest.raises(MalformedError, match="the limit is 65534"):
        encode_key(b"a" * (MAX_HASH_KEY + 1), b"")


def test_how_the_shell_writes_bytes() -> None:
    assert escape_bytes(b'a b\\"\x00\xff') == r"a b\\\"\x00\xFF"


def test_which_counts_are_powers_of_two() -> None:
    assert [count for count in range(-2, 20) if is_power_of_two(count)] == [1, 2, 4, 8, 16]
