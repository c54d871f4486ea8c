"""Finds out from the newest run of reconcile whether a cluster's clean-up is paused; for explain and clean-up."""

from collections.abc import Iterable, Mapping, Sequence

from pipelines.lake.answers import FindingReader
from pipelines.lake.findings import Acknowledgement
from pipelines.lake.lake_records import RunRecord
from pipelines.lake.run_summary import DONE
from pipelines.reconcile.pause import Pause, pause_of, unknown_pause


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
