"""The answers that docs/split-model.md shows are those of the model."""

import os
from collections.abc import Sequence

import grimp
import pytest

from jobs.cli.registry import JOBS
from tests.labs.documented_commands import blocks
from tests.labs.places import DOCS, PROJECT
from tests.models.split.injections import BY_ROW, MUTANTS
from tests.models.split.report import split_search

PAGE = (DOCS / "split-model.md").read_text(encoding="utf-8")
NETWORK = {"socket", "http", "requests", "hdfs", "happybase", "kazoo"}
"""Not urllib, of which quoting names is used; `urllib.request` is nowhere in the product."""
BLOCKS = blocks(DOCS / "split-model.md", "text")


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches in this process, which knows most of them from the tests of the model."""
    monkeypatch.setattr(os, "cpu_count", lambda: 1)


def said(rows: Sequence[str], design: str) -> tuple[int, str]:
    outcome = split_search(rows, design, 0)
    return outcome.exit_code, outcome.text


@pytest.mark.long
def test_the_failure_table_of_the_page() -> None:
    assert said(list(BY_ROW), "mended") == (0, BLOCKS[0])


def test_the_issue_that_is_found_again_as_the_page_has_it() -> None:
    assert said(["F11"], "shipped") == (3, BLOCKS[1])


def test_the_page_names_every_mutant() -> None:
    for name in MUTANTS:
        assert f"`{name}`" in PAGE
        assert f"mutant {name} " in BLOCKS[2], name


@pytest.mark.promise("split-asks-nobody")
def test_no_job_of_a_split_can_ask_a_server() -> None:
    graph = grimp.build_graph("schemas", "pipelines", "jobs", include_external_packages=True)
    entries = [entry.module for name, entry in JOBS.items() if name.startswith("split-")]
    assert len(entries) > 5
    assert [entry for entry in entries if graph.find_upstream_modules(entry) & NETWORK] == []
    product = (path for folder in ("schemas", "pipelines", "jobs") for path in (PROJECT / folder).rglob("*.py"))
    assert [path.name for path in product if "urllib.request" in path.read_text(encoding="utf-8")] == []
    assert "kazoo" in graph.find_upstream_modules("jobs.capture.wiring"), "the check sees what asks a server"
