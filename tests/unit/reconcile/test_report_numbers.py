"""Every number on the page of a run is the length or the sum of what the page lists, or says that it lists a part."""

import re
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from pipelines.common.human import human_bytes, human_count
from pipelines.lake.findings import SEVERITIES
from pipelines.lake.run_summary import FindingRow, PinnedRow, RunSummary, VerdictTotal
from pipelines.reconcile.report import FEWEST_ROWS, ROWS, report_html
from tests.labs.report_nights import BAD, QUIET

VOID = {"meta", "br", "input", "link"}


@dataclass
class Row:
    words: list[str] = field(default_factory=list)
    sorts: list[str | None] = field(default_factory=list)


@dataclass
class Table:
    caption: str = ""
    rows: list[Row] = field(default_factory=list)


class Page(HTMLParser):
    """The tables and the tiles of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[Table] = []
        self.tiles: list[str] = []
        self._open: list[str] = []
        self._tile = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self._open.append(tag)
        if tag == "table":
            self.tables.append(Table())
        elif ("class", "tile") in attrs:
            self.tiles.append("")
            self._tile = len(self._open)
        elif "tbody" in self._open and tag == "tr":
            self.tables[-1].rows.append(Row())
        elif "tbody" in self._open and tag in {"td", "th"}:
            self.tables[-1].rows[-1].words.append("")
            self.tables[-1].rows[-1].sorts.append(dict(attrs).get("data-sort"))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass
        if len(self._open) < self._tile:
            self._tile = 0

    def handle_data(self, data: str) -> None:
        if self._tile:
            self.tiles[-1] += data + " "
        elif "caption" in self._open:
            self.tables[-1].caption += data
        elif "tbody" in self._open and {"td", "th"} & set(self._open):
            self.tables[-1].rows[-1].words[-1] += data

    def table(self, name: str) -> Table | None:
        return next((one for one in self.tables if one.caption.startswith(name)), None)


def listed(table: Table | None) -> int:
    """The number that the caption says is listed; it must be the number of rows."""
    if table is None:
        return 0
    found = re.match(
        r"[^:]+: (\d[\d,]*\d|\d)(?:, of which (\d[\d,]*) are shown; the table \w+ has all)?", table.caption
    )
    assert found, table.caption
    every, shown = (int(one.replace(",", "")) if one else None for one in found.groups())
    assert len(table.rows) == (every if shown is None else shown), table.caption
    return every or 0


counts = st.integers(0, 1 << 44)
totals = st.builds(
    VerdictTotal,
    st.sampled_from(["DELETABLE", "HELD"]),
    st.sampled_from(["REPLICATED", "PENDING", "TOO_YOUNG"]),
    st.sampled_from(["KEEP", "DELETE"]),
    st.integers(0, 1 << 30),
    counts,
)
holders = st.builds(
    PinnedRow,
    st.sampled_from(["peer", "queue", "group"]),
    st.sampled_from(["1", "2"]),
    st.just("ENABLED"),
    *[st.just(None)] * 3,
    *[counts] * 6,
)
found = st.builds(
    FindingRow,
    key=st.integers(0, 99).map(str),
    code=st.sampled_from(["BEYOND_EOF", "QUEUE_STALLED", "LEAKED_REP_WAL"]),
    severity=st.sampled_from(SEVERITIES),
    subject=st.just("s"),
    peer_id=st.none(),
    server=st.none(),
    message=st.just("m"),
    evidence=st.just("{}"),
    remedy=st.just("r"),
    files=st.none() | counts,
    bytes=st.none() | counts,
    is_new=st.booleans(),
    acknowledged=st.booleans(),
)
nights = st.builds(
    lambda totals_, pinned, findings: replace(QUIET, totals=totals_, pinned=pinned, findings=findings),
    *(st.lists(rows, max_size=12).map(tuple) for rows in (totals, holders, found)),
)


def check(one: RunSummary) -> None:
    page = Page(report_html([one], {}))
    findings = page.table("Findings:")
    assert listed(findings) == len(one.findings)
    assert listed(page.table("Peers that hold files:")) == len(one.holders("peer"))
    assert listed(page.table("Queues that hold files:")) == len(one.holders("queue"))
    tile = next(tile for tile in page.tiles if " finding" in tile)
    assert tile.split()[0] == f"{len(one.findings):,}"
    for severity, word in (("error", "error"), ("warning", "warning")):
        rows = sum(row.severity == severity for row in one.findings)
        assert (human_count(rows, word) in tile) == (rows > 0)
    parts = re.findall(r"(\d[\d,]*) (?:error|warning|for information)", tile)
    said = sum(int(number.replace(",", "")) for number in parts)
    assert said == len(one.findings), "the parts add up to the whole"
    verdicts = page.table("Verdicts:")
    rows = verdicts.rows if verdicts else []
    for verdict, tile in (("DELETABLE", page.tiles[0]), ("HELD", page.tiles[1])):
        mine = [row.sorts for row in rows if row.words[0] == verdict]
        assert human_bytes(sum(int(sorts[4] or 0) for sorts in mine)) in tile
        assert human_count(sum(int(sorts[3] or 0) for sorts in mine), "file") in tile
    if verdicts:
        size = human_bytes(sum(int(row.sorts[4] or 0) for row in rows))
        files = human_count(sum(int(row.sorts[3] or 0) for row in rows), "file")
        assert verdicts.caption == f"Verdicts: {files}, {size}"


@given(nights)
def test_every_number_is_what_the_page_lists(one: RunSummary) -> None:
    check(one)


def test_a_table_with_more_rows_than_it_shows_says_so() -> None:
    many = replace(
        BAD,
        findings=tuple(replace(BAD.findings[20], key=f"k{number}") for number in range(ROWS + 1)),
        pinned=BAD.pinned * (ROWS // len(BAD.pinned) + 1),
    )
    check(many)
    page = Page(report_html([many], {}))
    assert "2,001, of which 2,000 are shown; the table findings has all" in str(page.table("Findings:"))
    few = replace(QUIET, findings=many.findings[: FEWEST_ROWS + 1])
    fleet = Page(report_html([replace(few, cluster=f"c{number}") for number in range(20)], {}))
    shown = [table for table in fleet.tables if table.caption.startswith("Findings:")]
    assert [len(table.rows) for table in shown] == [FEWEST_ROWS] * 20


def test_changes_list_what_differs_and_nothing_else() -> None:
    page = Page(report_html([BAD], {}))
    table = page.table("Sizes that changed:")
    assert table
    assert listed(table) == len(table.rows)
    for row in table.rows:
        before, now, change = (int(value or 0) for value in row.sorts[1:])
        assert now - before == change != 0
    assert {row.words[0] for row in table.rows} == {
        "HELD PENDING", "HELD REPLICATION_TABLE_WAL", "DELETABLE REPLICATED", "held by peer search",
        "held by peer dr_west",
    }  # fmt: skip
    text = report_html([BAD], {})
    assert "1 new finding:" in text
    assert "1 finding ended:" in text
    assert "<li>POISON_FILE:search/" in text
    again = replace(BAD, findings=tuple(replace(row, is_new=False) for row in BAD.findings))
    assert "1 new finding:" in report_html([again], {}), "another run of this night has found it first"
