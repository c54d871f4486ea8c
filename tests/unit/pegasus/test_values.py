"""Values: every header of Pegasus, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.common.errors import MalformedError
from pipelines.pegasus.domain.values import StoredValue, Timetag, decode_value, encode_value, value_version

TIMETAGS = st.builds(Timetag, st.integers(0, (1 << 56) - 1), st.integers(0, 127), st.booleans())
VALUES = st.one_of(
    st.builds(StoredValue, st.just(0), st.integers(0, (1 << 31) - 1), st.none(), st.binary(max_size=9)),
    st.builds(StoredValue, st.just(1), st.integers(0, (1 << 31) - 1), TIMETAGS, st.binary(max_size=9)),
    st.builds(StoredValue, st.just(2), st.integers(0, (1 << 32) - 1), TIMETAGS, st.binary(max_size=9)),
)


@given(VALUES)
def test_a_value_is_read_as_it_was_written(value: StoredValue) -> None:
    assert decode_value(encode_value(value), min(value.version, 1)) == value


def test_a_mark_with_an_unknown_number_is_read_as_the_newest_version() -> None:
    raw = encode_value(StoredValue(2, 7, Timetag(1, 1, deleted=False), b"x"))
    assert decode_value(b"\xff" + raw[1:]) == decode_value(raw)


def test_a_later_write_has_the_greater_timetag() -> None:
    early, late = Timetag(5, 127, deleted=True), Timetag(6, 0, deleted=False)
    assert early.packed < late.packed
    assert Timetag.of(early.packed) == early


@pytest.mark.parametrize(
    "value",
    [
        StoredValue(0, 1 << 31, None, b""),
        StoredValue(1, -1, Timetag(0, 0, deleted=False), b""),
        StoredValue(1, 0, None, b""),
        StoredValue(0, 0, Timetag(0, 0, deleted=False), b""),
        StoredValue(3, 0, Timetag(0, 0, deleted=False), b""),
    ],
)
def test_a_value_that_could_be_taken_for_another_is_not_written(value: StoredValue) -> None:
    with pytest.raises(MalformedError):
        encode_value(value)


def test_an_unknown_data_version_is_named() -> None:
    with pytest.raises(MalformedError, match="pegasus_data_version 2"):
        value_version(b"\x00", 2)
