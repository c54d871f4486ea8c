"""The pause of a cluster's clean-up: which findings cause it, since when, and how to end it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipelines.common.human import human_count, human_instant
from pipelines.common.instants import format_instant
from pipelines.lake.findings import Acknowledgement
from pipelines.lake.lake_records import RunRecord
from pipelines.lake.run_summary import DONE, FindingRow, RunKey, RunSummary
from pipelines.reconcile.findings.pause_rules import pauses_clean_up

PAUSED = "Clean-up is paused"
_SHOWN = 3


class FindingReader(Protocol):
    """Reads what is needed to decide whether the clean-up is paused."""

    def newest_runs(self, cluster: str | None) -> tuple[RunRecord, ...]:
        """Returns the terminal runs of the cluster, or of all clusters, newest first."""
        ...

    def findings(self, runs: Collection[RunKey]) -> Mapping[str, tuple[FindingRow, ...]]:
        """Returns rows of `findings` by cluster, in the order of `by_urgency`."""
        ...


@dataclass(frozen=True, slots=True)
class Pause:
    """Why `clean` and `purge` touch no file of a cluster.

    Attributes:
        run_id: the cluster's newest run; None = it has none.
        findings: the findings of that run that are open and not acknowledged.
        unknown: why that run does not tell its findings; None = it does.
    """

    cluster: str
    run_id: str | None
    findings: tuple[FindingRow, ...] = ()
    unknown: str | None = None

    @property
    def headline(self) -> str:
        """The cause of the pause, on one line."""
        if self.unknown is not None:
            return f"{PAUSED}: {self.unknown}"
        first = self.findings[0]
        more = len(self.findings) - 1
        others = f" ({human_count(more, 'more finding')} beside it)" if more else ""
        return f"{PAUSED}: {_dated(first)}: {first.message}{others}"

    def lines(self) -> list[str]:
        """Returns the text output: each finding with its date, its remedy, and how to acknowledge it."""
        if self.unknown is not None:
            return [self.headline]
        codes = ", ".join(dict.fromkeys(row.code for row in self.findings))
        found = [line for row in self.findings[:_SHOWN] for line in _told(row)]
        more = len(self.findings) - _SHOWN
        rest = [f"  … and {human_count(more, 'more finding')} like these, in the table findings"] if more > 0 else []
        return [f"{PAUSED}: {codes} in run {self.run_id}, the newest of cluster {self.cluster}.", *found, *rest]

    @property
    def text(self) -> str:
        """The lines joined to one text."""
        return "\n".join(self.lines())

    def document(self) -> dict[str, object]:
        """Returns the JSON output."""
        return {
            "run_id": self.run_id,
            "unknown": self.unknown,
            "findings": [
                {
                    "key": row.key,
                    "code": row.code,
                    "since": None if row.first_seen is None else format_instant(row.first_seen),
                    "message": row.message,
                    "remedy": row.remedy,
                }
                for row in self.findings
            ],
            "text": self.text,
        }


def pause_of(
    cluster: str, run_id: str, rows: Iterable[FindingRow], now: int, acknowledged: Sequence[Acknowledgement] = ()
) -> Pause | None:
    """Returns the pause that the findings of a run call for, or None.

    Args:
        cluster: name of the cluster.
        run_id: the run.
        rows: the findings of the run.
        now: ms since the epoch; an acknowledgement whose `until` has passed does not count.
        acknowledged: from the current configuration; those recorded by the run count too.
    """
    found = tuple(row for row in rows if pauses_clean_up(row.code) and not is_acknowledged(row, now, acknowledged))
    return Pause(cluster, run_id, found) if found else None


def unknown_pause(cluster: str, run_id: str | None, status: str, reason: str | None) -> Pause:
    """Returns the pause after a run that does not show the cluster's findings."""
    run = f"the newest run of cluster {cluster}, {run_id}," if run_id else f"cluster {cluster}"
    words = f"{run} {status} ({reason})" if reason else f"{run} {status}"
    return Pause(
        cluster, run_id, unknown=f"{words}, so nobody knows which findings are open. Capture and reconcile again."
    )


def pause_of_summary(one: RunSummary) -> Pause | None:
    """Returns the pause that a run which has just ended causes for its cluster, or None; an older run causes none."""
    if not one.is_newest:
        return None
    if one.status != DONE:
        return unknown_pause(one.cluster, one.run_id, f"was {one.status}", one.reason)
    return pause_of(one.cluster, one.run_id, one.findings, one.files_started_ms)


def is_acknowledged(row: FindingRow, now: int, acknowledged: Sequence[Acknowledgement]) -> bool:
    """Returns whether the run or the current configuration acknowledges a finding, and this has not ended by `now`."""
    recorded = row.acknowledged and row.acknowledged_until is not None and now <= row.acknowledged_until
    return recorded or any(one.key == row.key and now <= one.until for one in acknowledged)


def _told(row: FindingRow) -> Iterator[str]:
    yield f"  {_dated(row)}: {row.message}"
    yield f"    What to do: {row.remedy}"
    yield (
        "    Or, if it is safe to continue the clean-up, acknowledge it in the configuration under "
        f'findings.acknowledged: key "{row.key}", a reason, and until (its last day)'
    )


def _dated(row: FindingRow) -> str:
    return row.code if row.first_seen is None else f"{row.code} since {human_instant(row.first_seen)}"


def pause_of_cluster(
    cluster: str, lake: FindingReader, now: int, acknowledged: Sequence[Acknowledgement] = ()
) -> Pause | None:
    """Returns why the clean-up of a cluster is paused, or None.

    The newest run decides, whichever run a list belongs to. If the newest run was refused or failed, the open findings
    are unknown, so the clean-up is paused.

    Args:
        cluster: name of the cluster.
        lake: reads its runs and findings.
        now: ms since the epoch.
        acknowledged: from the current configuration.

    Raises:
        UsageError, UnavailableError: the lake cannot be read.
    """
    runs = lake.newest_runs(cluster)
    if not runs:
        return unknown_pause(cluster, None, "has no finished run in this lake", None)
    return pauses_after(runs[:1], lake, now, acknowledged).get(cluster)


def pauses_after(
    newest: Iterable[RunRecord], lake: FindingReader, now: int, acknowledged: Sequence[Acknowledgement] = ()
) -> Mapping[str, Pause]:
    """Returns the pause of each cluster that has one.

    Args:
        newest: the newest run of each cluster.
        lake: reads their findings.
        now: ms since the epoch.
        acknowledged: from the current configuration.
    """
    runs = list(newest)
    rows = lake.findings([run.key for run in runs if run.status == DONE])
    found = {
        run.cluster: pause_of(run.cluster, run.run_id, rows.get(run.cluster, ()), now, acknowledged)
        if run.status == DONE
        else unknown_pause(run.cluster, run.run_id, f"was {run.status}", run.reason)
        for run in runs
    }
    return {cluster: pause for cluster, pause in found.items() if pause is not None}
