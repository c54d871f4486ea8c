"""The HTML page: one file, nothing fetched, names never become markup, and it says what a person came for."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

from pipelines.lake.forecast import Forecast
from pipelines.lake.run_summary import EarlierNights, FindingRow, NightTotal, PinnedRow, RunSummary, VerdictTotal
from pipelines.reconcile.charts import OTHERS, SERIES, Curves
from pipelines.reconcile.report import DETAILED, by_urgency, report_html

DAY = 86_400_000
NOW = 1_795_224_000_000
GIB = 1 << 30
EVIL = '<script>alert("x")</script>&$x$'
ONE = RunSummary(
    cluster="prod-a",
    run_id="night-3",
    status="DONE",
    mode="NIGHTLY",
    exit_code=0,
    reason=None,
    files_started_ms=NOW,
    totals=(
        VerdictTotal("DELETABLE", "REPLICATED", "DELETE", 1200, 30 * GIB),
        VerdictTotal("HELD", "PENDING", "KEEP", 800, 70 * GIB),
    ),
    pinned=(
        PinnedRow("peer", "2", "DISABLED", None, None, None, 800, 70 * GIB, 0, 0, 790, 69 * GIB, 1, DAY, "enable it"),
    ),
    findings=(FindingRow("K", "POISON_FILE", "error", "d", None, None, EVIL, "{}", f"move {EVIL}", 1, 2, NOW),),
    list_uri="file:/lists/prod-a/night-3",
    lake_uri="file:/lake",
    history=EarlierNights(
        by_reason=tuple(NightTotal(NOW - n * DAY, "HELD PENDING", 5, n * GIB) for n in (2, 1)),
        by_peer=tuple(NightTotal(NOW - n * DAY, EVIL, 5, n * GIB) for n in (2, 1)),
        nights=(NOW - 2 * DAY, NOW - DAY),
    ),
)  # fmt: skip


class Page(HTMLParser):
    """Collects what a browser would see."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.ids: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id" and value]

    def handle_data(self, data: str) -> None:
        self.words += data


def test_names_from_the_cluster_never_become_markup() -> None:
    page = Page(report_html([ONE], {}))
    assert page.tags.count("script") == 1, "only our own"
    assert EVIL in page.words


def test_the_command_is_the_one_that_was_started() -> None:
    asks = f"explain --lake file:/lake --cluster {ONE.cluster}"
    for program in ("walsafe", "./spark-submit.sh"):
        words = Page(report_html([ONE], {}, program=program)).words
        assert words.count(asks) == words.count(f"{program} {asks}") == 1


def test_nothing_is_fetched_and_links_lead_to_pages_beside_it() -> None:
    page = Page(report_html([ONE], {}))
    loads = {"src", "action", "onclick", "onload", "data", "poster"}
    assert not {name for name, _ in page.attributes} & loads
    hrefs = [value for name, value in page.attributes if name in {"href", "xlink:href"}]
    assert all(value and value.startswith(("#", "../index.html", "../findings.html#")) for value in hrefs), hrefs
    assert "../findings.html#poison_file" in hrefs
    assert not {"link", "iframe", "object", "img"} & set(page.tags)
    assert "@import" not in report_html([ONE], {})
    assert not re.search(r"url\((?!#)", report_html([ONE], {}))


@pytest.mark.promise("report-says-holders-and-remedies")
def test_it_says_what_a_person_came_for() -> None:
    words = " ".join(Page(report_html([ONE], {})).words.split())
    assert "30.0 GiB of 100.0 GiB under oldWALs may be deleted" in words
    assert "Peer 2 holds 70.0 GiB of the rest; to free 69.0 GiB: enable it." in words
    shared = replace(ONE.pinned[0], freed_files=0, freed_bytes=0)
    words = " ".join(Page(report_html([replace(ONE, pinned=(shared,))], {})).words.split())
    assert "Peer 2 holds 70.0 GiB of the rest; no file is held by this peer alone." in words
    assert "file:/lists/prod-a/night-3" in words
    assert "explain --lake file:/lake --cluster prod-a --peer 2" in words


def test_a_paused_clean_up_is_said_before_any_size() -> None:
    rewound = FindingRow(
        "QUEUE_TABLE_REWOUND:1", "QUEUE_TABLE_REWOUND", "error", "1", "1", None, f"Back at {EVIL}.", "{}", "Compare.",
        None, None, NOW,
    )  # fmt: skip
    paused = replace(ONE, findings=(rewound, *ONE.findings))
    words = " ".join(Page(report_html([paused], {})).words.split())
    said = "Clean-up is paused: QUEUE_TABLE_REWOUND in run night-3"
    told = f"QUEUE_TABLE_REWOUND since 2026-11-21 01:20 UTC: Back at {EVIL}."
    headline = words.index("30.0 GiB of 100.0 GiB under oldWALs are delete-safe, but clean and purge touch no file")
    assert 0 < words.index(said) < words.index(told) < words.index("What to do: Compare.") < headline
    assert "may be deleted" not in words
    assert 0 < words.index('key "QUEUE_TABLE_REWOUND:1"') < words.index("GiB")
    fleet = " ".join(Page(report_html([ONE, *(replace(paused, cluster=f"p{n}") for n in range(7))], {})).words.split())
    assert 0 < fleet.index("Clean-up is paused in p0, p1, p2, p3, p4 and 2 more. ") < fleet.index("GiB")
    assert fleet.count("clean-up paused") == 7
    assert "30.0 GiB of 800.0 GiB under oldWALs may be deleted. 210.0 GiB more are delete-safe where" in fleet
    known = replace(rewound, acknowledged=True, acknowledged_until=NOW)
    assert "paused" not in Page(report_html([replace(paused, findings=(known,))], {})).words
    refused = replace(ONE, status="REFUSED", reason="order", totals=(), pinned=(), findings=())
    assert "paused" not in Page(report_html([refused], {})).words


def test_a_night_whose_totals_are_gone_is_not_one_without_bytes() -> None:
    """`maintain` has removed the totals of the night before, and what its peers held."""
    kept = {name: rows[:1] for name, rows in (("by_reason", ONE.history.by_reason), ("by_peer", ONE.history.by_peer))}
    text = report_html([replace(ONE, history=replace(ONE.history, **kept))], {})
    assert "The lake no longer has the sizes of that night." in text
    assert "Sizes that changed" not in text
    assert text.count("<desc>2 nights; the last one: ") == 2, "both curves leave the night out"


def test_charts_are_sound_svg_with_words_for_screen_readers() -> None:
    charts = re.findall(r"<svg.*?</svg>", report_html([ONE], {}), re.DOTALL)
    assert len(charts) == 3
    for chart in charts:
        tree = ET.fromstring(chart)  # noqa: S314 - our own page
        assert tree.get("role") == "img"
        title, description = tree[0], tree[1]
        assert title.text
        assert title.text.startswith("prod-a: bytes")
        assert description.text
        assert "GiB" in description.text


def test_the_same_run_gives_the_same_page_and_ids_are_unique() -> None:
    fleet = [ONE, replace(ONE, cluster="prod-b")]
    assert report_html(fleet, {}) == report_html(fleet, {})
    ids = Page(report_html(fleet, {})).ids
    assert len(ids) == len(set(ids))


def test_refused_cluster_shows_the_reason_and_comes_first() -> None:
    refused = replace(
        ONE, cluster="prod-z", status="REFUSED", exit_code=3, reason=f"order {EVIL}", list_uri=None, totals=(),
        findings=(), pinned=(),
    )  # fmt: skip
    words = " ".join(Page(report_html([ONE, refused], {})).words.split())
    assert f"Refused. order {EVIL}" in words
    assert "1 cluster refused" in words
    assert "none was written" in words
    assert words.count("not looked for") == 3, "who holds most, errors, and findings"
    assert "nobody" not in words
    assert "Findings: 0" not in words
    cells = re.findall(r'<td[^>]*data-label="Errors open"[^>]*>', report_html([ONE, refused], {}))
    assert ['data-sort=""' in cell for cell in cells] == [True, False], "a word is no number to sort by"
    assert [one.cluster for one in by_urgency([ONE, refused])] == ["prod-z", "prod-a"]


@pytest.mark.parametrize(
    "one",
    [
        replace(ONE, totals=(), pinned=(), findings=(), history=EarlierNights(), lake_uri=None),
        replace(ONE, history=EarlierNights()),
        replace(ONE, totals=(VerdictTotal("HELD", "PENDING", None, 3, 0),), pinned=(), history=EarlierNights()),
        replace(ONE, totals=(VerdictTotal("HELD", "A_REASON_OF_TOMORROW", "KEEP", 3, 5),)),
    ],
)
def test_empty_and_unusual_nights_have_a_page(one: RunSummary) -> None:
    assert "prod-a" in report_html([one], {})


def test_a_big_fleet_stays_one_small_page() -> None:
    fleet = [replace(ONE, cluster=f"c{number:04}", history=EarlierNights()) for number in range(500)]
    text = report_html(fleet, {})
    assert text.count("<section") == DETAILED
    assert "c0499" in text
    assert len(text) < 2_000_000


def test_small_curves_are_summed_and_none_is_lost() -> None:
    curves = Curves((1, 2), {f"p{number}": (number, number) for number in range(20)})
    biggest = curves.biggest()
    assert len(biggest.bytes_of) == SERIES
    assert OTHERS in biggest.bytes_of
    assert sum(values[-1] for values in biggest.bytes_of.values()) == sum(range(20))


@pytest.mark.parametrize(
    ("status", "mode", "code", "words"),
    [
        ("DONE", "NIGHTLY", 0, "Done exit code 0: no error finding is new"),
        ("DONE", "NIGHTLY", 5, "Done, new error exit code 5: an error finding is new"),
        ("DONE", "REPLAY", 0, "no error finding is new; a replay of an old snapshot, so there is no list"),
        ("REFUSED", "NIGHTLY", 3, "Refused exit code 3: walsafe does not trust the snapshot, so there is no list"),
        ("FAILED", "NIGHTLY", 4, "Failed exit code 4: the run ended early, so there is no result"),
    ],
)
def test_status_and_exit_code_are_said_in_words(status: str, mode: str, code: int, words: str) -> None:
    one = replace(ONE, status=status, mode=mode, exit_code=code)
    assert words in " ".join(Page(report_html([one], {})).words.split())


def test_without_a_list_nothing_may_be_deleted() -> None:
    words = " ".join(Page(report_html([replace(ONE, mode="REPLAY", list_uri=None)], {})).words.split())
    assert "30.0 GiB of 100.0 GiB under oldWALs are delete-safe, but this run wrote no list." in words
    assert "may be deleted" not in words
    fleet = [ONE, replace(ONE, cluster="prod-b", mode="REPLAY", list_uri=None)]
    words = " ".join(Page(report_html(fleet, {})).words.split())
    assert "30.0 GiB of 200.0 GiB under oldWALs may be deleted. 30.0 GiB more are delete-safe, but their runs" in words


@pytest.mark.parametrize(
    ("forecast", "words"),
    [
        (Forecast(5, 0, 1 << 40, 9, 3.5, NOW), "3 d 12 h until 1.0 TiB are full, on 2026-11-21, at the pace of 5 days"),
        (Forecast(5, 0, None, -GIB, refusal="why"), "1.0 GiB a day; no forecast when the disk is full: why"),
        (Forecast(1, 0, None, refusal="too few"), "no forecast when the disk is full: too few"),
    ],
)
def test_the_forecast_or_why_there_is_none(forecast: Forecast, words: str) -> None:
    assert words in " ".join(Page(report_html([ONE], {"prod-a": forecast})).words.split())
