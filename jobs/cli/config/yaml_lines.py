"""Parses YAML with the safe loader, refuses duplicate keys, and records the line of every value."""

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from pipelines.common.errors import UsageError
from pipelines.common.forms import KeyPath

# exceptions that PyYAML's constructors raise for a value that does not match its tag, like `!!timestamp abc`
_OF_CONSTRUCTORS = (ValueError, ArithmeticError, LookupError, AttributeError, TypeError, RecursionError)

_BEGIN_EARLIER = ("while scanning a simple key", "while scanning a quoted scalar")
_UNEXPECTED_KEY = (
    "mapping values are not allowed here",
    "expected <block end>, but found '<block mapping start>'",
)
_NO_COLON = "could not find expected ':'"
_NO_KEY = re.compile(r"(?! *- |---|%)(?:[^:]|:(?! |$))+")


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A parsed YAML file.

    Attributes:
        name: the file name, for messages.
        values: plain values; an empty file is an empty mapping.
        lines: 1-based line of every key and list entry.
    """

    name: str
    values: dict[str, object]
    lines: dict[KeyPath, int]

    def line(self, path: KeyPath) -> int:
        """Returns the line of the value, or of the nearest enclosing one that the file contains."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def at(self, path: KeyPath) -> object:
        """Returns the value at a path that the document has."""
        value: object = self.values
        for part in path:
            value = value[part]  # type: ignore[index]  # a mapping or a list, as the parts say
        return value

    def renamed(self, path: KeyPath, key: str | None) -> "YamlDocument":
        """Returns the document with another key at the end of this path, or without it if the key is None."""
        lines = {old: line for old, line in self.lines.items() if old[: len(path)] != path}
        if key is not None:
            moved = self.lines.keys() - lines.keys()
            lines |= {(*path[:-1], key, *old[len(path) :]): self.lines[old] for old in moved}
        copy = YamlDocument(self.name, deepcopy(self.values), lines)
        section = copy.at(path[:-1])
        if not isinstance(section, dict):
            raise TypeError(f"{path} is no key")
        for old_key in [one for one in section if str(one) == path[-1]]:
            value = section.pop(old_key)
            if key is not None:
                section[key] = value
        return copy


def parse_yaml(text: str, name: str) -> YamlDocument:
    """Parses one YAML mapping.

    Raises:
        UsageError: not YAML, a tag that is not plain data, a duplicate key, or not a mapping; with file and line.
    """
    try:
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return YamlDocument(name, {}, {})
            if not isinstance(node, MappingNode):
                kind = "list" if isinstance(node, SequenceNode) else "single value"
                raise UsageError(f"{name}, line 1: expected `key: value` lines, found a {kind}")
            lines = dict(_walk(node, (), name))
            values = loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise UsageError(_invalid(error, text, name)) from None
    except (yaml.YAMLError, *_OF_CONSTRUCTORS) as error:
        raise UsageError(f"{name}: not valid YAML: {error}") from None
    return YamlDocument(name, values, lines)


def _invalid(error: yaml.MarkedYAMLError, text: str, name: str) -> str:
    """Returns what is wrong, with the line that a person has to change; PyYAML often stops only behind it."""
    mark, words = error.problem_mark or error.context_mark, error.problem or error.context
    line = None if mark is None else mark.line
    if error.context in _BEGIN_EARLIER and error.context_mark is not None:
        line = error.context_mark.line
    rows = text.splitlines()
    if line is not None and error.problem in _UNEXPECTED_KEY and line < len(rows):
        above = next((number for number in reversed(range(line)) if rows[number].strip(" ")[:1] not in ("", "#")), line)
        # maybe the line above was meant as a key
        if above < line and _NO_KEY.fullmatch(rows[above]) and _indentation(rows[above]) <= _indentation(rows[line]):
            line, words = above, _NO_COLON
    where = "" if line is None else f", line {line + 1}"
    hint = "; expected `key: value`" if words == _NO_COLON else ""
    return f"{name}{where}: not valid YAML: {words}{hint}"


def _indentation(row: str) -> int:
    return len(row) - len(row.lstrip(" "))


def _walk(node: Node, path: KeyPath, name: str) -> Iterator[tuple[KeyPath, int]]:
    """Yields every key and list entry with its line; refuses a duplicate key, of which YAML would keep the last."""
    if isinstance(node, MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, ScalarNode):
                raise UsageError(f"{name}, line {line}: a key must be a plain word")
            if key.value in seen:
                dotted = ".".join(map(str, (*path, key.value)))
                raise UsageError(
                    f"{name}, line {line}: key {dotted!r} is given twice (first on line {seen[key.value]})"
                )
            seen[key.value] = line
            yield (*path, key.value), line
            yield from _walk(value, (*path, key.value), name)
    elif isinstance(node, SequenceNode):
        for index, value in enumerate(node.value):
            yield (*path, index), value.start_mark.line + 1
            yield from _walk(value, (*path, index), name)
