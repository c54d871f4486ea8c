"""Plans what clean and purge do with each file, from the list, the second look and the audit."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.cleanup.deletions import FileOutcome
from pipelines.decide.rule.verdict import Verdict
from pipelines.decide.spark.summary import EMPTY_OR_DOTS_OR_CONTROL
from pipelines.hbase.wal_root import OLD_WALS

STRANGER = (
    "no audit row says that walsafe moved it here, so it is not walsafe's to delete; before you remove it, try restore "
    "with its path: clean may have taken it in place of another file"
)
SETTLED = (FileOutcome.MOVED, FileOutcome.ALREADY_GONE)
FILES_AT_ONCE = 200_000
"""The number of files in one piece. The driver holds two pieces at a time, about 300 bytes for each file."""


def listed_paths(lines: DataFrame, wal_root: str) -> DataFrame:
    """Returns the lines of a list with their paths relative to wal_root: `line`, `path`.

    `path` is NULL for a line that is not a path below wal_root.

    Args:
        lines: the lines of the list, in column `line`.
        wal_root: from the configuration; its scheme, authority and path must be those of the list.
    """
    below = F.substr("line", F.lit(len(wal_root) + 2))
    sound = F.col("line").startswith(f"{wal_root}/{OLD_WALS}/") & ~below.rlike(EMPTY_OR_DOTS_OR_CONTROL)
    return lines.select("line", F.when(sound, below).alias("path"))


def lines_not_deletable(paths: DataFrame, listed: DataFrame) -> DataFrame:
    """Returns the lines that are not a file that the run found DELETABLE, or that occur twice, in column `line`."""
    unknown = paths.join(listed.select("path"), "path", "left_anti").select("line")
    twice = paths.groupBy("line").count().filter("count > 1").select("line")
    return unknown.unionAll(twice)


def clean_plan(paths: DataFrame, listed: DataFrame, looked: DataFrame, settled: DataFrame) -> DataFrame:
    """Plans what to do with each file of a list.

    Args:
        paths: the paths of the list, in column `path`.
        listed: `path`, `length`, `modification_time` with which the list was decided.
        looked: the files of the second look: the current values of these columns, with `verdict` and `reason`.
        settled: `path`, `outcome` of the files that earlier attempts have finished.

    Returns:
        `path`, `length`, `modification_time` (ms) of the list; `outcome`: NULL = to be moved, else the outcome of a
        file that is not moved; `why`: the reason as a sentence; `reason`: that of the current verdict.
    """
    done = settled.filter(F.col("outcome").isin([one.value for one in SETTLED])).select("path")
    now = looked.select("path", *(F.col(name).alias(f"now_{name}") for name in looked.columns if name != "path"))
    joined = paths.join(done, "path", "left_anti").join(listed, "path").join(now, "path", "left")
    gone, changed = F.col("now_verdict").isNull(), _differs("length") | _differs("modification_time")
    held = F.col("now_verdict") != Verdict.DELETABLE.value
    return joined.select(
        "path",
        "length",
        F.unix_millis("modification_time").alias("modification_time"),
        F.when(gone, FileOutcome.ALREADY_GONE.value)
        .when(changed, FileOutcome.CHANGED.value)
        .when(held, FileOutcome.REFUSED.value)
        .alias("outcome"),
        F.when(gone, F.lit("the second look did not list it"))
        .when(
            changed,
            F.format_string(
                "it has %d bytes of %s now; the list was decided on %d bytes of %s",
                "now_length",
                F.col("now_modification_time").cast("string"),
                "length",
                F.col("modification_time").cast("string"),
            ),
        )
        .when(held, F.concat(F.lit("the second look holds it: "), F.col("now_reason")))
        .alias("why"),
        F.col("now_reason").alias("reason"),
    )


def purge_plan(looked: DataFrame, outcomes: DataFrame) -> DataFrame:
    """Plans what to do with each file of the quarantine.

    Args:
        looked: the files of the second look: `path`, `length`, `modification_time`, `verdict`, `reason`.
        outcomes: the last audit row that determines where each file is: `path`, `outcome`, `length`,
            `modification_time`.

    Returns:
        The columns of `clean_plan`. NULL in `outcome` means that the file may be deleted: it is the file that clean
        moved, and no queue needs it.
    """
    moved = outcomes.filter(F.col("outcome") == FileOutcome.MOVED.value).select(
        "path", *(F.col(name).alias(f"moved_{name}") for name in ("length", "modification_time"))
    )
    joined = looked.join(moved.withColumn("audited", F.lit(True)), "path", "left")
    stranger = F.col("audited").isNull()
    changed = _differs("length", "moved") | _differs("modification_time", "moved")
    held = ~F.col("verdict").eqNullSafe(Verdict.DELETABLE.value)
    return joined.select(
        "path",
        "length",
        F.unix_millis("modification_time").alias("modification_time"),
        F.when(stranger, FileOutcome.REFUSED.value)
        .when(changed, FileOutcome.CHANGED.value)
        .when(held, FileOutcome.REFUSED.value)
        .alias("outcome"),
        F.when(stranger, F.lit(STRANGER))
        .when(
            changed,
            F.format_string(
                "it has %d bytes of %s now, but walsafe moved a file of %d bytes of %s here: somebody replaced it; "
                "look at it, then move it elsewhere or delete it by hand",
                "length",
                F.col("modification_time").cast("string"),
                "moved_length",
                F.col("moved_modification_time").cast("string"),
            ),
        )
        .when(held, F.concat(F.lit("the second look holds it: "), F.col("reason")))
        .alias("why"),
        "reason",
    )


def _differs(name: str, other: str = "now") -> Column:
    """Returns whether two columns differ; if only one of them is NULL, they differ."""
    return ~F.col(name).eqNullSafe(F.col(f"{other}_{name}"))


def in_pieces(plan: DataFrame, files: int) -> DataFrame:
    """Sorts a plan by path and divides it into partitions that fit into the driver's memory.

    Args:
        plan: a plan from `clean_plan` or `purge_plan`.
        files: the approximate number of files.
    """
    return plan.repartitionByRange(1 + files // FILES_AT_ONCE, "path").sortWithinPartitions("path")
