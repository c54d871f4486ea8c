"""Which expressions replace an expression, and which statements are left out."""

import ast
from collections.abc import Iterator

_CHAINED = ("when", "where", "filter", "distinct", "limit", "join", "otherwise")
"""Methods of Spark that give something like what they are called on: the call may be left out."""
_JOINS = {"left": "inner", "left_anti": "left_semi", "inner": "left"}
_SETS = ("sorted", "set", "frozenset")
_QUIET = ("_LOG", "warnings", "tell")


def others(node: ast.expr) -> Iterator[ast.expr]:
    """What could stand in the place of a node."""
    if isinstance(node, ast.Constant):
        yield from other_constants(node)
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


def other_constants(node: ast.Constant) -> Iterator[ast.expr]:
    value = node.value
    if isinstance(value, bool):
        yield constant(not value, node)
    elif isinstance(value, int):
        yield constant(value + 1, node)
        if value > 0:
            yield constant(value - 1, node)
    elif isinstance(value, str) and value in _JOINS:
        yield constant(_JOINS[value], node)
    elif value == "":
        yield constant("x", node)


def constant(value: object, at: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Constant(value), at)  # type: ignore[arg-type]


def is_none(node: ast.expr) -> bool:
    """Whether nothing changes for who asks for truth where it is left out."""
    return isinstance(node, ast.Constant) and (node.value is None or node.value is False)


def may_go(statement: ast.stmt) -> bool:
    """Whether the program still compiles and means something without the statement."""
    if isinstance(statement, ast.Expr):
        if isinstance(statement.value, ast.Constant):
            return False  # a docstring
        return not (isinstance(statement.value, ast.Call) and is_words(statement.value))
    if isinstance(statement, ast.Assign):
        return not isinstance(statement.targets[0], ast.Name | ast.Tuple)
    return isinstance(statement, ast.AugAssign | ast.Raise | ast.Continue | ast.Break | ast.Delete)


def is_words(call: ast.Call) -> bool:
    """Whether a call only says something to people."""
    names = {node.id for node in ast.walk(call.func) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(call.func) if isinstance(node, ast.Attribute)}
    return not names.isdisjoint(_QUIET)
