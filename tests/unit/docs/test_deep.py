"""docs/deep.md: made from a report of pytest, and with every long search in it."""

import re

import pytest

from scripts.generate_deep import TARGET, cases_of, page
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
    assert "2026-11-23: 1 passed, 1 failed, 1 skipped." in text
    assert "| `tests/unit/test_a.py::test_b[crash]` | passed | 61 | states 979,511, seed x |" in text
    assert "| `tests/e2e/test_c.py::test_d` | failed | 2 |  |" in text


def test_a_test_that_was_run_again_stands_as_it_ended_last() -> None:
    again = REPORT.replace('<failure message="m">t</failure>', "")
    assert "2026-11-23: 2 passed, 1 skipped." in page([*cases_of(REPORT), *cases_of(again)])


def test_rows_of_tests_that_did_not_run_stay_while_the_tests_exist() -> None:
    own = "tests/unit/docs/test_deep.py::test_no_run_is_said"
    before = page(cases_of(REPORT.replace("11-23", "11-22"))).replace("tests/e2e/test_c.py::test_e", own)
    after = page(cases_of(REPORT.replace("test_a", "test_z")), before)
    assert "2026-11-22, 2026-11-23: 1 passed, 1 failed, 2 skipped." in after
    assert f"| `{own}` | skipped |" in after
    assert "tests/unit/test_a.py" not in after, "there is no such file"


def test_what_is_no_report_is_said() -> None:
    with pytest.raises(ValueError, match="not a JUnit report"):
        cases_of("deep tests passed")


def test_no_run_is_said() -> None:
    assert "No run is recorded yet." in page([])


def test_every_file_with_a_long_search_is_in_the_record_and_passed() -> None:
    marked = {
        str(file.relative_to(PROJECT))
        for file in (PROJECT / "tests").rglob("test_*.py")
        if re.search(r"\bpytest\.mark\.deep\b", file.read_text(encoding="utf-8"))
    }
    rows = re.findall(r"^\| `(tests/[^:]+)::.*?` \| (\w+) \|", TARGET.read_text(encoding="utf-8"), re.MULTILINE)
    # the judge and the mutants have records of their own, and the tests of pages only quote the marker
    others = {file for file in marked if not file.startswith(("tests/judge/", "tests/mutation/", "tests/unit/docs/"))}
    assert others == {file for file, _ in rows}
    assert {outcome for _, outcome in rows} == {"passed"}
