"""Writes reports of `./tests/run --deep` into docs/deep.md: what was run, with its seeds and counts.

Run: ./tests/run --deep --junitxml=deep.xml; .venv/bin/python -m scripts.generate_deep deep.xml
"""

import argparse
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
TARGET = PROJECT / "docs" / "deep.md"
HEAD = """# The deep tests

These tests take too long for the suite. The command runs them and writes their results into this page:

```bash
./tests/run --deep --junitxml=deep.xml; .venv/bin/python -m scripts.generate_deep deep.xml
```

A run of a few tests changes the rows of these tests only. If a test is removed, the next run removes its row.

The seeds change every day; to repeat the seeds of a run, set `WALSAFE_DEEP_SEED` in the environment. The judge writes
[a separate record](judge.md#the-last-recorded-run), and so do the searches of [the proof](proof.md).
"""
OWN_RECORDS = ("tests/judge/", "tests/mutation/")
"""Their deep tests have records of their own, and no row."""
_ROW = re.compile(r"^\| `(?P<name>.+?)` \| (?P<outcome>passed|failed|skipped) \| [-\d]+ \| \d+ \| .*$", re.MULTILINE)


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
    """Parses a report in pytest's JUnit form, and returns its tests, without those of `OWN_RECORDS`.

    Raises:
        ValueError: the text is not such a report.
    """
    try:
        root = ET.fromstring(report)  # noqa: S314 - written by pytest a moment ago
    except ET.ParseError as error:
        raise ValueError(f"not a JUnit report: {error}") from None
    cases = (
        _case(one, suite.get("timestamp", "")[:10])
        for suite in root.iter("testsuite")
        for one in suite.iter("testcase")
    )
    return [case for case in cases if not case.name.startswith(OWN_RECORDS)]


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


def page(cases: Iterable[Case], before: str = "", known: Collection[str] = ()) -> str:
    """Returns the text of the whole page.

    Args:
        cases: the tests that ran; of several with one name, the last one counts.
        before: the page as it was. Its rows of known tests that did not run stay.
        known: the ids of all deep tests.
    """
    rows = {row["name"]: (row["outcome"], row[0]) for row in _ROW.finditer(before) if row["name"] in known}
    for case in cases:
        said = ", ".join(f"{name} {_number(value)}" for name, value in case.said)
        row = f"| `{case.name}` | {case.outcome} | {case.day} | {case.seconds:.0f} | {said} |"
        rows[case.name] = (case.outcome, row)
    if not rows:
        return f"{HEAD}\nNo run is recorded yet.\n"
    table = ["| test | outcome | day | s | seeds and counts |", "|---|---|---|---:|---|"]
    outcomes = [outcome for outcome, _ in rows.values()]
    counts = ", ".join(f"{outcomes.count(one)} {one}" for one in ("passed", "failed", "skipped") if one in outcomes)
    return "\n".join([HEAD, f"{counts}.", "", *table, *(rows[name][1] for name in sorted(rows)), ""])


def _number(value: str) -> str:
    return f"{int(value):,}" if value.isdigit() else value


def deep_tests() -> set[str]:
    """Returns the ids of all deep tests, as pytest collects them."""
    command = [sys.executable, "-m", "pytest", "--size", "deep", "--collect-only", "-q"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    return {line for line in done.stdout.splitlines() if "::" in line}


def main() -> None:
    """Reads the reports and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", type=Path, nargs="*", metavar="REPORT")
    reports = parser.parse_args().reports
    try:
        cases = [case for report in reports for case in cases_of(report.read_text(encoding="utf-8"))]
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    before = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
    TARGET.write_text(page(cases, before, deep_tests()), encoding="utf-8")


if __name__ == "__main__":
    main()
