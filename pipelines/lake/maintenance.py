"""Retention, compaction and vacuum of Delta tables; no other module removes rows or files of the lake.

Readers are safe because nothing here removes a file that a version within the grace period needs. A DELETE of whole
partitions and OPTIMIZE write only the log. VACUUM keeps files that left the log less than the table's
`delta.deletedFileRetentionDuration` ago. Delta 4.4 ignores `RETAIN n HOURS`. With a longer n it would remove too much,
because tombstones older than that property are gone from the log. So only this property sets the period.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import date

from delta.tables import DeltaTable
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipelines.common.errors import UnavailableError, UsageError
from pipelines.common.instants import HOUR_MS
from pipelines.common.spark.few_rows import for_few_rows
from pipelines.files.hadoop_jvm import HadoopJvm, java_cause, java_errors
from pipelines.lake.delta_log import has_log, sql_name
from pipelines.lake.lake_errors import is_conflict, lake_errors, retry_commit
from pipelines.lake.lake_queries import LakeQueries
from pipelines.lake.query import Query, day_literal
from pipelines.lake.retention import COMPACTED_FILE_BYTES, MIN_GRACE_MS, SMALL_FILE_BYTES, FileTotals, NightPartition
from schemas.table import Table

_ATTEMPTS = 7
_GRACE = "delta.deletedFileRetentionDuration"
_DELTAS_GRACE = "interval 1 week"  # that of a table without the property
_REWRITE_SMALL_FILES = {
    "spark.databricks.delta.optimize.minFileSize": str(SMALL_FILE_BYTES),
    "spark.databricks.delta.optimize.maxFileSize": str(COMPACTED_FILE_BYTES),
}


@contextmanager
def table_errors(location: str) -> Iterator[None]:
    """Turns all Spark errors of one table into walsafe errors, so that the caller can go on; conflicts pass.

    Raises:
        UsageError: a person must act.
        UnavailableError: another try may succeed; this is also so for errors that `lake_errors` does not know.
    """
    try:
        with lake_errors(location):
            yield
    except (Py4JError, PySparkException) as error:
        if is_conflict(error):
            raise
        raise UnavailableError(f"Delta table {location}: {java_cause(error)}; see the log, then try again") from error


class LakeMaintenance:
    """Maintains the Delta tables below one lake folder, one at a time; any Hadoop URI, no metastore.

    Every method raises UsageError if a person must act (a damaged log) and UnavailableError if another try may succeed.
    Rows of partitions that are not named are never lost, even with concurrent writers; on a local disk there may be
    none (docs/adr/0004).
    """

    def __init__(self, spark: SparkSession, lake_uri: str) -> None:
        self._spark = spark
        self._few = for_few_rows(spark)  # for what reads and writes the log; compaction reads and writes rows
        self._hadoop = HadoopJvm.of(spark)
        self._lake = lake_uri.rstrip("/")
        self._ask = LakeQueries.of(spark, lake_uri)

    def exists(self, table: Table) -> bool:
        """Whether the lake has this table."""
        return has_log(self._spark, self._location(table))

    def partitions(self, table: Table) -> tuple[NightPartition, ...]:
        """Returns all nights of the table, from its log alone."""
        with self._errors(table):
            files = self._ask.files(table).to_pylist()
        by_night = defaultdict(list)
        for file in files:
            by_night[file["run_date"]].append(file)
        return tuple(NightPartition.of(*night) for night in by_night.items())

    def last_written(self, table: Table, dates: Collection[date]) -> Mapping[date, int]:
        """Returns the newest `at` of each of these nights, ms; empty for a table without that column."""
        if "at" not in table.schema.names or not dates:
            return {}
        with self._errors(table):
            rows = self._ask.rows(Query(table, "run_date, max(at) AS at", _nights(dates), "GROUP BY run_date"))
        return {row["run_date"]: row["at"] for row in rows if row["at"] is not None}

    def drop(self, table: Table, dates: Collection[date]) -> None:
        """Deletes whole nights with a commit to the log; their files stay until VACUUM."""
        self._retrying(table, lambda: self._table(table, self._few).delete(_nights(dates)))

    def compact(self, table: Table, dates: Collection[date]) -> None:
        """Merges the small files of these nights; the rows do not change."""
        with _rewriting_small_files(self._spark):
            there = self._table(table, self._spark)
            self._retrying(table, lambda: there.optimize().where(_nights(dates)).executeCompaction())

    def grace_ms(self, table: Table) -> int:
        """Returns how long (ms) the table keeps files that its log no longer names."""
        with self._errors(table):
            stated = self._ask.table_property(table, _GRACE) or _DELTAS_GRACE
            configs = self._hadoop.view.org.apache.spark.sql.delta.DeltaConfigs
            return int(configs.getMilliSeconds(configs.parseCalendarInterval(stated)))

    def set_grace(self, table: Table, grace_ms: int) -> None:
        """Sets `grace_ms`, a whole number of hours, with a commit to the log."""
        hours = f"interval {grace_ms // HOUR_MS} hours"
        change = f"ALTER TABLE {self._name(table)} SET TBLPROPERTIES ('{_GRACE}' = '{hours}')"
        self._retrying(table, lambda: self._few.sql(change))

    def removable(self, table: Table, named: int) -> FileTotals:
        """Returns the size of what VACUUM would remove now; writes nothing.

        If the folder has no more files than the log names, this is nothing, and neither deltalake nor Spark is asked.

        Args:
            table: the table.
            named: how many files the log names, from `partitions`.

        Raises:
            UsageError: the table keeps unreferenced files for less than `MIN_GRACE_MS`.
        """
        self._check_grace(table)
        if self._stored(table) <= named:
            return FileTotals()
        with self._errors(table):
            files = self._ask.unneeded(table)
        with java_errors(self._location(table)):
            return self._size_of(table, files)

    def vacuum(self, table: Table) -> None:
        """Removes the files that no version within the grace needs.

        Raises:
            UsageError: the table keeps unreferenced files for less than `MIN_GRACE_MS`.
        """
        self._check_grace(table)
        self._retrying(table, lambda: self._few.sql(f"VACUUM {self._name(table)}").collect())

    def _check_grace(self, table: Table) -> None:
        grace = self.grace_ms(table)
        if grace < MIN_GRACE_MS:
            raise UsageError(
                f"Delta table {self._location(table)}: {_GRACE} is {grace // HOUR_MS} h, and readers need "
                f"{MIN_GRACE_MS // HOUR_MS} h at least; set maintain.vacuum_grace to 7d or more"
            )

    def _size_of(self, table: Table, files: Collection[str]) -> FileTotals:
        """Returns the total size of files of a table; it lists each folder once and makes no call per file."""
        names: dict[str, set[str]] = {}
        for file in files:
            folder, _, name = file.rpartition("/")
            names.setdefault(folder, set()).add(name)
        total = FileTotals()
        for folder, wanted in names.items():
            path = self._hadoop.path(f"{self._location(table)}/{folder}")
            file_system = path.getFileSystem(self._hadoop.conf)
            for status in file_system.listStatus(path) if file_system.exists(path) else ():
                if status.isFile() and status.getPath().getName() in wanted:
                    total += FileTotals(1, int(status.getLen()))
        return total

    def _stored(self, table: Table) -> int:
        """Returns the number of files in the folder of the table, without its log."""
        location = self._location(table)
        with java_errors(location):
            all_files, log = (
                path.getFileSystem(self._hadoop.conf).getContentSummary(path).getFileCount()
                for path in map(self._hadoop.path, (location, f"{location}/_delta_log"))
            )
        return int(all_files) - int(log)

    def _location(self, table: Table) -> str:
        return f"{self._lake}/{table.name}"

    def _name(self, table: Table) -> str:
        return sql_name(self._spark, self._location(table))

    def _table(self, table: Table, spark: SparkSession) -> DeltaTable:
        return DeltaTable.forPath(spark, self._location(table))

    def _retrying(self, table: Table, commit: Callable[[], object]) -> None:
        retry_commit(self._location(table), commit, _ATTEMPTS, table_errors)

    def _errors(self, table: Table) -> AbstractContextManager[None]:
        return table_errors(self._location(table))


def _nights(dates: Collection[date]) -> str:
    """Returns the SQL condition for whole partitions; with it Delta changes only its log."""
    days = ", ".join(map(day_literal, sorted(dates)))
    return f"run_date IN ({days})"


@contextmanager
def _rewriting_small_files(spark: SparkSession) -> Iterator[None]:
    """Lets OPTIMIZE rewrite only small files, and restores the session's settings afterwards."""
    before = {name: spark.conf.get(name, None) for name in _REWRITE_SMALL_FILES}
    for name, value in _REWRITE_SMALL_FILES.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)
