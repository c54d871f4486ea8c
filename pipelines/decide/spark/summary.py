"""The one pass over all files, from which every small result is computed."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.common.spark.few_rows import few
from pipelines.decide.rule.totals import BucketTotal
from pipelines.decide.spark.lookup import DecisionFrames
from pipelines.decide.spark.verdicts import EARLY_REASONS, with_answers

# an empty element, `.` or `..`; a control character or line end
EMPTY_OR_DOTS_OR_CONTROL = r"(?:^|/)\.{0,2}(?:/|\z)|[\x00-\x1f\x7f\x{85}\x{2028}\x{2029}]"
GATE_COUNTS = ("bad_paths", "bad_values", "deletable_and_blocking", "deletable_outside", "held_without_holder")
"""Columns of `decision_totals` that only the gate reads."""
_OF_A_TOTAL = tuple(field.name for field in fields(BucketTotal))
_REASONS = len(EARLY_REASONS) + 1
_ROWS_SORTED_AT_ONCE = 200_000


def decision_totals(found: DataFrame, frames: DecisionFrames, cleaner_interval_ms: int) -> DataFrame:
    """Returns a row for each cluster and decision: number of files, bytes, and the counts that the gate checks.

    The columns are those of `pipelines.decide.rule.totals.BucketTotal`, and `GATE_COUNTS`. Files are grouped by the
    number of their row in the decision table; verdict and reason are joined afterwards, when few rows are left.

    Args:
        found: result of `pipelines.decide.spark.verdicts.looked_up`.
        frames: the decision tables.
        cleaner_interval_ms: `hbase.master.cleaner.interval`.
    """
    overdue = F.col("past_ttl_ms") > F.lit(3 * cleaner_interval_ms)
    bad_values = F.col("length").isNull() | F.col("modification_time").isNull() | (F.col("length") < 0)
    sums = found.groupBy("cluster", answer_key(found).alias("key")).agg(
        F.count(F.lit(1)).alias("files"),
        F.coalesce(F.sum("length"), F.lit(0)).alias("bytes"),
        F.min("wal_timestamp").alias("oldest_timestamp"),
        F.min(F.unix_millis("modification_time")).alias("oldest_modification"),
        F.sum(F.when(overdue, F.lit(1)).otherwise(F.lit(0))).alias("past_ttl_files"),
        F.coalesce(F.sum(F.when(overdue, F.col("length")).otherwise(F.lit(0))), F.lit(0)).alias("past_ttl_bytes"),
        F.sum(F.when(bad_path(), F.lit(1)).otherwise(F.lit(0))).alias("bad_paths"),
        F.sum(F.when(bad_values, F.lit(1)).otherwise(F.lit(0))).alias("bad_values"),
        F.sum(F.when(F.col("path").startswith("oldWALs/"), F.lit(0)).otherwise(F.lit(1))).alias("outside"),
    )
    barred = ("BACKUP", "FOREIGN_CLEANER", "ADD_PEER_RUNNING", "SNAPSHOT_UNTRUSTED")
    hbase_deletes = F.col("archived") & (F.col("hbase_verdict") == "DELETE") & ~F.col("reason").isin(*barred)
    listed = F.col("archived") & (F.col("verdict") == "DELETABLE")
    holders = F.size("blocking")

    def where(condition: Column, name: str) -> Column:
        return F.when(condition, F.col(name)).otherwise(F.lit(0))

    return (
        with_answers(with_numbers(sums), frames)
        .withColumns(
            {
                "overdue_files": where(hbase_deletes, "past_ttl_files"),
                "overdue_bytes": where(hbase_deletes, "past_ttl_bytes"),
                "deletable_and_blocking": where(listed & (holders > 0), "files"),
                "deletable_outside": where(listed, "outside"),
                "held_without_holder": where((F.col("reason") == "PENDING") & (holders == 0), "files"),
            }
        )
        .select(*_OF_A_TOTAL, *GATE_COUNTS)
    )


def answer_key(found: DataFrame) -> Column:
    """Packs `archived`, `early` and `bucket` into one long: Spark groups by it in half the time of three columns."""
    early = F.coalesce(found["early"], F.lit(-1)) + F.lit(1)
    bucket = F.coalesce(found["bucket"], F.lit(-1)).cast("bigint") + F.lit(1)
    return (bucket * F.lit(_REASONS) + early) * F.lit(2) + F.coalesce(found["archived"], F.lit(False)).cast("int")


def with_numbers(sums: DataFrame) -> DataFrame:
    """Replaces the column `key` by the three columns that it packs."""
    early = F.expr(f"CAST((key div 2) % {_REASONS} AS INT)")
    bucket = F.expr(f"CAST(key div {2 * _REASONS} AS INT)")
    return sums.select(
        *(name for name in sums.columns if name != "key"),
        (F.col("key") % 2 == 1).alias("archived"),
        F.when(early > 0, early - 1).alias("early"),
        F.when(bucket > 0, bucket - 1).alias("bucket"),
    )


def bad_path() -> Column:
    """Whether no listing of wal_root can contain the path, or a line-based list could not carry it."""
    unproven = F.col("unproven")
    odd = unproven.rlike(EMPTY_OR_DOTS_OR_CONTROL) | ~F.col("path").contains("/")
    # nearly every file is directly in oldWALs, and a comparison is cheaper than a regular expression
    return F.col("path").isNull() | ((unproven != "oldWALs") & odd)


def duplicate_paths(files: DataFrame, rows: int) -> Mapping[str, int]:
    """Returns, by cluster, the number of rows that repeat a path; a cluster without any is left out.

    Few rows, which are in the driver, are counted without Spark.

    Args:
        files: `cluster`, `path`.
        rows: approximate number of rows.
    """
    if few(rows):
        paths = files.select("cluster", "path").collect()
        return Counter(cluster for cluster, _ in paths) - Counter(cluster for cluster, _ in set(paths))
    if not _repeated_hashes(files, rows).collect()[0]["repeated"]:
        return {}
    return {row["cluster"]: row["repeats"] for row in _repeats(files).collect()}


def _repeated_hashes(files: DataFrame, rows: int) -> DataFrame:
    """Counts the hashes that more than one row has: `repeated`; 0 = no path is listed twice.

    The hashes are sorted before they are grouped: nearly all of them differ, so a hash table would be as large as they
    are. They are sorted in pieces that fit a processor's cache, which halves the time.

    Args:
        files: `cluster`, `path`.
        rows: approximate number of rows.
    """
    hashes = files.select(F.xxhash64("cluster", "path").alias("hash"))
    pieces = hashes.repartition(1 + rows // _ROWS_SORTED_AT_ONCE, "hash").sortWithinPartitions("hash")
    return pieces.groupBy("hash").count().filter("count > 1").agg(F.count(F.lit(1)).alias("repeated"))


def _repeats(files: DataFrame) -> DataFrame:
    """Counts the rows of each cluster that repeat a path: `cluster`, `repeats`.

    It counts hashes instead of paths, since 64 bits are quick to shuffle. Two paths with one hash refuse a sound
    listing (some 3 in a million for 10 million files); they never pass a broken one.
    """
    return (
        files.groupBy("cluster", F.xxhash64("path").alias("hash"))
        .agg((F.count(F.lit(1)) - 1).alias("repeats"))
        .filter("repeats > 0")
        .groupBy("cluster")
        .agg(F.sum("repeats").alias("repeats"))
    )


def collected(totals: DataFrame) -> Iterator[tuple[BucketTotal, Mapping[str, int]]]:
    """Yields the rows of `decision_totals`, each with its `GATE_COUNTS`."""
    for batch in totals.toArrow().to_batches():
        for row in batch.to_pylist():
            yield BucketTotal(**{name: row[name] for name in _OF_A_TOTAL}), {name: row[name] for name in GATE_COUNTS}


MAX_EXAMPLES = 100


def files_breaking_the_gate(decided: DataFrame, *, replication_table_wals_released: bool) -> DataFrame:
    """At most 100 examples of files that break an expectation of the gate: `cluster`, `path`, `expectation`."""
    listed = F.col("archived") & (F.col("verdict") == "DELETABLE")
    kept = listed & (F.col("hbase_verdict") != "DELETE")
    if replication_table_wals_released:
        kept = kept & (F.col("reason") != "REPLICATION_TABLE_WAL")
    broken = {
        "paths_lie_below_wal_root": bad_path(),
        "lengths_and_times_are_known": F.col("length").isNull()
        | F.col("modification_time").isNull()
        | (F.col("length") < 0),
        "every_file_is_decided": F.col("archived") & (F.col("verdict").isNull() | (F.col("reason") == "UNDECIDED")),
        "deletable_blocks_nobody": listed & (F.size("blocking") > 0),
        "pending_has_holder": (F.col("reason") == "PENDING") & (F.size("blocking") == 0),
        "deletable_within_hbase_delete": kept,
    }
    names = F.filter(
        F.array(*(F.when(rule, F.lit(name)) for name, rule in broken.items())), lambda one: one.isNotNull()
    )
    return decided.select("cluster", "path", F.explode(names).alias("expectation")).limit(MAX_EXAMPLES)


def repeated_paths(files: DataFrame) -> DataFrame:
    """At most 100 paths that the listing contains more than once: `cluster`, `path`, `expectation`."""
    twice = files.groupBy("cluster", "path").count().filter("count > 1")
    return twice.select("cluster", "path", F.lit("paths_are_unique").alias("expectation")).limit(MAX_EXAMPLES)
