"""Findings that an operator has acknowledged in the configuration."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """A finding that an operator knows. Until `until` it does not change the exit code, but it stays in the tables.

    Attributes:
        key: the key of the finding.
        reason: the operator's explanation, as text.
        until: ms since the epoch; after this time the finding counts again.
    """

    key: str
    reason: str
    until: int
