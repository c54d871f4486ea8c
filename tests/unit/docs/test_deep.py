"""docs/deep.md: made from reports of pytest, and with every deep test in it."""

import ast
import re
from collections.abc import Iterator

import pytest

from scripts import generate_testing
from scripts.generate_deep import OWN_RECORDS, TARGET, cases_of, page
from tests.labs.places import PROJECT

REPORT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" timestamp="2026-11-23T03:00:00.000000">
<testcase classname="tests.unit.test_a" name="test_b[crash]" time="61.4">
<properties><property name="states" value="979511" /><property name="seed" value="x" /></properties></testcase>
<testcase classname="tests.e2e.test_c" name="test_d" time="2.0"><failure message="m">t</failure></testcase>
<testcase classname="tests.e2e.test_c" name="test_e" time="0.1"><skipped message="m" /></testcase>
</testsuite></testsuites>"""


def test_a_report_becomes_a_page() -> None:
    text = page(cases_of(REPORT))
    assert "\n1 passed, 1 failed, 1 skipped.\n" in text
    assert "| `tests/unit/test_a.py::test_b[crash]` | passed | 2026-11-23 | 61 | states 979,511, seed x |" in text
    assert "| `tests/e2e/test_c.py::test_d` | failed | 2026-11-23 | 2 |  |" in text


def test_a_test_that_was_run_again_stands_as_it_ended_last() -> None:
    again = REPORT.replace('<failure message="m">t</failure>', "")
    assert "\n2 passed, 1 skipped.\n" in page([*cases_of(REPORT), *cases_of(again)])


def test_rows_of_tests_that_did_not_run_stay_while_the_tests_exist() -> None:
    before = page(cases_of(REPORT.replace("11-23", "11-22")))
    odd = before.replace("test_d`", "test_d[a | b`c]`")
    after = page(cases_of(REPORT.replace("test_a", "test_z")), odd, {"tests/e2e/test_c.py::test_d[a | b`c]"})
    assert "\n1 passed, 2 failed, 1 skipped.\n" in after
    assert "| `tests/e2e/test_c.py::test_d[a | b`c]` | failed | 2026-11-22 |" in after
    assert "tests/unit/test_a.py" not in after


def test_tests_with_a_record_of_their_own_have_no_row() -> None:
    for folder in OWN_RECORDS:
        report = REPORT.replace("tests.unit.test_a", f"{folder}test_a".replace("/", "."))
        assert [case.name for case in cases_of(report)] == [
            "tests/e2e/test_c.py::test_d",
            "tests/e2e/test_c.py::test_e",
        ]


def test_what_is_no_report_is_said() -> None:
    with pytest.raises(ValueError, match="not a JUnit report"):
        cases_of("deep tests passed")


def test_no_run_is_said() -> None:
    assert "No run is recorded yet." in page([])


def test_every_deep_test_is_in_the_record_and_passed() -> None:
    """The tests of pages only quote the marker."""
    left_out = (*OWN_RECORDS, "tests/unit/docs/")
    files = {str(file.relative_to(PROJECT)): file for file in (PROJECT / "tests").rglob("test_*.py")}
    marked = {
        (name, test)
        for name, file in files.items()
        if not name.startswith(left_out)
        for test in deep(file.read_text(encoding="utf-8"))
    }
    rows = re.findall(r"^\| `(tests/[^:]+)::(\w+).*?` \| (\w+) \|", TARGET.read_text(encoding="utf-8"), re.MULTILINE)
    assert {file for file, _ in marked} == {file for file, _, _ in rows}
    assert marked <= {row[:2] for row in rows}
    assert {outcome for _, _, outcome in rows} == {"passed"}


def deep(text: str) -> Iterator[str]:
    """The tests of a file with the marker on them or on some variants."""
    tree = ast.parse(text)
    for name, test in generate_testing.tests_of(tree):
        if {"deep", generate_testing.SOME_VARIANTS["deep"]} & {*generate_testing.sizes_of(tree, test)}:
            yield name
