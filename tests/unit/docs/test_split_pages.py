"""The answers that docs/split-simulate.md shows are those of the model."""

import re
from collections.abc import Sequence

from pipelines.pegasus.simulate.batch import Simulated, play
from pipelines.pegasus.simulate.injections import BY_ROW, MUTANTS
from pipelines.pegasus.use_cases.frame import SplitPorts, SplitRun
from pipelines.pegasus.use_cases.split_simulate import split_simulate
from tests.labs.places import DOCS

PAGE = (DOCS / "split-simulate.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


class Here:
    """A `Player` without Spark."""

    def play(self, subjects: Sequence[str], design: str) -> Sequence[Simulated]:
        return [play(subject, design) for subject in subjects]


def said(rows: Sequence[str], design: str) -> tuple[int, str]:
    outcome = split_simulate(rows, design, Here(), SplitRun("split-simulate", "simulated", 0), SplitPorts())
    return outcome.exit_code, outcome.text


def test_the_failure_table_of_the_page() -> None:
    assert said(list(BY_ROW), "mended") == (0, BLOCKS[0])


def test_the_issue_that_is_found_again_as_the_page_has_it() -> None:
    assert said(["F11"], "shipped") == (3, BLOCKS[1])


def test_the_page_names_every_mutant() -> None:
    for name in MUTANTS:
        assert f"`{name}`" in PAGE
        assert f"mutant {name}" in BLOCKS[2]
