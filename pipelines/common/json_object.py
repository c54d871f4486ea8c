"""Reads a JSON document strictly: callers ask for every key by type, and a key that no caller asked for is an error.

A typing error in a key must never weaken a check, so the error names the unknown key.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError

JsonValue: TypeAlias = Any
"""The result of `json.loads`; each accessor of `JsonObject` narrows the type."""


def read_json(text: str | bytes, where: str) -> JsonValue:
    """Parses JSON text.

    It is stricter than Python's parser. It rejects a key that is given twice, because the last value would silently
    win, and it rejects NaN and Infinity, which are not JSON.

    Args:
        text: JSON text; bytes must be UTF-8.
        where: the name of the document in messages.

    Raises:
        SnapshotError: the text is not valid JSON, or it is nested too deeply.
    """
    try:
        return _READER.decode(text if isinstance(text, str) else text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise SnapshotError(Condition.DOCUMENT_MALFORMED, f"{where}: truncated or not JSON ({error})") from None


def _each_key_once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"key {max(names, key=names.count)!r} is given twice")
    return values


def _no_number(name: str) -> JsonValue:
    raise ValueError(f"{name} is not a number")


_READER = json.JSONDecoder(object_pairs_hook=_each_key_once, parse_constant=_no_number)


class JsonObject:
    """One JSON object, read key by key.

    An accessor raises SnapshotError if the key is missing or its value has the wrong type. An `optional_` accessor
    returns None if the key is missing or null, which means unknown.

    `where` is the name of the object in messages.
    """

    def __init__(self, document: object, where: str) -> None:
        if not isinstance(document, dict):
            raise SnapshotError(
                Condition.DOCUMENT_MALFORMED, f"{where}: expected a JSON object, found {type(document).__name__}"
            )
        for name in document:
            if not _is_utf8(name):
                raise SnapshotError(Condition.DOCUMENT_MALFORMED, f"{where}: key {name!r} is not valid Unicode")
        self._values: dict[str, Any] = document
        self._where = where
        self._asked: set[str] = set()

    @property
    def where(self) -> str:
        """Returns the name of the object in messages."""
        return self._where

    def names(self) -> Iterable[str]:
        """Returns all keys, for objects whose keys are data."""
        return tuple(self._values)

    def no_other_keys(self) -> None:
        """Raises SnapshotError if the object has a key that no accessor asked for."""
        unknown = sorted(set(self._values) - self._asked)
        if unknown:
            raise SnapshotError(Condition.DOCUMENT_MALFORMED, f"{self._where}: unknown key {unknown[0]!r}")

    def text(self, key: str) -> str:
        """Returns a non-empty string."""
        value = self._required(key)
        if not isinstance(value, str) or not value or not _is_utf8(value):
            raise self._wrong(key, "a non-empty string", value)
        return value

    def optional_text(self, key: str) -> str | None:
        """Returns a non-empty string, or None."""
        return None if self._value(key) is None else self.text(key)

    def any_text(self, key: str) -> str:
        """Returns a string, which may be empty."""
        value = self._required(key)
        if not isinstance(value, str) or not _is_utf8(value):
            raise self._wrong(key, "a string", value)
        return value

    def matching(self, key: str, pattern: re.Pattern[str]) -> str:
        """Returns a string that fully matches the pattern."""
        value = self.text(key)
        if not pattern.fullmatch(value):
            raise self._wrong(key, f"a string like {pattern.pattern}", value)
        return value

    def one_of(self, key: str, values: Sequence[str]) -> str:
        """Returns a string that is one of `values`."""
        value = self.text(key)
        if value not in values:
            raise self._wrong(key, "one of " + ", ".join(values), value)
        return value

    def optional_one_of(self, key: str, values: Sequence[str]) -> str | None:
        """Returns a string that is one of `values`, or None."""
        return None if self._value(key) is None else self.one_of(key, values)

    def integer(self, key: str) -> int:
        """Returns an integer that fits in 64 bits."""
        value = self._required(key)
        if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
            raise self._wrong(key, "a whole number of at most 64 bits", value)
        return value

    def count(self, key: str) -> int:
        """Returns an integer that is zero or more."""
        value = self.integer(key)
        if value < 0:
            raise self._wrong(key, "zero or more", value)
        return value

    def flag(self, key: str) -> bool:
        """Returns a boolean."""
        value = self._required(key)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false", value)
        return value

    def optional_flag(self, key: str) -> bool | None:
        """Returns a boolean, or None."""
        return None if self._value(key) is None else self.flag(key)

    def part(self, key: str) -> "JsonObject":
        """Returns an object."""
        return JsonObject(self._required(key), f"{self._where}, {key!r}")

    def optional_part(self, key: str) -> "JsonObject | None":
        """Returns an object, or None."""
        return None if self._value(key) is None else self.part(key)

    def parts(self, key: str) -> list["JsonObject"]:
        """Returns a list of objects."""
        return [JsonObject(entry, f"{self._where}, {key!r}[{index}]") for index, entry in enumerate(self._list(key))]

    def named_parts(self, key: str) -> dict[str, "JsonObject"]:
        """Returns the objects under a key whose value is an object of objects, by name."""
        part = self.part(key)
        return {name: part.part(name) for name in part.names()}

    def texts(self, key: str) -> list[str]:
        """Returns a list of strings."""
        values = self._list(key)
        for value in values:
            if not isinstance(value, str) or not _is_utf8(value):
                raise self._wrong(key, "a list of strings", value)
        return [str(value) for value in values]

    def optional_texts(self, key: str) -> tuple[str, ...] | None:
        """Returns the strings of a list, or None."""
        return None if self._value(key) is None else tuple(self.texts(key))

    def _list(self, key: str) -> list[Any]:
        value = self._required(key)
        if not isinstance(value, list):
            raise self._wrong(key, "a list", value)
        return value

    def _value(self, key: str) -> JsonValue:
        self._asked.add(key)
        return self._values.get(key)

    def _required(self, key: str) -> JsonValue:
        self._asked.add(key)
        if key not in self._values:
            raise SnapshotError(Condition.DOCUMENT_MALFORMED, f"{self._where}: key {key!r} is missing")
        return self._values[key]

    def _wrong(self, key: str, expected: str, found: object) -> SnapshotError:
        return SnapshotError(
            Condition.DOCUMENT_MALFORMED, f"{self._where}: {key!r} must be {expected}, found {str(found)[:120]!r}"
        )


def _is_utf8(text: str) -> bool:
    r"""Returns whether the text can be encoded as UTF-8; half of a surrogate pair, such as JSON's `\ud800`, cannot."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
