"""The index of all clusters: who comes first and why, and links only to pages that are there."""

from dataclasses import replace

from pipelines.common.instants import utc_day
from pipelines.lake.lake_records import RunRecord, newest_by_cluster, newest_done
from pipelines.reconcile.report_files import findings_html, latest_html
from pipelines.reconcile.report_index import index_html
from tests.labs.report_nights import BAD, DAY, GIB, NOW


def run(cluster: str, ago: int, status: str = "DONE", code: int | None = 0, size: int = 10 * GIB) -> RunRecord:
    night = NOW - ago * DAY
    done = status == "DONE"
    return RunRecord(
        cluster, f"{cluster}-{ago}", utc_day(night), status, "NIGHTLY", night + 1000, None if done else "the <order>",
        night, None, code, None, bytes=size if done else None, deletable_bytes=GIB if done else None,
    )  # fmt: skip


RUNS = sorted(
    [
        *(run("calm", ago) for ago in range(12)),
        *(run("loud", ago, code=5 if ago == 0 else 0) for ago in range(3)),
        run("lost", 5),
        run("shut", 0, "REFUSED", 3),
        run("shut", 1),
    ],
    key=lambda one: one.order,
    reverse=True,
)
FLEETS = {("calm", "calm-1"): "fleet/loud-1", ("loud", "loud-1"): "fleet/loud-1"}


def test_clusters_that_need_a_person_come_first_with_the_reason() -> None:
    text = index_html(RUNS, {"loud": BAD.findings}, {"loud/latest", "loud/loud-0"}, FLEETS, NOW + DAY // 24)
    assert "Where to look first: 3 clusters" in text
    table = text[text.index("<tbody>") :]
    places = [table.index(f">{name}<") for name in ("shut", "loud", "lost", "calm")]
    assert places == sorted(places)
    assert "Refused: the &lt;order&gt;" in text
    assert "Clean-up is paused: QUEUE_TABLE_REWOUND" in text
    assert "11 open errors, 1 new: QUEUE_TABLE_REWOUND, MISSING_WAL" in text
    assert "No run for 5 d 1 h" in text
    assert "held: 9.0 GiB 11 days before, 9.0 GiB in the last run" in text
    assert text.count('class="trend"') == 2, "one night is no trend"


def test_it_links_only_to_pages_that_are_there() -> None:
    text = index_html(RUNS, {}, {"loud/latest", "loud/loud-0"}, FLEETS, NOW)
    links = {part.partition('"')[0] for part in text.split('href="')[1:]}
    assert links == {"#content", "findings.html", "loud/latest.html", "loud/loud-0.html", "fleet/loud-1.html"}
    assert text.count('href="fleet/loud-1.html"') == 2, "each cluster of the run leads to its page"


def test_a_lake_in_order_says_so() -> None:
    text = index_html([run("calm", 0)], {}, set(), {}, NOW)
    assert "Every cluster is done, and no error finding is open." in text
    assert "Where to look first" not in text


def test_the_newest_run_of_each_cluster() -> None:
    assert newest_by_cluster(RUNS)["shut"].status == "REFUSED"
    assert newest_done(RUNS)["shut"].run_id == "shut-1"
    ahead = replace(run("calm", -30), at=NOW - DAY)  # a host whose clock was ahead
    later = sorted([*RUNS, ahead], key=lambda one: one.order, reverse=True)
    assert newest_by_cluster(later)["calm"].run_id == "calm-0"


def test_the_small_pages_need_nothing_else() -> None:
    assert '<meta http-equiv="refresh" content="0; url=n1.html">' in latest_html("a", "n1.html")
    assert '<h3 id="queue_stalled">' in findings_html()
