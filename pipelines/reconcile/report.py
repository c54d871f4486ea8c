"""Renders one self-contained HTML page for each run, which needs no network (docs/report.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from pipelines.common.human import human_bytes, human_count, human_instant
from pipelines.lake.findings import ERROR, INFO, WARNING
from pipelines.lake.forecast import Forecast
from pipelines.lake.look_back import known_nights
from pipelines.lake.run_summary import DELETABLE, DONE, HELD, FindingRow, NightTotal, PinnedRow, RunSummary, by_reason
from pipelines.reconcile.charts import DELETABLE_COLOUR, OTHERS, PALETTE, Curves, bars, lines, stacked
from pipelines.reconcile.compared_nights import Changes, changes, nights_of_holders
from pipelines.reconcile.pause import PAUSED, Pause, pause_of_summary
from pipelines.reconcile.report_templates import page
from pipelines.reconcile.rows import exit_code

DETAILED = 20
"""Number of clusters that a page shows in full; the other clusters of a fleet are only in its overview."""
ROWS, FEWEST_ROWS = 2000, 100
"""Number of rows of each table in a page of one cluster, and of each of `DETAILED` clusters."""
_NAMED = 5


def report_html(
    summaries: Sequence[RunSummary],
    forecasts: Mapping[str, Forecast],
    data_docs: str | None = None,
    program: str = "walsafe",
) -> str:
    """Renders the page of a run.

    Args:
        summaries: the clusters of the run, at least one.
        forecasts: when the disk is full, by cluster.
        data_docs: where Great Expectations' Data Docs of the run are, relative to the page; None = there are none.
        program: what a person types before the name of a job.
    """
    ordered = by_urgency(summaries)
    one = ordered[0]
    title = f"walsafe · {one.cluster} · {human_instant(one.files_started_ms)}"
    if len(ordered) > 1:
        title = f"walsafe · {len(ordered)} clusters · {human_instant(max(s.files_started_ms for s in ordered))}"
    shown = ordered[:DETAILED]
    rows = max(FEWEST_ROWS, ROWS // len(shown))
    return page(
        "report.html",
        title=title,
        data_docs=data_docs,
        program=program,
        clusters=ordered,
        lead=_fleet_lead(ordered),
        exit_code=exit_code([one.exit_code for one in ordered]),
        paused={one.cluster for one in ordered if _pause(one)},
        pages=[_page(summary, rows, forecasts.get(summary.cluster)) for summary in shown],
    )


def by_urgency(summaries: Sequence[RunSummary]) -> list[RunSummary]:
    """Sorts refused clusters first, then by open errors, then by bytes held."""

    def urgency(one: RunSummary) -> tuple[bool, int, int, str]:
        errors = sum(1 for finding in one.findings if finding.severity == "error" and not finding.acknowledged)
        return one.status == DONE, -errors, -one.total(HELD)[1], one.cluster

    return sorted(summaries, key=urgency)


@dataclass(frozen=True, slots=True)
class _Page:
    """The template's values for one cluster."""

    summary: RunSummary
    pause: Pause | None
    lead: str
    deletable: tuple[int, int]
    held: tuple[int, int]
    peers: Sequence[PinnedRow]
    queues: Sequence[PinnedRow]
    findings: Sequence[FindingRow]
    findings_words: str
    remedies: Mapping[str, str | None]
    all_peers: int
    all_queues: int
    changes: Changes | None
    forecast: Forecast | None
    nights_chart: Markup | None
    peers_chart: Markup | None
    reasons_chart: Markup | None


def _page(one: RunSummary, rows: int, forecast: Forecast | None) -> _Page:
    by_reason = _with_tonight(
        one, one.history.by_reason, [(f"{row.verdict} {row.reason}", row.files, row.bytes) for row in one.totals]
    )
    by_peer = _with_tonight(
        one,
        one.history.by_peer,
        [(f"peer {row.peer_id}", row.files, row.bytes) for row in one.holders("peer")],
        "peer ",
    )
    reasons = _curves((*known_nights(one.history), one.files_started_ms), by_reason).biggest()
    peers = _curves((*nights_of_holders(one.history), one.files_started_ms), by_peer).biggest()
    name = one.cluster
    return _Page(
        summary=replace(one, totals=tuple(sorted(one.totals, key=lambda row: (row.verdict, -row.bytes)))),
        pause=_pause(one),
        lead=_lead(one),
        deletable=one.total(DELETABLE),
        held=one.total(HELD),
        peers=one.holders("peer")[:rows],
        queues=one.holders("queue")[:rows],
        findings=one.findings[:rows],
        findings_words=findings_words(one.findings),
        remedies={row.peer_id: row.remedy for row in one.holders("peer")},
        all_peers=len(one.holders("peer")),
        all_queues=len(one.holders("queue")),
        changes=changes(one),
        forecast=forecast,
        nights_chart=stacked(reasons, f"{name}: bytes under oldWALs by night and reason", _colours(reasons.bytes_of))
        if len(reasons.nights) > 1
        else None,
        peers_chart=lines(peers, f"{name}: bytes held by night and peer") if len(peers.nights) > 1 else None,
        reasons_chart=_tonight(one) if one.total()[1] else None,
    )


def _tonight(one: RunSummary) -> Markup:
    ordered = sorted(by_reason(one.totals).items(), key=lambda item: -item[1][1])
    rows = [
        (f"{verdict.lower()}: {reason}", size, DELETABLE_COLOUR if verdict == DELETABLE else PALETTE[0])
        for (verdict, reason), (_, size) in ordered
    ]
    return bars(rows, f"{one.cluster}: bytes by verdict and reason")


def _pause(one: RunSummary) -> Pause | None:
    """Returns the pause to show; a run that is not DONE shows its reason instead, and no file to clean."""
    return pause_of_summary(one) if one.status == DONE else None


def findings_words(findings: Sequence[FindingRow]) -> str:
    """Returns how many findings of each kind there are: `2 errors, 1 for information; 1 new`."""
    nouns = {ERROR: "error", WARNING: "warning"}
    kinds = [(severity, sum(row.severity == severity for row in findings)) for severity in (ERROR, WARNING)]
    parts = [human_count(number, nouns[severity]) for severity, number in kinds if number]
    told = sum(row.severity == INFO for row in findings)
    parts += [f"{told:,} for information"] if told else []
    new, accepted = sum(row.is_new for row in findings), sum(row.acknowledged for row in findings)
    states = [f"; {new:,} new"] if new else []
    states += [f"; {accepted:,} acknowledged"] if accepted else []
    return f"{', '.join(parts)}{''.join(states)}"


def _lead(one: RunSummary) -> str:
    """Returns the headline of a cluster: how much may be deleted, and the peer that holds most."""
    if one.status != DONE:
        return ""
    (_, deletable), (_, held), peers = one.total(DELETABLE), one.total(HELD), one.holders("peer")
    if not deletable + held:
        return "There is nothing under oldWALs."
    text = f"{human_bytes(deletable)} of {human_bytes(deletable + held)} under oldWALs "
    if _pause(one):
        text += "are delete-safe, but clean and purge touch no file while the clean-up is paused."
    elif one.list_uri is None:
        text += "are delete-safe, but this run wrote no list."
    else:
        text += "may be deleted."
    if peers and peers[0].bytes:
        text += f" Peer {peers[0].peer_id} holds {human_bytes(peers[0].bytes)} of the rest"
        if not peers[0].freed_bytes:
            text += "; no file is held by this peer alone."
        else:
            text += f"; to free {human_bytes(peers[0].freed_bytes)}: {peers[0].remedy}." if peers[0].remedy else "."
    return text


def _fleet_lead(summaries: Sequence[RunSummary]) -> str:
    paused = [one for one in summaries if _pause(one)]
    waiting = sum(one.total(DELETABLE)[1] for one in paused)
    unlisted = sum(one.total(DELETABLE)[1] for one in summaries if one.list_uri is None and one not in paused)
    deletable = sum(one.total(DELETABLE)[1] for one in summaries) - waiting - unlisted
    every = sum(one.total()[1] for one in summaries)
    undone = sum(1 for one in summaries if one.status != DONE)
    refused = f" {human_count(undone, 'cluster')} refused." if undone else ""
    text = f"{human_bytes(deletable)} of {human_bytes(every)} under oldWALs may be deleted.{refused}"
    if unlisted:
        text += f" {human_bytes(unlisted)} more are delete-safe, but their runs wrote no list."
    if not paused:
        return text
    names = _names([one.cluster for one in paused])
    return f"{PAUSED} in {names}. {text} {human_bytes(waiting)} more are delete-safe where the clean-up is paused."


def _names(clusters: Sequence[str]) -> str:
    more = f" and {len(clusters) - _NAMED} more" if len(clusters) > _NAMED else ""
    return ", ".join(clusters[:_NAMED]) + more


def _with_tonight(
    one: RunSummary, before: Sequence[NightTotal], tonight: Sequence[tuple[str, int, int]], prefix: str = ""
) -> list[NightTotal]:
    earlier = [replace(point, group=f"{prefix}{point.group}") for point in before]
    return [*earlier, *(NightTotal(one.files_started_ms, *values) for values in tonight)]


def _curves(nights: Sequence[int], points: Sequence[NightTotal]) -> Curves:
    sums: dict[str, dict[int, int]] = {}
    for point in points:
        of_group = sums.setdefault(point.group, {})
        of_group[point.files_started_ms] = of_group.get(point.files_started_ms, 0) + point.bytes
    return Curves(
        tuple(nights), {group: tuple(values.get(night, 0) for night in nights) for group, values in sums.items()}
    )


def _colours(groups: Mapping[str, object]) -> Mapping[str, str]:
    """Assigns green to DELETABLE groups, and the other colours in turn."""
    held = [group for group in groups if not group.startswith(DELETABLE) and group != OTHERS]
    free = [group for group in groups if group.startswith(DELETABLE)]
    greens = (DELETABLE_COLOUR, "#5CC9A7", "#A5E3CF", "#CFF1E6")
    chosen = {group: PALETTE[place % (len(PALETTE) - 1)] for place, group in enumerate(held)}
    chosen |= {group: greens[min(place, len(greens) - 1)] for place, group in enumerate(free)}
    return chosen | {OTHERS: PALETTE[-1]}
