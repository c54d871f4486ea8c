"""Garbage: anything at all, and what is one small edit away from well-formed."""

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

from hypothesis import strategies as st

JsonValue: TypeAlias = Any
Place: TypeAlias = tuple[str | int, ...]

SHARP = "%,.:-+/$*\t\n\r\x00\x85\u2028 0123456789aAzZ{}[]\"'\\_()\u0660\u0661\u00e9\ufb00\u0130\U0001f600"
"""Characters that mean something to one of the parsers, or that languages disagree about."""
HUGE_NUMBERS = ("9223372036854775807", "9223372036854775808", "99999999999999999999", "9" * 5000, "-1", "+1", "00", "")
ANYTHING = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
"""Any text that UTF-8 can carry."""


@st.composite
def edited(draw: st.DrawFn, texts: st.SearchStrategy[str], alphabet: str = SHARP) -> str:
    """A text after one to three small edits: characters lost, doubled, swapped, replaced, a number grown too large."""
    text = draw(texts)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 4)))
        shape = draw(st.integers(0, 5))
        if shape == 0:
            text = text[:start] + text[end:]
        elif shape == 1:
            text = text[:end] + text[start:]
        elif shape == 2:
            text = text[:start] + text[start:end][::-1] + text[end:]
        elif shape == 3:
            text = text[:start]
        elif shape == 4:
            text = text[:start] + draw(st.sampled_from(HUGE_NUMBERS)) + text[end:]
        else:
            text = text[:start] + draw(st.sampled_from(alphabet)) + text[end:]
    return text


@st.composite
def edited_bytes(draw: st.DrawFn, values: st.SearchStrategy[bytes]) -> bytes:
    """Bytes after one edit; not always UTF-8 any more."""
    value = draw(values)
    start = draw(st.integers(0, len(value)))
    end = min(len(value), start + draw(st.integers(0, 3)))
    return value[:start] + draw(st.binary(max_size=2)) + value[end:]


JSON_VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.sampled_from(("", "\ud800", "x", "h1,16020,5", "2026-11-21T02:00:00.000Z", "9999-12-31T23:59:59Z")),
        st.text(max_size=8),
    ),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=6), values, max_size=3),
    max_leaves=5,
)
"""Any JSON, lone surrogates and NaN included: Python's reader takes both."""


def places(document: JsonValue) -> list[Place]:
    """Every path into a JSON document, its own left out."""
    found: list[Place] = []
    entries: Sequence[tuple[str | int, JsonValue]] = ()
    if isinstance(document, dict):
        entries = tuple(document.items())
    elif isinstance(document, list):
        entries = tuple(enumerate(document))
    for key, value in entries:
        found.append((key,))
        found += [(key, *rest) for rest in places(value)]
    return found


def without(document: JsonValue, place: Place, *, null: bool = False) -> JsonValue:
    """A copy that lacks one place, or has null there."""
    return _changed(document, place, [None] if null else [])


@st.composite
def edited_json(draw: st.DrawFn, document: JsonValue) -> JsonValue:
    """A JSON document with one place lost, doubled under another name, or replaced by any JSON."""
    place = draw(st.sampled_from(places(document)))
    shape = draw(st.integers(0, 4))
    if shape == 0:
        return without(document, place)
    if shape == 1:
        return without(document, place, null=True)
    if shape == 2:
        return _changed(document, place, [_at(document, draw(st.sampled_from(places(document))))])
    if shape == 3 and isinstance(_at(document, place), str):
        return _changed(document, place, [draw(edited(st.just(_at(document, place))))])
    return _changed(document, place, [draw(JSON_VALUES)])


def _at(document: JsonValue, place: Place) -> JsonValue:
    for key in place:
        document = document[key]
    return document


def _changed(document: JsonValue, place: Place, values: list[JsonValue]) -> JsonValue:
    copy = json.loads(json.dumps(document))
    holder = _at(copy, place[:-1])
    key = place[-1]
    if isinstance(holder, list):
        assert isinstance(key, int)
        holder[key : key + 1] = values
    elif values:
        holder[key] = values[0]
    else:
        del holder[key]
    return copy
