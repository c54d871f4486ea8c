"""No input, however broken, ends in anything but a value or an error of our own; the corpus is replayed each time."""

import ast
import base64
import json
import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.dags.walsafe_nightly_config import ConfigurationError
from pipelines.common.errors import MalformedError, WalsafeError
from tests.fuzz.parsers import PARSERS, Parser
from tests.labs.places import PROJECT, TESTS
from tests.strategies.garbage import ANYTHING, SHARP, edited, edited_bytes, edited_json
from tests.suite.sizes import examples

CORPUS = TESTS / "corpus" / "fuzz"
OURS = (WalsafeError, MalformedError, ConfigurationError)
OF_OUR_OWN_JAVA = {"parse_page", "parse_status"}  # what they read is made by a class of ours in the same process
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


def test_every_function_that_parses_is_called_with_a_sample() -> None:
    called = set[tuple[str, str]]()

    def hear(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name.startswith("parse_"):
            called.add((frame.f_code.co_filename, frame.f_code.co_name))

    before = sys.getprofile()
    sys.setprofile(hear)
    try:
        for parser in PARSERS.values():
            for raw in parser.samples:
                outcome(parser, raw)
    finally:
        sys.setprofile(before)
    there = {
        (str(file), node.name)
        for folder in ("pipelines", "jobs")
        for file in (PROJECT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("parse_") and node.name not in OF_OUR_OWN_JAVA
    }
    assert len(there) > 40
    assert sorted(there - called) == []
