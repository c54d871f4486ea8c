"""Whether the clean-up of a cluster is paused, as the newest run of reconcile has it: asked by explain and clean-up."""

from collections.abc import Iterable, Mapping, Sequence

from pipelines.common.acknowledgement import Acknowledgement
from pipelines.lake.answers import FindingReader
from pipelines.lake.lake_records import RunRecord
from pipelines.lake.run_summary import DONE
from pipelines.reconcile.pause import Pause, pause_of, unknown_pause


def pause_of_cluster(
    cluster: str, lake: FindingReader, now: int, acknowledged: Sequence[Acknowledgement] = ()
) -> Pause | None:
    """Why the clean-up of a cluster is paused; None = it is not.

    Whatever run a list is of, the newest one answers. One that was refused or failed does not tell what is wrong with
    its cluster, and doubt means no.

    Args:
        cluster: its name.
        lake: where its runs and findings are.
        now: ms since the epoch.
        acknowledged: of the configuration at hand.

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
    """The pauses by cluster, where there are any.

    Args:
        newest: the newest run of each cluster.
        lake: where their findings are.
        now: ms since the epoch.
        acknowledged: of the configuration at hand.
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
