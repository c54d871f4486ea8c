"""Pages of runs: which expire, and which files below the folder of the reports stay."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.common.errors import RefusedError
from pipelines.files.hadoop_jvm import HadoopJvm
from pipelines.lake.retention import PAGE, StoredDirectory
from pipelines.maintain.pages import HadoopPages
from pipelines.reconcile.report import report_html
from pipelines.reconcile.report_files import latest_html
from tests.labs.maintained_lake import Place, aged
from tests.labs.report_nights import QUIET
from tests.labs.small_cluster import NOW

DAY = 86_400_000


def add_page(place: Place, name: str, *runs: tuple[str, str, int]) -> Path:
    """Adds the page of these (cluster, run id, age in days)."""
    there = place.lake / "reports" / f"{name}.html"
    there.parent.mkdir(parents=True, exist_ok=True)
    summaries = [
        replace(QUIET, cluster=cluster, run_id=run_id, files_started_ms=NOW - ago * DAY)
        for cluster, run_id, ago in runs
    ]
    there.write_text(report_html(summaries, {}), encoding="utf-8")
    return there


@pytest.mark.long
def test_pages_expire_by_the_night_that_they_show(place: Place) -> None:
    goes = [
        add_page(place, "a/run-200", ("a", "run-200", 200)),
        add_page(place, "fleet/run-150", ("a", "run-150", 150), ("c", "run-9", 150)),
    ]
    stays = [
        add_page(place, "a/run-80", ("a", "run-80", 80)),
        add_page(place, "a/run-95", ("a", "run-95", 95)),  # among the newest nights of the cluster
        add_page(place, "fleet/run-151", ("a", "run-151", 151), ("b", "run-200", 200)),  # the newest night of b
        add_page(place, "fleet/run-0", ("a", "run-200", 200), ("b", "run-0", 0)),
        add_page(place, "a/deeper/run-200", ("a", "run-200", 200)),
        add_page(place, "run-200", ("a", "run-200", 200)),
    ]
    reports = place.lake / "reports"
    for name, text in (
        ("a/latest.html", latest_html("a", "run-200.html")),
        ("a/mine.html", "<title>mine</title>"),
        ("index.html", ""),
        ("a/old.html", '<meta name="generator" content="walsafe 0.0.9"><title>'),
    ):
        (reports / name).write_text(text, encoding="utf-8")
        stays.append(reports / name)
    killed = aged(reports / "a" / "folder", 1).with_name(f".run-1.html.{'0123456789abcdef' * 2}")
    killed.write_text("half")
    link = reports / "linked"
    link.symlink_to(reports / "a")
    quality = [path.with_suffix(".quality.html") for path in (goes[0], stays[0])]
    for path, shown in zip(quality, (goes[0], stays[0]), strict=True):
        path.write_text(shown.read_text(encoding="utf-8"), encoding="utf-8")  # they name their runs, too
    before = place.tree()
    assert [one["kind"] for one in place.maintain(execute=False).result["expired"]] == ["page", "page"]
    assert place.tree() == before
    result = place.maintain().result
    assert {one["uri"] for one in result["expired"]} == {f"file:{path}" for path in goes}
    assert [one["uri"] for one in result["left_alone"]] == [f"file:{reports}/a/old.html"]
    assert not any(path.exists() for path in goes)
    assert [path.exists() for path in quality] == [False, True], "Data Docs go with their page"
    assert all(path.exists() for path in (*stays, link)), [path for path in stays if not path.exists()]
    assert killed.exists(), "a night may be writing it now"
    later = place.maintain(now=NOW + 2000 * DAY).result["expired"]
    assert f"file:{killed}" in {one["uri"] for one in later}


def test_a_page_elsewhere_is_never_removed(place: Place) -> None:
    page = add_page(place, "a/run-200", ("a", "run-200", 200))
    elsewhere = place.root / "elsewhere.html"
    elsewhere.write_text("mine")
    link = place.lake / "reports" / "link"
    link.symlink_to(page.parent)
    folder = HadoopPages(HadoopJvm.of(place.spark), f"file:{place.lake}/reports")
    for path in (elsewhere, place.lake / "reports" / "a" / ".." / ".." / ".." / "elsewhere.html", link / page.name):
        with pytest.raises(RefusedError, match="is not below"):
            folder.remove(StoredDirectory(PAGE, f"file:{path}", 0))
    assert elsewhere.exists()
    assert page.exists()
