"""A change of a syntax tree, how it is made for a while, and the smallest piece of source that shows it."""

import ast
from dataclasses import dataclass


@dataclass
class Change:
    """A field of a node with another value."""

    node: ast.AST
    field: str
    value: object
    shown: ast.AST
    line: int


class made:  # noqa: N801 - reads as a statement
    """The tree with a change, until the end of the block."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self._kept = getattr(change.node, change.field)

    def __enter__(self) -> None:
        setattr(self._change.node, self._change.field, self._change.value)

    def __exit__(self, *_: object) -> None:
        setattr(self._change.node, self._change.field, self._kept)


class Only(ast.Pass):
    """Shows one statement of a body, or what stands in its place."""

    def __init__(self, body: list[ast.stmt], index: int, parent: ast.AST, name: str) -> None:
        super().__init__()
        self.pick = lambda: getattr(parent, name)[index]
        self.lineno = body[index].lineno


class Head(ast.Pass):
    """Shows the first line of a compound statement."""

    def __init__(self, statement: ast.stmt) -> None:
        super().__init__()
        self._statement = statement

    def text(self) -> str:
        one = self._statement
        if isinstance(one, ast.If | ast.While):
            return f"{'if' if isinstance(one, ast.If) else 'while'} {text(one.test)}:"
        if isinstance(one, ast.For):
            return f"for {text(one.target)} in {text(one.iter)}:"
        if isinstance(one, ast.Match):
            return f"match {text(one.subject)}:"
        return text(one)


def head(statement: ast.stmt) -> ast.AST:
    return Head(statement)


def text(node: ast.AST) -> str:
    if isinstance(node, Only):
        node = node.pick()
    if isinstance(node, Head):
        return node.text()
    return " ".join(ast.unparse(ast.fix_missing_locations(node)).split())
