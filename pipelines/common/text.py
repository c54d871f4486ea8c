"""Lays out the text that jobs print: tables with aligned columns, and paragraphs."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

_WIDTH = 120
_COLUMN = re.compile(r"\{:([<>])(\d*)\}")


def text_table(line: str, rows: Iterable[Sequence[str | int]]) -> Iterator[str]:
    """Yields the lines of a table with aligned columns.

    Args:
        line: the format of every line, such as `  {:<16} {:>6}`; a column without a width is as wide as its widest
            cell.
        rows: the cells, with the heading first if there is one; numbers get separators of thousands.
    """
    cells = [[f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in rows]
    if not cells:
        return
    widest = iter([max(map(len, column)) for column in zip(*cells, strict=True)])

    def sized(column: re.Match[str]) -> str:
        width = next(widest)
        return f"{{:{column[1]}{column[2] or width}}}"

    sized_line = _COLUMN.sub(sized, line)
    yield from (sized_line.format(*row).rstrip() for row in cells)


def wrapped(text: str, indent: str, width: int = _WIDTH, lines: int | None = None) -> str:
    """Returns the text in lines of at most `width` characters; those after the first are indented three more.

    Args:
        text: the text.
        indent: the spaces before the first line.
        width: the most characters of a line.
        lines: the most lines, of which the last then ends in ` …`; None = any number.
    """
    return textwrap.fill(
        text, width, initial_indent=indent, subsequent_indent=f"{indent}   ", max_lines=lines, placeholder=" …",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def closest(word: str, known: Iterable[str]) -> str | None:
    """Returns the known word that a person may have meant; None if none is close."""
    return next(iter(get_close_matches(word, [*known], n=1)), None)


def did_you_mean(word: str, known: Iterable[str], most: int = 1) -> str:
    """Returns `; did you mean X?`, or nothing if no known word is close.

    Args:
        word: as a person wrote it.
        known: the words that there are.
        most: the most words to propose.
    """
    return one_of_these(get_close_matches(word, [*known], n=most))


def one_of_these(words: Sequence[str]) -> str:
    """Returns `; did you mean X, Y or Z?`, or nothing without a word."""
    return f"; did you mean {in_words(words, 'or')}?" if words else ""


def in_words(words: Sequence[str], last: str = "and") -> str:
    """Returns `X, Y and Z`; `last` is the word before the last one."""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
