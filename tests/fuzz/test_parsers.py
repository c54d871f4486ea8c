"""No input, however broken, ends in anything but a value or an error of our own; the corpus is replayed each time."""

import base64
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.common.errors import MalformedError, WalsafeError
from tests.fuzz.parsers import PARSERS, Parser
from tests.labs.places import TESTS
from tests.strategies.garbage import ANYTHING, SHARP, edited, edited_bytes, edited_json
from tests.suite.sizes import examples

CORPUS = TESTS / "corpus" / "fuzz"
OURS = (WalsafeError, MalformedError)
EXAMPLES = examples(40)


def outcome(parser: Parser, raw: bytes) -> str:
    """`accepted`, or the class of the error, whose message can be shown and says something."""
    try:
        parser.read(raw)
    except OURS as error:
        refusal = error
    else:
        return "accepted"
    assert str(refusal).encode("utf-8")
    return type(refusal).__name__


def inputs(parser: Parser) -> st.SearchStrategy[bytes]:
    """Anything, and everything near a sample."""
    samples = st.sampled_from(parser.samples)
    near = st.one_of(
        edited(samples.map(lambda raw: raw.decode("utf-8", errors="replace")), SHARP).map(str.encode),
        edited_bytes(samples),
    )
    anything = st.one_of(ANYTHING.map(str.encode), st.binary(max_size=30))
    if not parser.is_json:
        return st.one_of(near, near, anything)
    documents = st.sampled_from([json.loads(raw) for raw in parser.samples])
    changed = documents.flatmap(edited_json).map(lambda document: json.dumps(document).encode())
    return st.one_of(changed, changed, near, anything)


@pytest.mark.promise("garbage-frees-nothing")
@pytest.mark.parametrize("name", sorted(PARSERS))
def test_a_parser_answers_or_refuses(name: str) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(inputs(PARSERS[name]))
    def every(raw: bytes) -> None:
        outcome(PARSERS[name], raw)

    every()


def corpus() -> list[tuple[str, dict[str, Any]]]:
    return [(file.stem, entry) for file in sorted(CORPUS.glob("*.json")) for entry in json.loads(file.read_text())]


@pytest.mark.promise("garbage-frees-nothing")
@pytest.mark.parametrize(("name", "entry"), [pytest.param(*one, id=f"{one[0]}: {one[1]['why']}") for one in corpus()])
def test_the_corpus(name: str, entry: dict[str, Any]) -> None:
    raw = base64.b64decode(entry["base64"]) if "base64" in entry else entry["text"].encode()
    assert outcome(PARSERS[name], raw * entry.get("times", 1)) == entry["outcome"]


def test_every_sample_that_is_whole_is_accepted() -> None:
    for name in sorted(PARSERS):
        assert "accepted" in {outcome(PARSERS[name], raw) for raw in PARSERS[name].samples}, name
