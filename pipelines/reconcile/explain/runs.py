"""Shared by all answers of explain: the run that answers, and the errors for unknown or ambiguous names."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.common.errors import UsageError
from pipelines.common.instants import format_instant
from pipelines.lake.findings import Acknowledgement
from pipelines.lake.lake_records import RunRecord, runs_by_cluster
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import DONE
from pipelines.reconcile.pause import Pause, pauses_after

NIGHTS = 14
"""Number of nights that trends look back."""
SHOWN = 8
"""Number of names that an error lists."""
Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class AnsweringRun:
    """The run that answers for a cluster, a newer run that is not DONE, and the current pause of the clean-up."""

    record: RunRecord
    newer: RunRecord | None
    pause: Pause | None = None

    def json(self) -> Json:
        """Returns the fields that begin every answer."""
        note = None
        if self.record.status != DONE:
            note = f"no run of this cluster is DONE; this one was {self.record.status}: {self.record.reason}"
        elif self.newer is not None:
            note = f"a newer run, {self.newer.run_id}, was {self.newer.status}: {self.newer.reason}"
        return {
            "cluster": self.record.cluster,
            "run_id": self.record.run_id,
            "listed_at": format_instant(self.record.night),
            "note": note,
            "paused": self.pause.document() if self.pause else None,
        }


def deciding_runs(
    cluster: str | None, lake: LakeReader, now: int, acknowledged: Sequence[Acknowledgement] = ()
) -> dict[str, AnsweringRun]:
    """Returns the newest DONE run of each cluster, or its newest run if none is DONE."""
    found = runs_by_cluster(lake.newest_runs(cluster))
    if not found:
        there = sorted({record.cluster for record in lake.newest_runs(None)}) if cluster else []
        known = f"; this lake knows {first_names(there)}" if there else "; let reconcile write a run first"
        raise UsageError(f"no finished run of {f'cluster {cluster}' if cluster else 'any cluster'} in this lake{known}")
    pauses = pauses_after((records[0] for records in found.values()), lake, now, acknowledged)
    runs: dict[str, AnsweringRun] = {}
    for name, records in found.items():
        done = next((record for record in records if record.status == DONE), records[0])
        runs[name] = AnsweringRun(done, records[0] if records[0] is not done else None, pauses.get(name))
    return runs


def one_of(what: str, choices: Sequence[str], unknown: str, *, are_all: bool = True) -> str:
    """Returns the only choice.

    Args:
        what: a person asked for.
        choices: what it may mean.
        unknown: the message if there is no choice.
        are_all: whether no choice but these exists; otherwise the message does not count those that it leaves out.

    Raises:
        UsageError: there is no choice, or there are several.
    """
    if not choices:
        raise UsageError(unknown)
    if len(choices) > 1:
        raise UsageError(
            f"{what} is ambiguous: {first_names(choices, are_all=are_all)}; give --cluster or more of the name"
        )
    return choices[0]


def first_names(names: Sequence[str], *, are_all: bool = True) -> str:
    """Joins the first few names, and says how many more there are, if these are all."""
    rest = f"{len(names) - SHOWN} more" if are_all else "more"
    return ", ".join(names[:SHOWN]) + (f" and {rest}" if len(names) > SHOWN else "")
