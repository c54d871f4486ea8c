"""Compares the verdicts of a night with those of the cluster's night before: rows of `verdict_changes`.

The rows of few files are compared here. Of many files Spark shuffles 64 bits of each path and two small numbers. Two
paths with the same hash would be counted as one file; that is as rare as in `summary.duplicate_paths`, and harms only
these counts.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.common.spark.few_rows import few
from pipelines.decide.rule.verdict import Reason, Verdict
from pipelines.lake.night_changes import VerdictChange
from pipelines.lake.run_summary import RunKey
from pipelines.reconcile.lake_history import LakeHistory, VerdictOfFile
from pipelines.reconcile.past import PastNight

_REASONS = tuple(reason.value for reason in Reason)
_COLUMNS = ("cluster", "path", "verdict", "reason", "length")
_ROWS_SORTED_AT_ONCE = 200_000
_Answer = tuple[str, str | None]
_Change = tuple[_Answer | None, _Answer | None]
"""The answer before and the answer now; None = there was, or is, no such file."""
_Totals = dict[_Change, tuple[int, int]]
"""Files and bytes."""


def verdict_changes(
    verdicts: DataFrame, files: int, before: Mapping[str, PastNight], lake: LakeHistory
) -> Mapping[str, tuple[VerdictChange, ...]]:
    """Returns the changes since the night before, by cluster; for few files without a Spark job.

    A cluster whose earlier verdicts are no longer in the lake has no changes: nothing is known about them.

    Args:
        verdicts: `cluster`, `path`, `verdict`, `reason`, `length` of this night; other clusters are ignored.
        files: the number of these rows, approximately.
        before: the night before of each cluster that is to be compared.
        lake: has the verdicts of these nights.
    """
    keys = [RunKey.of(cluster, night.run_id, night.files_started) for cluster, night in before.items()]
    if not keys:
        return {}
    mine = verdicts.filter(F.col("cluster").isin(sorted(before)))
    if few(files) and few(sum(night.files for night in before.values())):
        found = _few(mine, lake.verdicts_of_files(keys))
    else:
        found = _many(mine, lake.verdicts(keys), files + sum(night.files for night in before.values()))
    return {
        cluster: tuple(_rows(found.get(cluster, {}), night))
        for cluster, night in before.items()
        if not night.files or any(old is not None for old, _ in found.get(cluster, {}))
    }


def _rows(found: _Totals, night: PastNight) -> Iterator[VerdictChange]:
    for (old, new), (files, size) in sorted(found.items(), key=repr):
        if old != new:
            was, is_now = old or (None, None), new or (None, None)
            yield VerdictChange(night.run_id, was[0], was[1], is_now[0], is_now[1], files, size)


def _few(verdicts: DataFrame, before: Iterable[tuple[str, VerdictOfFile]]) -> Mapping[str, _Totals]:
    old = {(cluster, one.path): one for cluster, one in before}
    found: dict[str, _Totals] = defaultdict(dict)

    def count(cluster: str, change: _Change, length: int | None) -> None:
        files, size = found[cluster].get(change, (0, 0))
        found[cluster][change] = (files + 1, size + (length or 0))

    # not `toArrow`, which starts a job also for rows that are in the driver
    for cluster, path, verdict, reason, length in verdicts.select(*_COLUMNS).collect():
        was = old.pop((cluster, path), None)
        count(cluster, ((was.verdict, was.reason) if was else None, (verdict, reason)), length)
    for (cluster, _), gone in old.items():
        count(cluster, ((gone.verdict, gone.reason), None), gone.length)
    return found


def _many(verdicts: DataFrame, before: DataFrame, rows: int) -> Mapping[str, _Totals]:
    nothing = F.lit(None).cast("int")
    both = _side(verdicts, _number(), nothing).unionAll(_side(before, nothing, _number()))
    # nearly all hashes differ, so they are sorted in small pieces, as in `summary.duplicate_paths`
    pieces = both.repartition(1 + rows // _ROWS_SORTED_AT_ONCE, "hash").sortWithinPartitions("hash")
    files = pieces.groupBy("cluster", "hash").agg(
        F.max("old").alias("old"),
        F.max("new").alias("new"),
        F.coalesce(F.max(F.when(F.col("new").isNotNull(), F.col("length"))), F.max("length")).alias("length"),
    )
    totals = files.groupBy("cluster", "old", "new").agg(
        F.count(F.lit(1)).alias("files"), F.sum("length").alias("bytes")
    )
    found: dict[str, _Totals] = defaultdict(dict)
    for row in totals.collect():
        found[row["cluster"]][_answer(row["old"]), _answer(row["new"])] = (row["files"], row["bytes"] or 0)
    return found


def _side(verdicts: DataFrame, new: Column, old: Column) -> DataFrame:
    hashed = F.xxhash64("path").alias("hash")
    return verdicts.select("cluster", hashed, new.alias("new"), old.alias("old"), "length")


def _number() -> Column:
    """Packs verdict and reason into one number; a reason that this walsafe does not know has no number of its own."""
    reasons = F.array(*(F.lit(reason) for reason in _REASONS))
    deletable = (F.col("verdict") == Verdict.DELETABLE.value).cast("int")
    return (F.array_position(reasons, F.col("reason")) * 2).cast("int") + deletable


def _answer(number: int | None) -> _Answer | None:
    if number is None:
        return None
    verdict = Verdict.DELETABLE if number % 2 else Verdict.HELD
    return verdict.value, _REASONS[number // 2 - 1] if number // 2 else None
