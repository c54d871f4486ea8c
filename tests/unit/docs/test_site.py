"""mkdocs.yml and its hooks: every page is in the navigation, and links written for GitHub work in the site."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.site_links import anchor, for_the_site, lists_apart, outside_files, targets
from tests.labs.places import DOCS, PROJECT

SITE = yaml.safe_load((PROJECT / "mkdocs.yml").read_text(encoding="utf-8"))


def pages_of(nav: list[dict[str, Any]]) -> Iterator[str]:
    for entry in nav:
        (there,) = entry.values()
        if isinstance(there, str):
            yield there
        else:
            yield from pages_of(there)


def test_the_navigation_has_every_page_once_and_no_other() -> None:
    """`mkdocs build --strict` says so too; this needs no mkdocs."""
    listed = list(pages_of(SITE["nav"]))
    there = sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))
    assert sorted(listed) == there, "each page of docs/ stands once in the nav of mkdocs.yml"


def test_the_navigation_begins_with_the_index_and_has_the_five_sections() -> None:
    titles = [title for entry in SITE["nav"] for title in entry]
    assert SITE["nav"][0] == {"What to read": "index.md"}
    assert titles[1:] == ["Tutorial", "How-to", "Reference", "Explanation", "Evidence"]


def test_the_index_or_a_page_that_it_names_leads_to_every_page() -> None:
    def linked(page: str) -> set[str]:
        found = ((DOCS / page).parent / one for one in targets((DOCS / page).read_text(encoding="utf-8")))
        return {str(one.resolve().relative_to(PROJECT)).removeprefix("docs/") for one in found}

    near = linked("index.md")
    far = {other for page in near if (DOCS / page).is_file() and page.endswith(".md") for other in linked(page)}
    assert set(pages_of(SITE["nav"])) - {"index.md"} - near - far == set()


@pytest.mark.parametrize(
    ("page", "text", "there"),
    [
        ("docs/a.md", "[b](b.md#c) [up](../README.md#x)", "[b](b.md#c) [up](project/README.md#x)"),
        ("docs/adr/a.md", "[b](../b.md) [up](../../conf/x.yaml)", "[b](../b.md) [up](../project/conf/x.yaml)"),
        ("README.md", "![p](docs/pictures/p.svg) [c](CONTRIBUTING.md)", "![p](../pictures/p.svg) [c](CONTRIBUTING.md)"),
        (
            "docs/a.md",
            "[here](#x) [web](https://example.org/README.md)",
            "[here](#x) [web](https://example.org/README.md)",
        ),
        ("docs/a.md", "`[b](../c.md)` and\n```\n[b](../c.md)\n```\n", "`[b](../c.md)` and\n```\n[b](../c.md)\n```\n"),
    ],
)
def test_links_are_those_of_the_site(page: str, text: str, there: str) -> None:
    assert for_the_site(page, text) == there


def test_a_list_gets_the_empty_line_that_github_does_not_need() -> None:
    assert (
        lists_apart("Text:\n- one\n  more\n- two\n\nText\n1. one") == "Text:\n\n- one\n  more\n- two\n\nText\n\n1. one"
    )
    untouched = "# Title\n- one\n- two\n\n```\ntext\n- no list\n```\n| a |\n"
    assert lists_apart(untouched) == untouched


def test_files_outside_of_docs_are_found_through_the_pages_that_link_to_them(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("[r](../README.md) [gone](../gone.md) `[no](../no.md)`", encoding="utf-8")
    (tmp_path / "README.md").write_text("[a](docs/a.md) [l](LICENSE)", encoding="utf-8")
    for name in ("LICENSE", "no.md"):
        (tmp_path / name).touch()
    assert outside_files(tmp_path, ["docs/a.md"]) == ["LICENSE", "README.md"]


def test_an_anchor_is_githubs() -> None:
    assert anchor("What is read from `hbase-site.xml`") == "what-is-read-from-hbase-sitexml"
    assert anchor("To HBase 3: the migration — of queues") == "to-hbase-3-the-migration--of-queues"
    assert anchor("CLEANER_NOT_RUNNING") == "cleaner_not_running"


def test_a_strict_build_sees_each_kind_of_fault() -> None:
    """mkdocs counts what it logs as a warning."""
    assert SITE["validation"]["nav"] == {"omitted_files": "warn", "not_found": "warn", "absolute_links": "warn"}
    assert set(SITE["validation"]["links"].values()) == {"warn"}
    step = re.search(r"mkdocs build .*", (PROJECT / ".ci" / "run").read_text(encoding="utf-8"))
    assert step is not None
    assert "--strict" in step[0]
    assert not re.search(r"-q\b|--quiet", step[0])
