"""All small changes below one node of a module's syntax tree."""

import ast
import enum
from collections.abc import Iterator, Sequence
from types import ModuleType

from tests.mutation.operators import constant, is_none, is_words, may_go, other_constants, others
from tests.mutation.shown import Change, Only, head

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
_NOT_CHANGED = {"why", "error", "nullable"}
"""Arguments that only make words, and `nullable`: without its promise Spark gives the same answers, only slower."""


class Changes:
    """Finds the changes.

    Args:
        module: imported; members of its enumerations stand for each other.
        words: functions that only make words for people: nothing is changed in them.
    """

    def __init__(self, module: ModuleType, words: tuple[str, ...]) -> None:
        self._module = module
        self._words = words

    def below(self, root: ast.AST, shown: ast.AST) -> Iterator[Change]:
        """Changes of a function, or of the value of a default or constant; `shown` is what stands around them."""
        if isinstance(root, ast.FunctionDef):
            yield from self._of_body(root, "body", root.body)
        else:
            assert isinstance(root, ast.expr)
            yield from self._of_expression(root, shown)
            if isinstance(root, ast.Constant):  # the root itself has no field that holds it
                for value in other_constants(root):
                    assert isinstance(value, ast.Constant)
                    yield Change(root, "value", value.value, root, root.lineno)

    def _of_body(self, parent: ast.AST, name: str, body: list[ast.stmt]) -> Iterator[Change]:
        for index, statement in enumerate(body):
            if may_go(statement):
                gone = ast.copy_location(ast.Pass(), statement)
                changed = [*body[:index], gone, *body[index + 1 :]]
                yield Change(parent, name, changed, Only(body, index, parent, name), statement.lineno)
            yield from self._of_statement(statement)

    def _of_statement(self, statement: ast.stmt) -> Iterator[Change]:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef) and statement.name in self._words:
            return
        if isinstance(statement, ast.Return) and statement.value is not None and not is_none(statement.value):
            yield Change(statement, "value", constant(None, statement.value), statement, statement.lineno)
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
                        shown = head(statement) if name in {"test", "iter", "subject"} else statement
                        yield from self._of_field(statement, name, expression, shown)

    def _of_field(self, parent: ast.AST, name: str, node: ast.expr, shown: ast.AST) -> Iterator[Change]:
        """Changes of an expression in its parent's field, and below it."""
        if isinstance(getattr(parent, name), ast.expr):
            for other in others(node):
                yield Change(parent, name, other, shown, node.lineno)
        if name == "test":
            for truth in (True, False):
                yield Change(parent, name, constant(truth, node), shown, node.lineno)
        yield from self._of_expression(node, shown)

    def _of_expression(self, node: ast.expr, shown: ast.AST) -> Iterator[Change]:
        if isinstance(getattr(node, "ctx", None), ast.Store) and not isinstance(node, ast.Subscript):
            return
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and is_words(node)):
            return
        yield from self._own_changes(node, shown)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                yield from self._of_field(node, name, value, shown)
            elif isinstance(value, list):
                for index, one in enumerate(value):
                    if isinstance(one, ast.expr):
                        for other in others(one):
                            changed = [*value[:index], other, *value[index + 1 :]]
                            yield Change(node, name, changed, shown, one.lineno)
                        yield from self._of_expression(one, shown)
                    elif isinstance(one, ast.keyword) and one.arg not in _NOT_CHANGED:
                        yield from self._of_field(one, "value", one.value, shown)
                    elif isinstance(one, ast.comprehension):
                        yield from self._of_comprehension(one, shown)

    def _of_comprehension(self, node: ast.comprehension, shown: ast.AST) -> Iterator[Change]:
        yield from self._of_field(node, "iter", node.iter, shown)
        for index, condition in enumerate(node.ifs):
            rest = [*node.ifs[:index], *node.ifs[index + 1 :]]
            yield Change(node, "ifs", rest, shown, condition.lineno)
            yield from self._of_expression(condition, shown)

    def _own_changes(self, node: ast.expr, shown: ast.AST) -> Iterator[Change]:  # noqa: PLR0912 - a kind of node each
        """Changes of the node's own fields."""
        line = node.lineno
        if isinstance(node, ast.Compare):
            for index, operator in enumerate(node.ops):
                for other in _SWAPPED[type(operator)]:
                    yield Change(node, "ops", [*node.ops[:index], other(), *node.ops[index + 1 :]], shown, line)
        elif isinstance(node, ast.BoolOp):
            for other in _SWAPPED[type(node.op)]:
                yield Change(node, "op", other(), shown, line)
            if len(node.values) > 2:
                yield from _each_left_out(node, "values", node.values, shown)
        elif isinstance(node, ast.BinOp):
            for other in _SWAPPED.get(type(node.op), ()):
                yield Change(node, "op", other(), shown, line)
        elif isinstance(node, ast.Tuple | ast.List | ast.Set) and len(node.elts) > 1:
            yield from _each_left_out(node, "elts", node.elts, shown)
        elif isinstance(node, ast.Call):
            if node.keywords and all(keyword.arg for keyword in node.keywords):
                yield from _each_left_out(node, "keywords", node.keywords, shown)
            if len(node.args) > 1 and not any(isinstance(one, ast.Starred) for one in node.args[:2]):
                swapped = [node.args[1], node.args[0], *node.args[2:]]
                yield Change(node, "args", swapped, shown, line)
        elif isinstance(node, ast.Attribute) and node.attr in _OTHER_METHODS:
            yield Change(node, "attr", _OTHER_METHODS[node.attr], shown, line)
        elif isinstance(node, ast.Attribute) and node.attr.isupper():
            for other_member in self._other_members(node):
                yield Change(node, "attr", other_member, shown, line)
        elif isinstance(node, ast.Name) and node.id in _OTHER_FUNCTIONS:
            yield Change(node, "id", _OTHER_FUNCTIONS[node.id], shown, line)

    def _other_members(self, node: ast.Attribute) -> Iterator[str]:
        kind = getattr(self._module, node.value.id, None) if isinstance(node.value, ast.Name) else None
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            names = [one.name for one in kind]
            yield names[(names.index(node.attr) + 1) % len(names)]


def _each_left_out(node: ast.expr, name: str, values: Sequence[ast.AST], shown: ast.AST) -> Iterator[Change]:
    for index, one in enumerate(values):
        if getattr(one, "arg", None) not in {*_NOT_CHANGED, "strict"}:
            yield Change(
                node, name, [*values[:index], *values[index + 1 :]], shown, getattr(one, "lineno", node.lineno)
            )
