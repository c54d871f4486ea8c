"""Findings that an operator has acknowledged in the configuration."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """A known finding: until `until` it does not change the exit code. It stays in the tables.

    Attributes:
        key: the finding's key.
        reason: the operator's explanation, as text.
        until: ms since the epoch; after it the finding counts again.
    """

    key: str
    reason: str
    until: int
