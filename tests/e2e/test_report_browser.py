"""The HTML pages in a real Chromium: read, sorted, filtered and searched by keyboard, narrow, dark, printed."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from pipelines.common.instants import utc_day
from pipelines.lake.forecast import days_until_full
from pipelines.lake.lake_records import RunRecord
from pipelines.reconcile.report import report_html
from pipelines.reconcile.report_files import findings_html, latest_html
from pipelines.reconcile.report_index import index_html
from tests.labs.report_nights import BAD, DAY, GIB, NOW, QUIET

pytestmark = pytest.mark.long

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PAPER = 703
"""Width of A4 without its margins, in pixels of CSS."""
PAGES = ("prod-a/bad.html", "prod-a/quiet.html", "fleet/both.html", "index.html", "findings.html")
GROUNDS: dict[Literal["light", "dark"], str] = {"light": "rgb(245, 247, 250)", "dark": "rgb(16, 22, 29)"}
"""The colour of the background in each scheme."""
FINDINGS, QUEUES = "Findings: 71", "Queues that hold files: 60"

CUT = """width => [...document.querySelectorAll("body *")].filter(one => {
  const box = one.getBoundingClientRect();
  return box.width > 0 && !one.closest(".skip, svg") && (box.right > width + 1 || box.left < -1);
}).map(one => one.outerHTML.slice(0, 90))"""

CONTRASTS = """() => {
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r / 255, g / 255, b / 255]
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, place) => sum + v * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = one => {
    for (; one; one = one.parentElement) {
      const [r, g, b, a = 1] = numbers(getComputedStyle(one).backgroundColor);
      if (a === 1) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const one = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !one.getClientRects().length) continue;
    if (one.closest("script, style, title, desc")) continue;
    const style = getComputedStyle(one);
    const [a, b] = [light(numbers(one.closest("svg") ? style.fill : style.color)), light(ground(one))];
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), one.outerHTML.slice(0, 90)]);
  }
  return found.sort((a, b) => a[0] - b[0]);
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("reports")
    run = RunRecord(
        "prod-a", "bad", utc_day(NOW), "DONE", "NIGHTLY", NOW, None, NOW, None, 5, None, bytes=9 * GIB,
        deletable_bytes=GIB,
    )  # fmt: skip
    runs = [
        run,
        *(replace(run, run_id=f"n{ago}", at=NOW - ago * DAY, files_started_at=NOW - ago * DAY) for ago in (1, 2)),
    ]
    other = replace(QUIET, cluster="prod-b")
    texts = {
        "prod-a/bad.html": report_html([BAD], {"prod-a": days_until_full(BAD.history.by_reason, 9000 * GIB)}),
        "prod-a/quiet.html": report_html([QUIET], {}),
        "fleet/both.html": report_html([BAD, other], {}),
        "prod-a/latest.html": latest_html("prod-a", "bad.html"),
        "index.html": index_html(runs, {"prod-a": BAD.findings}, {"prod-a/latest", "prod-a/bad"}, {}, NOW),
        "findings.html": findings_html(),
    }
    for name, text in texts.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def opened(browser: Browser, site: Path, name: str, width: int = 1280, **options: object) -> Page:
    page = browser.new_page(viewport={"width": width, "height": 900}, **options)
    page.set_default_timeout(60_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text))
    page.on("request", lambda request: None if request.url.startswith("file:") else errors.append(request.url))
    page.goto((site / name).as_uri())
    assert errors == [], "nothing is fetched and nothing fails"
    return page


def seen(page: Page, table: str) -> list[str]:
    """The first cell of each row that is shown."""
    rows = page.get_by_role("table", name=table).locator("tbody tr:visible")
    return [text.strip() for text in rows.locator("th").all_inner_texts()]


@pytest.mark.parametrize("name", PAGES)
def test_no_width_scrolls_sideways_or_cuts_a_cell(browser: Browser, site: Path, name: str) -> None:
    page = opened(browser, site, name)
    for width in (1280, 860, 700, 400):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CUT, width) == [], width
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_every_text_can_be_read_in_both_colour_schemes(browser: Browser, site: Path, name: str) -> None:
    page = opened(browser, site, name)
    for scheme, background in GROUNDS.items():
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == background
        contrasts = page.evaluate(CONTRASTS)
        assert len(contrasts) > 10
        assert [one for one in contrasts if one[0] < 4.5] == [], scheme
    page.close()


def test_print_has_every_row_and_cuts_nothing(browser: Browser, site: Path) -> None:
    page = opened(browser, site, "prod-a/bad.html", PAPER, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate(CUT, PAPER) == []
    cut = "[...document.querySelectorAll('th, td')].filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert page.evaluate(cut) == 0
    assert len(seen(page, QUEUES)) == 60
    assert page.get_by_role("searchbox").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    printed = page.pdf(prefer_css_page_size=True)
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") > 2
    page.close()


def test_without_javascript_the_page_is_complete(browser: Browser, site: Path) -> None:
    page = opened(browser, site, "prod-a/bad.html", java_script_enabled=False)
    assert page.locator("tbody tr:visible").count() == page.locator("tbody tr").count() == 71 + 60 + 2 + 4 + 5
    assert page.get_by_role("searchbox").count() == 0
    page.close()


def test_tables_are_sorted_searched_and_filtered_by_keyboard(browser: Browser, site: Path) -> None:
    page = opened(browser, site, "prod-a/bad.html")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    expect(page.get_by_text("Skip to the content")).to_be_in_viewport()
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#content"

    queues = page.get_by_role("table", name=QUEUES)
    status = queues.get_by_role("status")
    assert len(seen(page, QUEUES)) == 15
    expect(status).to_have_text("15 of 60 rows shown")
    page.get_by_role("searchbox", name=f"Search in {QUEUES}").focus()
    page.keyboard.type("rs07")
    assert seen(page, QUEUES) == ["rs07.example.org,16020,1791719536886"]
    expect(status).to_have_text("1 of 60 rows match")
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")

    page.keyboard.press("Tab")
    expect(page.get_by_role("combobox", name=f"Peer in {QUEUES}")).to_be_focused()
    page.keyboard.type("search")
    expect(status).to_have_text("30 of 60 rows match")
    page.keyboard.press("Home")
    page.keyboard.press("Tab")
    more = page.get_by_role("button", name="Show all 60")
    expect(more).to_be_focused()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", "the focus can be seen"
    page.keyboard.press("Space")
    assert len(seen(page, QUEUES)) == 60

    head = queues.get_by_role("columnheader", name="Holds")
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "descending")
    assert seen(page, QUEUES)[0].startswith("rs60")
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert [one[:4] for one in seen(page, QUEUES)[:2]] == ["rs01", "rs02"], "by bytes, not by their words"
    page.close()


def test_findings_are_filtered_by_severity_and_sorted_with_the_empty_last(browser: Browser, site: Path) -> None:
    page = opened(browser, site, "prod-a/bad.html")
    findings = page.get_by_role("table", name=FINDINGS)
    page.get_by_role("combobox", name=f"Severity in {FINDINGS}").select_option(label="error")
    assert len(seen(page, FINDINGS)) == 11
    page.get_by_role("combobox", name=f"State in {FINDINGS}").select_option(label="new")
    (only,) = seen(page, FINDINGS)
    assert only.startswith("QUEUE_TABLE_REWOUND")
    page.get_by_role("combobox", name=f"Severity in {FINDINGS}").select_option(label="Severity: all")
    page.get_by_role("combobox", name=f"State in {FINDINGS}").select_option(label="State: all")
    page.get_by_role("button", name="Show all 71").click()
    for _ in range(2):
        findings.get_by_role("columnheader", name="Bytes").get_by_role("button").click()
        assert seen(page, FINDINGS)[-1].startswith("LEAKED_REP_WAL"), "it has no bytes"
    page.close()


def test_links_lead_on_from_the_index_to_the_page_to_the_finding(browser: Browser, site: Path) -> None:
    page = opened(browser, site, "index.html")
    page.get_by_role("table", name="Clusters: 1").get_by_role("link", name="prod-a").click()
    page.wait_for_url("**/prod-a/bad.html")
    page.get_by_role("row", name="QUEUE_TABLE_REWOUND").get_by_role("link").click()
    page.wait_for_url("**/findings.html#queue_table_rewound")
    expect(page.get_by_role("heading", name="QUEUE_TABLE_REWOUND")).to_be_in_viewport()
    page.get_by_role("link", name="All clusters").click()
    page.wait_for_url("**/index.html")
    page.close()
