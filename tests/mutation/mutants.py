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

_SWAPPED: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE,),
    ast.LtE: (ast.Lt,),
    ast.Gt: (ast.GtE,),
    ast.GtE: (ast.Gt,),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.FloorDiv,),
    ast.FloorDiv: (ast.Mult,),
    ast.Div: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitXor: (ast.BitOr,),
}
_OTHER_FUNCTIONS = {"any": "all", "all": "any", "min": "max", "max": "min"}
_OTHER_METHODS = {
    **_OTHER_FUNCTIONS, "startswith": "endswith", "endswith": "startswith",
    "isNull": "isNotNull", "isNotNull": "isNull", "rpartition": "partition", "partition": "rpartition",
    "isdisjoint": "issubset", "intersection": "union",
}  # fmt: skip
"""A method by its name, and another of the same arguments."""
_CHAINED = ("when", "where", "filter", "distinct", "limit", "join", "otherwise")
"""Methods of Spark that give something like what they are called on: the call may be left out."""
_JOINS = {"left": "inner", "left_anti": "left_semi", "inner": "left"}
_SETS = ("sorted", "set", "frozenset")
_QUIET = ("_LOG", "warnings", "tell")


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


@dataclass
class _Change:
    """A field of a node with another value."""

    node: ast.AST
    field: str
    value: object
    shown: ast.AST
    line: int


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

    def mutants(self) -> list[Mutant]:
        """All of them, in the order of the source."""
        found: list[Mutant] = []
        counts: dict[tuple[Place, str, str], int] = {}
        for place, root, shown in self._places(self._tree.body, ""):
            for change in self._changes(root, shown):
                before = _text(change.shown)
                with _made(change):
                    after = _text(change.shown)
                if before == after:
                    continue
                nth = counts.get((place, before, after), 0)
                counts[place, before, after] = nth + 1
                found.append(Mutant(place, change.line, before, after, nth, self._compiler(change, place, root)))
        return found

    def _compiler(self, change: _Change, place: Place, root: ast.AST) -> Callable[[], CodeType]:
        def compiled() -> CodeType:
            with _made(change):
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
                if isinstance(target, ast.Name) and not _is_enum(self._module, inside):
                    yield Place(inside.removesuffix("."), target.id), node.value, node.value

    def _changes(self, root: ast.AST, shown: ast.AST) -> Iterator[_Change]:
        if isinstance(root, ast.FunctionDef):
            yield from self._of_body(root, "body", root.body)
        else:
            assert isinstance(root, ast.expr)
            yield from self._of_expression(root, shown)
            if isinstance(root, ast.Constant):  # the root itself has no field that holds it
                for value in _other_constants(root):
                    assert isinstance(value, ast.Constant)
                    yield _Change(root, "value", value.value, root, root.lineno)

    def _of_body(self, parent: ast.AST, name: str, body: list[ast.stmt]) -> Iterator[_Change]:
        for index, statement in enumerate(body):
            if _may_go(statement):
                gone = ast.copy_location(ast.Pass(), statement)
                changed = [*body[:index], gone, *body[index + 1 :]]
                yield _Change(parent, name, changed, _Only(body, index, parent, name), statement.lineno)
            yield from self._of_statement(statement)

    def _of_statement(self, statement: ast.stmt) -> Iterator[_Change]:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef) and statement.name in self._words:
            return
        if isinstance(statement, ast.Return) and statement.value is not None and not _is_none(statement.value):
            yield _Change(statement, "value", _constant(None, statement.value), statement, statement.lineno)
        for name, value in ast.iter_fields(statement):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield from self._of_body(statement, name, value)
            elif isinstance(value, list) and value and isinstance(value[0], ast.ExceptHandler | ast.match_case):
                for one in value:
                    yield from self._of_body(one, "body", one.body)
            elif name in {"annotation", "decorator_list", "args", "returns"}:
                continue
            else:
                for expression in value if isinstance(value, list) else [value]:
                    if isinstance(expression, ast.withitem):
                        yield from self._of_expression(expression.context_expr, expression.context_expr)
                    elif isinstance(expression, ast.expr) and not isinstance(statement, ast.Raise):
                        shown = _head(statement) if name in {"test", "iter", "subject"} else statement
                        yield from self._of_field(statement, name, expression, shown)

    def _of_field(self, parent: ast.AST, name: str, node: ast.expr, shown: ast.AST) -> Iterator[_Change]:
        """Changes of an expression in its parent's field, and below it."""
        if isinstance(getattr(parent, name), ast.expr):
            for other in self._others(node):
                yield _Change(parent, name, other, shown, node.lineno)
        if name == "test":
            for truth in (True, False):
                yield _Change(parent, name, _constant(truth, node), shown, node.lineno)
        yield from self._of_expression(node, shown)

    def _of_expression(self, node: ast.expr, shown: ast.AST) -> Iterator[_Change]:
        if isinstance(getattr(node, "ctx", None), ast.Store) and not isinstance(node, ast.Subscript):
            return
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and _is_words(node)):
            return
        yield from self._own_changes(node, shown)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                yield from self._of_field(node, name, value, shown)
            elif isinstance(value, list):
                for index, one in enumerate(value):
                    if isinstance(one, ast.expr):
                        for other in self._others(one):
                            changed = [*value[:index], other, *value[index + 1 :]]
                            yield _Change(node, name, changed, shown, one.lineno)
                        yield from self._of_expression(one, shown)
                    elif isinstance(one, ast.keyword) and one.arg not in {"why", "error"}:
                        yield from self._of_field(one, "value", one.value, shown)
                    elif isinstance(one, ast.comprehension):
                        yield from self._of_comprehension(one, shown)

    def _of_comprehension(self, node: ast.comprehension, shown: ast.AST) -> Iterator[_Change]:
        yield from self._of_field(node, "iter", node.iter, shown)
        for index, condition in enumerate(node.ifs):
            rest = [*node.ifs[:index], *node.ifs[index + 1 :]]
            yield _Change(node, "ifs", rest, shown, condition.lineno)
            yield from self._of_expression(condition, shown)

    def _own_changes(self, node: ast.expr, shown: ast.AST) -> Iterator[_Change]:  # noqa: PLR0912 - a kind of node each
        """Changes of the node's own fields."""
        line = node.lineno
        if isinstance(node, ast.Compare):
            for index, operator in enumerate(node.ops):
                for other in _SWAPPED[type(operator)]:
                    yield _Change(node, "ops", [*node.ops[:index], other(), *node.ops[index + 1 :]], shown, line)
        elif isinstance(node, ast.BoolOp):
            for other in _SWAPPED[type(node.op)]:
                yield _Change(node, "op", other(), shown, line)
            if len(node.values) > 2:
                yield from _each_left_out(node, "values", node.values, shown)
        elif isinstance(node, ast.BinOp):
            for other in _SWAPPED.get(type(node.op), ()):
                yield _Change(node, "op", other(), shown, line)
        elif isinstance(node, ast.Tuple | ast.List | ast.Set) and len(node.elts) > 1:
            yield from _each_left_out(node, "elts", node.elts, shown)
        elif isinstance(node, ast.Call):
            if node.keywords and all(keyword.arg for keyword in node.keywords):
                yield from _each_left_out(node, "keywords", node.keywords, shown)
            if len(node.args) > 1 and not any(isinstance(one, ast.Starred) for one in node.args[:2]):
                swapped = [node.args[1], node.args[0], *node.args[2:]]
                yield _Change(node, "args", swapped, shown, line)
        elif isinstance(node, ast.Attribute) and node.attr in _OTHER_METHODS:
            yield _Change(node, "attr", _OTHER_METHODS[node.attr], shown, line)
        elif isinstance(node, ast.Attribute) and node.attr.isupper():
            for other_member in self._other_members(node):
                yield _Change(node, "attr", other_member, shown, line)
        elif isinstance(node, ast.Name) and node.id in _OTHER_FUNCTIONS:
            yield _Change(node, "id", _OTHER_FUNCTIONS[node.id], shown, line)

    def _other_members(self, node: ast.Attribute) -> Iterator[str]:
        kind = getattr(self._module, node.value.id, None) if isinstance(node.value, ast.Name) else None
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            names = [one.name for one in kind]
            yield names[(names.index(node.attr) + 1) % len(names)]

    def _others(self, node: ast.expr) -> Iterator[ast.expr]:
        """What could stand in the place of a node."""
        if isinstance(node, ast.Constant):
            yield from _other_constants(node)
        elif isinstance(node, ast.BoolOp) and len(node.values) == 2:
            yield from node.values
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert | ast.USub):
            yield node.operand
        elif isinstance(node, ast.IfExp):
            yield node.body
            yield node.orelse
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr | ast.Add | ast.Sub):
            yield node.left
            if not isinstance(node.op, ast.Sub):
                yield node.right
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHAINED:
            below = node.func.value
            if not (isinstance(below, ast.Name) and below.id == "F") and not isinstance(below, ast.Constant):
                yield below
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SETS:
            yield from node.args[:1]


class _Only(ast.Pass):
    """Shows one statement of a body, or what stands in its place."""

    def __init__(self, body: list[ast.stmt], index: int, parent: ast.AST, name: str) -> None:
        super().__init__()
        self.pick = lambda: getattr(parent, name)[index]
        self.lineno = body[index].lineno


class _made:  # noqa: N801 - reads as a statement
    """The tree with a change, until the end of the block."""

    def __init__(self, change: _Change) -> None:
        self._change = change
        self._kept = getattr(change.node, change.field)

    def __enter__(self) -> None:
        setattr(self._change.node, self._change.field, self._change.value)

    def __exit__(self, *_: object) -> None:
        setattr(self._change.node, self._change.field, self._kept)


def _text(node: ast.AST) -> str:
    if isinstance(node, _Only):
        node = node.pick()
    if isinstance(node, _Head):
        return node.text()
    return " ".join(ast.unparse(ast.fix_missing_locations(node)).split())


class _Head(ast.Pass):
    """Shows the first line of a compound statement."""

    def __init__(self, statement: ast.stmt) -> None:
        super().__init__()
        self._statement = statement

    def text(self) -> str:
        one = self._statement
        if isinstance(one, ast.If | ast.While):
            return f"{'if' if isinstance(one, ast.If) else 'while'} {_text(one.test)}:"
        if isinstance(one, ast.For):
            return f"for {_text(one.target)} in {_text(one.iter)}:"
        if isinstance(one, ast.Match):
            return f"match {_text(one.subject)}:"
        return _text(one)


def _head(statement: ast.stmt) -> ast.AST:
    return _Head(statement)


def _each_left_out(node: ast.expr, name: str, values: list[object], shown: ast.AST) -> Iterator[_Change]:  # type: ignore[type-arg]
    for index, one in enumerate(values):
        if getattr(one, "arg", None) not in {"why", "error", "strict"}:
            yield _Change(
                node, name, [*values[:index], *values[index + 1 :]], shown, getattr(one, "lineno", node.lineno)
            )


def _other_constants(node: ast.Constant) -> Iterator[ast.expr]:
    value = node.value
    if isinstance(value, bool):
        yield _constant(not value, node)
    elif isinstance(value, int):
        yield _constant(value + 1, node)
        if value > 0:
            yield _constant(value - 1, node)
    elif isinstance(value, str) and value in _JOINS:
        yield _constant(_JOINS[value], node)
    elif value == "":
        yield _constant("x", node)


def _constant(value: object, at: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Constant(value), at)  # type: ignore[arg-type]


def _is_none(node: ast.expr) -> bool:
    """Whether nothing changes for who asks for truth where it is left out."""
    return isinstance(node, ast.Constant) and (node.value is None or node.value is False)


def _may_go(statement: ast.stmt) -> bool:
    """Whether the program still compiles and means something without the statement."""
    if isinstance(statement, ast.Expr):
        if isinstance(statement.value, ast.Constant):
            return False  # a docstring
        return not (isinstance(statement.value, ast.Call) and _is_words(statement.value))
    if isinstance(statement, ast.Assign):
        return not isinstance(statement.targets[0], ast.Name | ast.Tuple)
    return isinstance(statement, ast.AugAssign | ast.Raise | ast.Continue | ast.Break | ast.Delete)


def _is_words(call: ast.Call) -> bool:
    """Whether a call only says something to people."""
    names = {node.id for node in ast.walk(call.func) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(call.func) if isinstance(node, ast.Attribute)}
    return not names.isdisjoint(_QUIET)


def _is_protocol(node: ast.FunctionDef) -> bool:
    """Whether there is nothing in it but its docstring."""
    return all(isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) for one in node.body)


def _is_enum(module: ModuleType, inside: str) -> bool:
    kind = getattr(module, inside.removesuffix("."), None)
    return isinstance(kind, type) and issubclass(kind, enum.Enum)
