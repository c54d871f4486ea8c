"""Findings that an operator knows of and has acknowledged in the configuration."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """A known finding: it stays in the tables and never changes the exit code until `until`.

    Attributes:
        key: the finding's key.
        reason: a person's words.
        until: ms since the epoch; after it the finding counts again.
    """

    key: str
    reason: str
    until: int
