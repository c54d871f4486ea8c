"""Writes docs/deep.md from reports of `./tests/run --deep`: what was run, with its seeds and counts.

Run: ./tests/run --deep --junitxml=deep.xml && .venv/bin/python scripts/generate_deep.py deep.xml
"""

import argparse
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
TARGET = PROJECT / "docs" / "deep.md"
HEAD = """# The long searches

These tests take too long for the suite. `scripts/generate_deep.py` wrote this page from the report of one run, or of
several runs. If a test ran more than once, the page shows its last result:

```bash
./tests/run --deep --junitxml=deep.xml && .venv/bin/python scripts/generate_deep.py deep.xml
```

The seeds change every day; to repeat the seeds of a run, set `WALSAFE_DEEP_SEED` in the environment. The judge writes
[a separate record](judge.md#the-last-recorded-run), and so do the searches of [the proof](proof.md).
"""


@dataclass(frozen=True, slots=True)
class Case:
    """One test in a report.

    Attributes:
        name: file and function, with parameters.
        seconds: how long it took.
        outcome: ``passed``, ``failed`` or ``skipped``.
        said: values that the test recorded, such as seeds and counts.
        day: the day of the run.
    """

    name: str
    seconds: float
    outcome: str
    said: tuple[tuple[str, str], ...]
    day: str


def cases_of(report: str) -> list[Case]:
    """Parses a report in pytest's JUnit form, and returns its tests.

    Raises:
        ValueError: the text is not such a report.
    """
    try:
        root = ET.fromstring(report)  # noqa: S314 - written by pytest a moment ago
    except ET.ParseError as error:
        raise ValueError(f"not a JUnit report: {error}") from None
    return [
        _case(one, suite.get("timestamp", "")[:10])
        for suite in root.iter("testsuite")
        for one in suite.iter("testcase")
    ]


def _case(one: ET.Element, day: str) -> Case:
    failed = one.find("failure") is not None or one.find("error") is not None
    said = tuple((entry.get("name", ""), entry.get("value", "")) for entry in one.iter("property"))
    return Case(
        f"{one.get('classname', '').replace('.', '/')}.py::{one.get('name')}",
        float(one.get("time", "0")),
        "failed" if failed else "skipped" if one.find("skipped") is not None else "passed",
        said,
        day,
    )


def page(cases: Iterable[Case]) -> str:
    """Returns the text of the whole page."""
    found = sorted({case.name: case for case in cases}.values(), key=lambda case: case.name)
    if not found:
        return f"{HEAD}\nNo run is recorded yet.\n"
    outcomes = [case.outcome for case in found]
    counts = ", ".join(f"{outcomes.count(one)} {one}" for one in ("passed", "failed", "skipped") if one in outcomes)
    rows = [
        f"| `{case.name}` | {case.outcome} | {case.seconds:.0f} | "
        f"{', '.join(f'{name} {_number(value)}' for name, value in case.said)} |"
        for case in found
    ]
    days = ", ".join(sorted({case.day for case in found}))
    return "\n".join(
        [HEAD, f"{days}: {counts}.", "", "| test | outcome | s | seeds and counts |", "|---|---|---:|---|", *rows, ""]
    )


def _number(value: str) -> str:
    return f"{int(value):,}" if value.isdigit() else value


def main() -> None:
    """Reads the reports and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", type=Path, nargs="*", metavar="REPORT")
    reports = parser.parse_args().reports
    try:
        cases = [case for report in reports for case in cases_of(report.read_text(encoding="utf-8"))]
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    TARGET.write_text(page(cases), encoding="utf-8")


if __name__ == "__main__":
    main()
