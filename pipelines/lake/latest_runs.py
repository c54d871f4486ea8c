"""What `--run-id latest` means: for clean the newest list of a cluster, for restore the run that was cleaned last."""

from pipelines.common.errors import UsageError
from pipelines.lake.answers import FindingReader
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import DONE


def latest_list(cluster: str, lake: FindingReader) -> str:
    """Returns the id of the newest run of reconcile of a cluster, if it wrote a list; never that of an older run.

    Raises:
        UsageError: there is no run, or the newest one wrote no list; the message says what to do.
        UnavailableError: the lake did not answer.
    """
    runs = lake.newest_runs(cluster)
    if not runs:
        raise UsageError(f"--run-id latest: cluster {cluster} has no finished run in this lake")
    newest = runs[0]
    if newest.status == DONE and newest.list_uri is not None:
        return newest.run_id
    listed = next((run.run_id for run in runs if run.status == DONE and run.list_uri is not None), None)
    why = f"was {newest.status} ({newest.reason})" if newest.status != DONE else "was a replay and wrote no list"
    older = f"; the newest run with a list is {listed}: if you mean this one, give --run-id {listed}" if listed else ""
    raise UsageError(
        f"--run-id latest: {newest.run_id}, the newest run of cluster {cluster}, {why}. Capture and reconcile again"
        f"{older}"
    )


def latest_cleaned(cluster: str, lake: LakeReader) -> str:
    """Returns the id of the run whose files clean moved last, or began to move.

    Raises:
        UsageError: no run of the cluster was cleaned.
        UnavailableError: the lake did not answer.
    """
    run_id = lake.last_cleaned(cluster)
    if run_id is None:
        raise UsageError(
            f"--run-id latest: no run of cluster {cluster} was cleaned in this lake; check --cluster and --lake"
        )
    return run_id
