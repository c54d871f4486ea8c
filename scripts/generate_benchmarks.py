"""Writes docs/benchmarks.md, and the costs of a year in docs/maintain.md, from benchmarks/results.

Run: .venv/bin/python -m scripts.generate_benchmarks
"""

from pathlib import Path

from benchmarks.pages import page
from benchmarks.records import newest
from benchmarks.year import year

PROJECT = Path(__file__).resolve().parent.parent

BENCHMARKS, MAINTAIN = PROJECT / "docs" / "benchmarks.md", PROJECT / "docs" / "maintain.md"
BEGIN, END = "<!-- costs: written by scripts/generate_benchmarks.py -->", "<!-- end of costs -->"


def maintain_page(text: str) -> str:
    """Returns docs/maintain.md with the newest costs in the place of the earlier ones.

    Raises:
        ValueError: the page has no place for them.
    """
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"docs/maintain.md has no lines {BEGIN} and {END}")
    run = newest("lake_cost")
    return text if run is None else f"{before}{BEGIN}\n{year(run)}\n{END}{after}"


def main() -> None:
    """Writes both pages."""
    BENCHMARKS.write_text(page(), encoding="utf-8")
    MAINTAIN.write_text(maintain_page(MAINTAIN.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
