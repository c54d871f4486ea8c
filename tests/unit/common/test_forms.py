"""Forms: what a file has, and the sentence about what is wrong with it."""

from dataclasses import dataclass
from typing import Annotated

import pytest
from pydantic import TypeAdapter

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError
from pipelines.common.forms import (
    Base64,
    Count,
    Form,
    Instant,
    Int64,
    Many,
    MayBeAbsent,
    Name,
    Sha256,
    Text,
    WrittenAs,
    exactly,
    one_of,
    read_value,
)


@dataclass(frozen=True)
class Step:
    name: str
    at: int


class _Step(Form):
    name: Text
    at: Instant


class _Document(Form):
    format: Annotated[int, exactly(1)] = 1
    steps: Many[Annotated[Step, WrittenAs(_Step)]] = ()
    by_name: dict[str, Annotated[Step, WrittenAs(_Step)]] = {}  # noqa: RUF012 - pydantic copies it
    number: Int64 = 0
    count: Count = 0
    data: Base64 = b""
    flag: bool | None = None
    absent: MayBeAbsent[Count] = None
    name: Name = "x"
    digest: Sha256 = "0" * 64
    kind: Annotated[str, one_of(("a", "b"))] = "a"


DOCUMENT = TypeAdapter(_Document)


def test_a_form_becomes_frozen_values() -> None:
    text = '{"steps": [{"name": "x", "at": "1970-01-01T00:00:01Z"}], "data": "AAE=", "flag": null}'
    found = read_value(DOCUMENT, text, "d.json")
    assert (found.steps, found.data, found.flag, found.absent) == ((Step("x", 1000),), b"\x00\x01", None, None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "must be an object of keys and values, found '[]'"),
        ('{"steps": [{"name": "x"}]}', "key 'steps.0.at' is missing"),
        ('{"steps": [{"name": "x", "at": "1970-01-01T00:00:01Z", "in": 1}]}', "unknown key 'steps.0.in'"),
        ('{"steps": [3]}', "'steps.0' must be an object of keys and values, found '3'"),
        ('{"steps": {}}', "'steps' must be a list, found '{}'"),
        ('{"steps": [{"name": "", "at": "1970-01-01T00:00:01Z"}]}', "'steps.0.name' must have at least 1 character"),
        ('{"by_name": {"k": {"name": "x", "at": 7}}}', "'by_name.k.at' must be a string, found '7'"),
        ('{"by_name": {"k": {"name": "x", "at": "noon"}}}', "'by_name.k.at': not an instant"),
        ('{"number": true}', "'number' must be a valid integer, found 'True'"),
        ('{"number": 1.0}', "'number' must be a valid integer"),
        ('{"number": "1"}', "'number' must be a valid integer"),
        ('{"number": 9223372036854775808}', "'number' must be less than or equal to 9223372036854775807"),
        ('{"count": -1}', "'count' must be greater than or equal to 0, found '-1'"),
        ('{"data": "A"}', "'data': not base64"),
        ('{"flag": 0}', "'flag' must be true or false"),
        ('{"absent": null}', "'absent' must not be null; leave the key out"),
        ('{"name": "a/b"}', "'name' must match pattern"),
        ('{"name": "a\\n"}', "'name' must match pattern"),
        ('{"digest": "0"}', "'digest' must match pattern"),
        ('{"kind": "c"}', "'kind' must be one of a, b, found 'c'"),
        ('{"format": 2}', "'format' must be 1, found 2"),
        ('{"number": 1, "number": 2}', "key 'number' is given twice"),
        ('{"number": NaN}', "NaN is no number"),
        ('{"name": "\\ud800"}', "truncated or not JSON"),
        ('{"\\ud800": 1}', "truncated or not JSON"),
        ('{"number": 1', "truncated or not JSON"),
        ("[" * 100_000, "truncated or not JSON"),
    ],
)
def test_the_first_problem_is_named_by_document_and_key(text: str, words: str) -> None:
    with pytest.raises(SnapshotError) as refused:
        read_value(DOCUMENT, text, "d.json")
    assert str(refused.value).startswith("d.json: ")
    assert words in str(refused.value)
    assert refused.value.condition is Condition.DOCUMENT_MALFORMED
