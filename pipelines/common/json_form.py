"""Strict reading of a JSON document: every key is asked for by type, and a key nobody asked for is an error.

A typing error in a key must never weaken a check, so unknown keys are refused by name.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from pipelines.common.errors import SnapshotError

JsonValue: TypeAlias = Any
"""Whatever `json.loads` gives; each accessor narrows it."""


def read_json(text: str | bytes, where: str) -> JsonValue:
    """What a JSON text holds.

    Stricter than Python's reader: a key given twice, of which the last would silently win, is refused, and so are NaN
    and Infinity, which are no JSON.

    Args:
        text: UTF-8 if bytes.
        where: what to call it in messages.

    Raises:
        SnapshotError: not JSON, or nested too deeply to be of any use.
    """
    try:
        return _READER.decode(text if isinstance(text, str) else text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"{where}: truncated or not JSON ({error})") from None


def _each_key_once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"key {max(names, key=names.count)!r} is given twice")
    return values


def _no_number(name: str) -> JsonValue:
    raise ValueError(f"{name} is no number")


_READER = json.JSONDecoder(object_pairs_hook=_each_key_once, parse_constant=_no_number)


class Form:
    """One JSON object; `where` names it in messages."""

    def __init__(self, document: object, where: str) -> None:
        if not isinstance(document, dict):
            raise SnapshotError(f"{where}: expected a JSON object, found {type(document).__name__}")
        for name in document:
            if not _is_utf8(name):
                raise SnapshotError(f"{where}: key {name!r} is half of a character")
        self._values: dict[str, Any] = document
        self._where = where
        self._asked: set[str] = set()

    @property
    def where(self) -> str:
        """What messages call it."""
        return self._where

    def names(self) -> Iterable[str]:
        """All keys, for objects whose keys are data."""
        return tuple(self._values)

    def no_other_keys(self) -> None:
        """Refuse keys that nobody asked for."""
        unknown = sorted(set(self._values) - self._asked)
        if unknown:
            raise SnapshotError(f"{self._where}: unknown key {unknown[0]!r}")

    def text(self, key: str) -> str:
        """A non-empty string."""
        value = self._required(key)
        if not isinstance(value, str) or not value or not _is_utf8(value):
            raise self._wrong(key, "a non-empty string", value)
        return value

    def optional_text(self, key: str) -> str | None:
        """A non-empty string, or unknown."""
        return None if self._value(key) is None else self.text(key)

    def any_text(self, key: str) -> str:
        """A string, empty or not."""
        value = self._required(key)
        if not isinstance(value, str) or not _is_utf8(value):
            raise self._wrong(key, "a string", value)
        return value

    def matching(self, key: str, pattern: re.Pattern[str]) -> str:
        """A string that fully matches."""
        value = self.text(key)
        if not pattern.fullmatch(value):
            raise self._wrong(key, f"a string like {pattern.pattern}", value)
        return value

    def one_of(self, key: str, values: Sequence[str]) -> str:
        """One of a closed list of strings."""
        value = self.text(key)
        if value not in values:
            raise self._wrong(key, "one of " + ", ".join(values), value)
        return value

    def optional_one_of(self, key: str, values: Sequence[str]) -> str | None:
        """One of a closed list of strings, or unknown."""
        return None if self._value(key) is None else self.one_of(key, values)

    def integer(self, key: str) -> int:
        """A whole number that fits 64 bits."""
        value = self._required(key)
        if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
            raise self._wrong(key, "a whole number of at most 64 bits", value)
        return value

    def count(self, key: str) -> int:
        """A whole number, zero or more."""
        value = self.integer(key)
        if value < 0:
            raise self._wrong(key, "zero or more", value)
        return value

    def flag(self, key: str) -> bool:
        """`true` or `false`."""
        value = self._required(key)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false", value)
        return value

    def optional_flag(self, key: str) -> bool | None:
        """`true`, `false` or unknown."""
        return None if self._value(key) is None else self.flag(key)

    def part(self, key: str) -> "Form":
        """An object."""
        return Form(self._required(key), f"{self._where}, {key!r}")

    def optional_part(self, key: str) -> "Form | None":
        """An object, or unknown."""
        return None if self._value(key) is None else self.part(key)

    def parts(self, key: str) -> list["Form"]:
        """A list of objects."""
        return [Form(entry, f"{self._where}, {key!r}[{index}]") for index, entry in enumerate(self._list(key))]

    def named_parts(self, key: str) -> dict[str, "Form"]:
        """An object whose values are objects."""
        part = self.part(key)
        return {name: part.part(name) for name in part.names()}

    def texts(self, key: str) -> list[str]:
        """A list of strings."""
        values = self._list(key)
        for value in values:
            if not isinstance(value, str) or not _is_utf8(value):
                raise self._wrong(key, "a list of strings", value)
        return [str(value) for value in values]

    def optional_texts(self, key: str) -> tuple[str, ...] | None:
        """A list of strings, or unknown."""
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
            raise SnapshotError(f"{self._where}: key {key!r} is missing")
        return self._values[key]

    def _wrong(self, key: str, expected: str, found: object) -> SnapshotError:
        return SnapshotError(f"{self._where}: {key!r} must be {expected}, found {str(found)[:120]!r}")


def _is_utf8(text: str) -> bool:
    r"""Whether a text can be written again; JSON's `\ud800` is half of a surrogate pair, which cannot."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
