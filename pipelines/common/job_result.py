"""The result that a job returns to its caller."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of one job.

    Attributes:
        exit_code: the exit code of the process.
        result: one JSON object, for `--output json` and `--result`.
        text: the same result as text, for `--output text`.
    """

    exit_code: int
    result: Mapping[str, object]
    text: str
