"""Renders one self-contained HTML page for each run, without network or script (docs/report.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup
from pyspark.sql import SparkSession

from pipelines.common.human import human_bytes, human_count, human_duration, human_instant
from pipelines.common.version import VERSION
from pipelines.decide.reason_texts import REASON_TEXTS
from pipelines.files.hadoop_text import write_text
from pipelines.lake.run_summary import DELETABLE, DONE, HELD, FindingRow, NightTotal, PinnedRow, RunSummary
from pipelines.reconcile.charts import DELETABLE_COLOUR, OTHERS, PALETTE, Curves, bars, lines, stacked
from pipelines.reconcile.pause import PAUSED, Pause, pause_of_summary

DETAILED = 20
"""Number of clusters that a page shows in full; the other clusters of a fleet are only in its overview."""
_FINDINGS, _QUEUES, _PEERS, _NAMED = 50, 15, 30, 5


def report_html(summaries: Sequence[RunSummary]) -> str:
    """Renders the page of a run.

    Args:
        summaries: the clusters of the run, at least one.
    """
    ordered = by_urgency(summaries)
    one = ordered[0]
    title = f"walsafe · {one.cluster} · {human_instant(one.files_started_ms)}"
    if len(ordered) > 1:
        title = f"walsafe · {len(ordered)} clusters · {human_instant(max(s.files_started_ms for s in ordered))}"
    return _template().render(
        title=title,
        version=VERSION,
        clusters=ordered,
        detailed=DETAILED,
        lead=_fleet_lead(ordered),
        paused={one.cluster for one in ordered if _pause(one)},
        pages=[_page(summary) for summary in ordered[:DETAILED]],
    )


def by_urgency(summaries: Sequence[RunSummary]) -> list[RunSummary]:
    """Sorts refused clusters first, then by open errors, then by bytes held."""

    def urgency(one: RunSummary) -> tuple[bool, int, int, str]:
        errors = sum(1 for finding in one.findings if finding.severity == "error" and not finding.acknowledged)
        return one.status == DONE, -errors, -one.total(HELD)[1], one.cluster

    return sorted(summaries, key=urgency)


class HtmlReports:
    """Writes the pages: `<uri>/<cluster>/<run_id>.html`, or `<uri>/fleet/<run_id>.html` for several clusters."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self._spark = spark
        self._uri = uri.rstrip("/")

    def publish(self, summaries: Sequence[RunSummary]) -> Mapping[str, str]:
        """Writes the page of a run.

        Returns:
            The URI of each cluster's page, by cluster.

        Raises:
            UnavailableError: the file system failed to write it.
        """
        if not summaries:
            return {}
        fleet = len(summaries) > 1
        first = by_urgency(summaries)[0]
        newest = max(summaries, key=lambda one: (one.files_started_ms, one.cluster))
        uri = f"{self._uri}/fleet/{newest.run_id}.html" if fleet else f"{self._uri}/{first.cluster}/{first.run_id}.html"
        write_text(self._spark, uri, report_html(summaries))
        return {one.cluster: f"{uri}#cluster-{one.cluster}" if fleet else uri for one in summaries}


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
    more_findings: int
    open_findings: int
    nights_chart: Markup | None
    peers_chart: Markup | None
    reasons_chart: Markup | None


def _page(one: RunSummary) -> _Page:
    by_reason = _with_tonight(
        one, one.history.by_reason, [(f"{row.verdict} {row.reason}", row.files, row.bytes) for row in one.totals]
    )
    by_peer = _with_tonight(
        one,
        one.history.by_peer,
        [(f"peer {row.peer_id}", row.files, row.bytes) for row in one.holders("peer")],
        "peer ",
    )
    reasons, peers = _curves(by_reason).biggest(), _curves(by_peer).biggest()
    name = one.cluster
    return _Page(
        summary=replace(one, totals=tuple(sorted(one.totals, key=lambda row: (row.verdict, -row.bytes)))),
        pause=_pause(one),
        lead=_lead(one),
        deletable=one.total(DELETABLE),
        held=one.total(HELD),
        peers=one.holders("peer")[:_PEERS],
        queues=one.holders("queue")[:_QUEUES],
        findings=one.findings[:_FINDINGS],
        more_findings=max(0, len(one.findings) - _FINDINGS),
        open_findings=sum(1 for row in one.findings if not row.acknowledged and row.severity != "info"),
        nights_chart=stacked(reasons, f"{name}: bytes under oldWALs by night and reason", _colours(reasons.bytes_of))
        if len(reasons.nights) > 1
        else None,
        peers_chart=lines(peers, f"{name}: bytes held by night and peer") if len(peers.nights) > 1 else None,
        reasons_chart=_tonight(one) if one.total()[1] else None,
    )


def _tonight(one: RunSummary) -> Markup:
    sums: dict[tuple[str, str], int] = {}
    for row in one.totals:
        sums[row.verdict, row.reason] = sums.get((row.verdict, row.reason), 0) + row.bytes
    ordered = sorted(sums.items(), key=lambda item: -item[1])
    rows = [
        (f"{verdict.lower()}: {reason}", size, DELETABLE_COLOUR if verdict == DELETABLE else PALETTE[0])
        for (verdict, reason), size in ordered
    ]
    return bars(rows, f"{one.cluster}: bytes by verdict and reason")


def _pause(one: RunSummary) -> Pause | None:
    """Returns the pause to show; a run that is not DONE shows its reason instead, and no file to clean."""
    return pause_of_summary(one) if one.status == DONE else None


def _lead(one: RunSummary) -> str:
    """Returns the headline of a cluster: how much may be deleted, and the peer that holds most."""
    if one.status != DONE:
        return ""
    (_, deletable), (_, held), peers = one.total(DELETABLE), one.total(HELD), one.holders("peer")
    if not deletable + held:
        return "There is nothing under oldWALs."
    text = f"{human_bytes(deletable)} of {human_bytes(deletable + held)} under oldWALs may be deleted."
    if peers and peers[0].bytes:
        text += f" Peer {peers[0].peer_id} holds {human_bytes(peers[0].bytes)} of the rest"
        text += f"; to free {human_bytes(peers[0].freed_bytes)}: {peers[0].remedy}." if peers[0].remedy else "."
    return text


def _fleet_lead(summaries: Sequence[RunSummary]) -> str:
    deletable = sum(one.total(DELETABLE)[1] for one in summaries)
    every = sum(one.total()[1] for one in summaries)
    undone = sum(1 for one in summaries if one.status != DONE)
    refused = f" {human_count(undone, 'cluster')} refused." if undone else ""
    paused = [one.cluster for one in summaries if _pause(one)]
    first = f"{PAUSED} in {_names(paused)}. " if paused else ""
    return f"{first}{human_bytes(deletable)} of {human_bytes(every)} under oldWALs may be deleted.{refused}"


def _names(clusters: Sequence[str]) -> str:
    more = f" and {len(clusters) - _NAMED} more" if len(clusters) > _NAMED else ""
    return ", ".join(clusters[:_NAMED]) + more


def _with_tonight(
    one: RunSummary, before: Sequence[NightTotal], tonight: Sequence[tuple[str, int, int]], prefix: str = ""
) -> list[NightTotal]:
    earlier = [replace(point, group=f"{prefix}{point.group}") for point in before]
    return [*earlier, *(NightTotal(one.files_started_ms, one.run_id, *values) for values in tonight)]


def _curves(points: Sequence[NightTotal]) -> Curves:
    nights = tuple(sorted({point.files_started_ms for point in points}))
    sums: dict[str, dict[int, int]] = {}
    for point in points:
        of_group = sums.setdefault(point.group, {})
        of_group[point.files_started_ms] = of_group.get(point.files_started_ms, 0) + point.bytes
    return Curves(nights, {group: tuple(values.get(night, 0) for night in nights) for group, values in sums.items()})


def _colours(groups: Mapping[str, object]) -> Mapping[str, str]:
    """Assigns green to DELETABLE groups, and the other colours in turn."""
    held = [group for group in groups if not group.startswith(DELETABLE) and group != OTHERS]
    free = [group for group in groups if group.startswith(DELETABLE)]
    greens = (DELETABLE_COLOUR, "#5CC9A7", "#A5E3CF", "#CFF1E6")
    chosen = {group: PALETTE[place % (len(PALETTE) - 1)] for place, group in enumerate(held)}
    chosen |= {group: greens[min(place, len(greens) - 1)] for place, group in enumerate(free)}
    return chosen | {OTHERS: PALETTE[-1]}


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["bytes"] = human_bytes
    environment.filters["count"] = human_count
    environment.filters["duration"] = human_duration
    environment.filters["instant"] = human_instant
    environment.filters["meaning"] = lambda reason: REASON_TEXTS[reason].why if reason in REASON_TEXTS else ""
    source = files("pipelines.reconcile").joinpath("templates").joinpath("report.html").read_text(encoding="utf-8")
    return environment.from_string(source)
