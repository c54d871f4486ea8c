"""Formats findings as text for the jobs that print them."""

import textwrap
from collections.abc import Iterator, Sequence

from pipelines.lake.run_summary import FindingRow

_WIDTH, _INDENT = 120, " " * 13


def finding_lines(findings: Sequence[FindingRow]) -> Iterator[str]:
    """Yields the lines of each finding: an empty line, severity and code, message, remedy."""
    for row in findings:
        yield ""
        known = ", acknowledged" if row.acknowledged else ""
        yield f"  {row.severity:<8} {row.code}{known}"
        yield _wrapped(row.message)
        yield _wrapped(f"-> {row.remedy}")


def _wrapped(text: str) -> str:
    return textwrap.fill(
        text, _WIDTH, initial_indent=_INDENT, subsequent_indent=f"{_INDENT}   ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
