"""docs/testing.md: every promise of the README and of the pages has a test, and every marker a promise."""

import pytest

from scripts.generate_testing import (
    TARGET,
    Promise,
    Proof,
    faults,
    promises,
    promises_of,
    promises_table,
    proofs,
    proofs_of,
    render,
)

PAGE = """# Title
First. <!-- promise: one -->
```bash
# no heading
```
| a cell <!-- promise: two --> | b |
## Second `part`
Third; <!-- promise: three --> fourth. <!-- promise: four -->
"""
TESTS = """
import pytest
pytestmark = [pytest.mark.realhbase, pytest.mark.deep]
@pytest.mark.parametrize("x", [1])
@pytest.mark.promise("one", "two")
def test_a(x): ...
class TestB:
    @pytest.mark.promise("three")
    def test_c(self): ...
def test_d(): ...
"""


def test_every_promise_has_a_test_and_every_marker_a_promise() -> None:
    made = promises()
    assert len(made) > 100
    found = faults(made, proofs())
    assert found == [], "\n".join(found)


def test_the_page_is_up_to_date() -> None:
    again = "run: .venv/bin/python -m scripts.generate_testing"
    assert TARGET.read_text(encoding="utf-8") == render(promises(), proofs()), again


def test_promises_are_read_with_their_section() -> None:
    assert list(promises_of("README.md", PAGE)) == [
        Promise("one", "README.md", "Title"),
        Promise("two", "README.md", "Title"),
        Promise("three", "README.md", "Second `part`"),
        Promise("four", "README.md", "Second `part`"),
    ]


def test_markers_are_read_with_the_size_of_their_test() -> None:
    assert list(proofs_of("tests/x/test_y.py", TESTS)) == [
        Proof("tests/x/test_y.py::test_a", ("one", "two"), ("deep",)),
        Proof("tests/x/test_y.py::TestB::test_c", ("three",), ("deep",)),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("@pytest.mark.promise(NAME)\ndef test_a(): ...", "takes ids in quotes"),
        ("@pytest.mark.promise()\ndef test_a(): ...", "takes ids in quotes"),
        ("@pytest.mark.promise('one')\ndef helper(): ...", "directly on a test function"),
        ("pytestmark = pytest.mark.promise('one')", "directly on a test function"),
    ],
)
def test_a_marker_that_nobody_can_read_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        list(proofs_of("tests/test_y.py", text))


@pytest.mark.parametrize(
    ("made", "proven", "fault"),
    [
        (["one", "two"], ["one"], "README.md: no test proves two"),
        (["one"], ["one", "gone"], "tests/test_y.py::test_a: no page promises gone"),
        (["one", "one"], ["one"], "README.md: two promises are called one"),
        (["one", "two"], ["two", "one"], None),
    ],
)
def test_what_is_missing_is_named(made: list[str], proven: list[str], fault: str | None) -> None:
    found = faults([Promise(name, "README.md", "") for name in made], [Proof("tests/test_y.py::test_a", tuple(proven))])
    assert found == ([fault] if fault else [])


def test_a_row_leads_to_the_section_and_names_its_tests() -> None:
    made = [
        Promise("one", "README.md", "What is promised, and `what` not"),
        Promise("two", "docs/safety.md", "The list"),
    ]
    proven = [Proof("tests/x/test_y.py::test_a", ("one", "two")), Proof("tests/test_z.py::test_b", ("one",), ("deep",))]
    one, two = promises_table(made, proven).splitlines()[2:]
    assert one == (
        "| one | [README.md: What is promised, and `what` not](../README.md#what-is-promised-and-what-not) "
        "| `x/test_y.py::test_a`<br>`test_z.py::test_b` (deep) |"
    )
    assert two == "| two | [docs/safety.md: The list](safety.md#the-list) | `x/test_y.py::test_a` |"
