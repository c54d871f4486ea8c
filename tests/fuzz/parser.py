"""A parser as the fuzzing tests see it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Parser:
    """One parser.

    Attributes:
        read: raises only errors of our own (`OURS` in `test_parsers`).
        samples: what it reads, or nearly.
        is_json: each sample is one JSON document.
    """

    read: Callable[[bytes], object]
    samples: tuple[bytes, ...]
    is_json: bool = False


def of_text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    """A parser of text, which is what Python has decoded already."""
    return lambda raw: read(raw.decode("utf-8", errors="replace"))
