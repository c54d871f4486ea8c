"""Parses JSON strictly, with the standard library alone."""

import json
from typing import Any, TypeAlias

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError

JsonValue: TypeAlias = Any
"""A result of `json.loads`."""


def read_json(text: str | bytes, where: str) -> JsonValue:
    """Parses JSON text.

    It is stricter than Python's parser. It rejects a key that is given twice, because the last value would silently
    win, NaN and Infinity, which are not JSON, and half of a surrogate pair, which is no character.

    Args:
        text: JSON text; bytes must be UTF-8.
        where: the name of the document in messages.

    Raises:
        SnapshotError: the text is not valid JSON, or it is nested too deeply.
    """
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8")
        document = _READER.decode(decoded)
        if "\\u" in decoded or not decoded.isascii():
            json.dumps(document, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise SnapshotError(Condition.DOCUMENT_MALFORMED, f"{where}: truncated or not JSON ({error})") from None
    return document


def _each_key_once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"key {max(names, key=names.count)!r} is given twice")
    return values


def _no_number(name: str) -> JsonValue:
    raise ValueError(f"{name} is no number")


_READER = json.JSONDecoder(object_pairs_hook=_each_key_once, parse_constant=_no_number)
