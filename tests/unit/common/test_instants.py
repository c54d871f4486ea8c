"""Instants as text: there and back, and what is none."""

import pytest

from pipelines.common.errors import MalformedError
from pipelines.common.human import human_instant
from pipelines.common.instants import format_instant, is_instant, parse_instant

LAST = 32_503_679_999_999  # 2999-12-31T23:59:59.999Z


@pytest.mark.parametrize("ms", [0, 1, 1_790_000_000_123, LAST])
def test_an_instant_is_read_as_it_was_written(ms: int) -> None:
    assert is_instant(ms)
    assert parse_instant(format_instant(ms)) == ms


@pytest.mark.parametrize("ms", [-1, LAST + 1, 253_402_300_800_000, (1 << 63) - 1, -(1 << 63), 10**30])
def test_any_other_number_is_shown_and_never_read(ms: int) -> None:
    assert not is_instant(ms)
    assert format_instant(ms) == human_instant(ms) == f"{ms} ms"
    with pytest.raises(MalformedError, match="not an instant"):
        parse_instant(format_instant(ms))


def test_to_the_minute() -> None:
    assert human_instant(LAST) == "2999-12-31 23:59 UTC"
