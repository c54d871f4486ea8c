"""Small changes of a module's source, one at a time: each must make a test fail.

A change is made in the module's syntax tree and compiled from there, so that it can be put in the place of the original
at once: a function by its code, a constant or a default by its value. Words for people are left alone: the text of an
error, f-strings, docstrings.
"""

import ast
import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, ModuleType

from tests.mutation.changes import Changes
from tests.mutation.shown import Change, made, text


@dataclass(frozen=True)
class Place:
    """Where in the running program a change goes.

    Attributes:
        qualname: of the function or method; of the class, for a default of its fields; empty for a constant.
        name: of the constant, parameter or field; empty where the code of a function changes.
    """

    qualname: str
    name: str = ""


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes:
        line: in the module's source.
        before: the smallest piece of source around it that says something.
        after: the same with the change.
        nth: tells changes of one place that read the same.
        code: compiles the module with the change, or the value of a constant or default alone.
    """

    place: Place
    line: int
    before: str
    after: str
    nth: int
    code: Callable[[], CodeType] = field(compare=False, repr=False)

    @property
    def key(self) -> str:
        """The same as long as the function around it is called so and these words stand in it."""
        where = ".".join(part for part in (self.place.qualname, self.place.name) if part)
        return f"{where}: {self.before} -> {self.after}" + (f" #{self.nth + 1}" if self.nth else "")


class Source:
    """A module's source and all its mutants.

    Args:
        module: imported; its file is read.
        words: functions that only make words for people, by qualname: they have no mutants.
    """

    def __init__(self, module: ModuleType, words: tuple[str, ...] = ()) -> None:
        assert module.__file__ is not None
        self._module = module
        self._file = Path(module.__file__)
        self._tree = ast.parse(self._file.read_text())
        self._words = words
        self._changes = Changes(module, words)

    def mutants(self) -> list[Mutant]:
        """All of them, in the order of the source."""
        found: list[Mutant] = []
        counts: dict[tuple[Place, str, str], int] = {}
        for place, root, shown in self._places(self._tree.body, ""):
            for change in self._changes.below(root, shown):
                before = text(change.shown)
                with made(change):
                    after = text(change.shown)
                if before == after:
                    continue
                nth = counts.get((place, before, after), 0)
                counts[place, before, after] = nth + 1
                found.append(Mutant(place, change.line, before, after, nth, self._compiler(change, place, root)))
        return found

    def _compiler(self, change: Change, place: Place, root: ast.AST) -> Callable[[], CodeType]:
        def compiled() -> CodeType:
            with made(change):
                if place.name:
                    assert isinstance(root, ast.expr)
                    return compile(ast.fix_missing_locations(ast.Expression(root)), str(self._file), "eval")
                return compile(ast.fix_missing_locations(self._tree), str(self._file), "exec")

        return compiled

    def _places(self, body: list[ast.stmt], inside: str) -> Iterator[tuple[Place, ast.AST, ast.AST]]:
        """Each function, default and constant: its place, the node to change below, and the node to show."""
        for node in body:
            if isinstance(node, ast.ClassDef):
                yield from self._places(node.body, f"{inside}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                qualname = f"{inside}{node.name}"
                if qualname in self._words or _is_protocol(node):
                    continue
                arguments = node.args
                positional = [*arguments.posonlyargs, *arguments.args]
                named = list(zip(reversed(positional), reversed(arguments.defaults), strict=False))
                named += [
                    (one, default)
                    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
                    if default is not None
                ]
                for argument, default in named:
                    yield Place(qualname, argument.arg), default, default
                yield Place(qualname), node, node
            elif isinstance(node, ast.AnnAssign | ast.Assign) and node.value is not None:
                target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
                if isinstance(target, ast.Name) and not _is_enum(self._module, inside) and not _is_alias(node):
                    yield Place(inside.removesuffix("."), target.id), node.value, node.value


def _is_alias(node: ast.AnnAssign | ast.Assign) -> bool:
    """Whether it only names a type."""
    return isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"


def _is_protocol(node: ast.FunctionDef) -> bool:
    """Whether there is nothing in it but its docstring."""
    return all(isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) for one in node.body)


def _is_enum(module: ModuleType, inside: str) -> bool:
    kind = getattr(module, inside.removesuffix("."), None)
    return isinstance(kind, type) and issubclass(kind, enum.Enum)
