"""Renders `index.html`: every cluster of a lake, its last nights, and where to look first."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pipelines.common.human import human_bytes, human_count, human_duration, human_instant
from pipelines.common.instants import DAY_MS, HOUR_MS
from pipelines.lake.findings import ERROR
from pipelines.lake.lake_records import RunRecord, runs_by_cluster
from pipelines.lake.look_back import LOOK_BACK
from pipelines.lake.run_summary import DONE, FindingRow
from pipelines.reconcile.charts import trend
from pipelines.reconcile.pause import PAUSED, pause_of
from pipelines.reconcile.report_templates import Outcome, outcome, page

NIGHTS = 7
"""Number of nights that the index shows of each cluster; the trend line shows all that the lake was asked for."""
MISSED_MS = 26 * HOUR_MS
"""A cluster without a newer run than this has missed a night."""


@dataclass(frozen=True, slots=True)
class IndexNight:
    """One night of a cluster; `href` is None if there is no page of it."""

    letter: str
    style: str
    told: str
    href: str | None


@dataclass(frozen=True, slots=True)
class IndexCluster:
    """The template's values for one cluster.

    Attributes:
        latest: the link to its newest page; None if there is none.
        look: why a person should look here; empty if nothing calls for it.
        errors: error findings of its newest DONE run that are not acknowledged.
        held: bytes that its newest DONE run holds; also `deletable`.
        nights: oldest first.
    """

    cluster: str
    latest: str | None
    newest: RunRecord
    outcome: Outcome
    look: Sequence[str]
    errors: int
    held: int | None
    deletable: int | None
    trend: Markup
    nights: Sequence[IndexNight]


def index_html(
    runs: Sequence[RunRecord],
    findings: Mapping[str, Sequence[FindingRow]],
    pages: Collection[str],
    of_fleets: Mapping[tuple[str, str], str],
    now: int,
) -> str:
    """Renders the index.

    Args:
        runs: the runs of all clusters, newest first.
        findings: the findings of each cluster's newest DONE run.
        pages: the pages below the folder of the index, as `<folder>/<name>` without `.html`.
        of_fleets: those of them that show several clusters, by each (cluster, run_id) that they show.
        now: ms since the epoch.
    """
    clusters = sorted(
        (
            _cluster(own, findings.get(cluster, ()), pages, of_fleets, now)
            for cluster, own in runs_by_cluster(runs).items()
        ),
        key=lambda one: (not one.look, one.newest.status == DONE, -one.errors, -(one.held or 0), one.cluster),
    )
    return page(
        "index.html",
        title=f"walsafe · {human_count(len(clusters), 'cluster')}",
        clusters=clusters,
        to_look=[one for one in clusters if one.look],
        written=now,
        days=LOOK_BACK.days,
        nights=NIGHTS,
    )


def _cluster(
    runs: Sequence[RunRecord],
    findings: Sequence[FindingRow],
    pages: Collection[str],
    of_fleets: Mapping[tuple[str, str], str],
    now: int,
) -> IndexCluster:
    newest, name = runs[0], runs[0].cluster
    done = next((run for run in runs if run.status == DONE), None)
    errors = [row for row in findings if row.severity == ERROR and not row.acknowledged]
    sizes = [
        (run.night, (run.bytes or 0) - (run.deletable_bytes or 0))
        for run in sorted(runs, key=lambda run: run.night)
        if run.status == DONE and run.bytes is not None
    ]
    latest = f"{name}/latest" in pages
    return IndexCluster(
        cluster=name,
        latest=f"{name}/latest.html" if latest else None,
        newest=newest,
        outcome=outcome(newest),
        look=list(_look(newest, done, findings, errors, now)),
        errors=len(errors),
        held=None if done is None or done.bytes is None else done.bytes - (done.deletable_bytes or 0),
        deletable=None if done is None else done.deletable_bytes,
        trend=trend(sizes, _trend_words(sizes)),
        nights=[_night(run, pages, of_fleets) for run in reversed(runs[:NIGHTS])],
    )


def _look(
    newest: RunRecord,
    done: RunRecord | None,
    findings: Sequence[FindingRow],
    errors: Sequence[FindingRow],
    now: int,
) -> Iterator[str]:
    if newest.status != DONE:
        yield f"{outcome(newest).words}: {newest.reason or 'no reason was recorded'}"
    if now - newest.night > MISSED_MS:
        yield f"No run for {human_duration(now - newest.night)}"
    pause = done and pause_of(done.cluster, done.run_id, findings, done.night)
    if pause:
        yield f"{PAUSED}: {', '.join(dict.fromkeys(row.code for row in pause.findings))}"
    new = sum(row.is_new for row in errors)
    if errors:
        codes = ", ".join(dict.fromkeys(row.code for row in errors))
        yield f"{human_count(len(errors), 'open error')}{f', {new} new' if new else ''}: {codes}"


def _trend_words(sizes: Sequence[tuple[int, int]]) -> str:
    if not sizes:
        return ""
    (first, before), (_, now) = sizes[0], sizes[-1]
    days = max(1, round((sizes[-1][0] - first) / DAY_MS))
    return f"held: {human_bytes(before)} {human_count(days, 'day')} before, {human_bytes(now)} in the last run"


def _night(run: RunRecord, pages: Collection[str], of_fleets: Mapping[tuple[str, str], str]) -> IndexNight:
    told = outcome(run)
    size = "" if run.bytes is None else f", {human_bytes(run.bytes - (run.deletable_bytes or 0))} held"
    own = f"{run.cluster}/{run.run_id}"
    name = own if own in pages else of_fleets.get((run.cluster, run.run_id))
    return IndexNight(
        letter={"ok": "✓", "warn": "!"}.get(told.style, "✕"),
        style=told.style,
        told=f"{human_instant(run.night)}: {told.words}{size}",
        href=None if name is None else f"{name}.html",
    )
