"""Creates the Delta tables of the lake with their comments and writes them idempotently (docs/adr/0004).

A rerun replaces its rows, and concurrent runs lose none, except on a local disk (see below):

1. Check whether the table has rows of this run.
2. If not, append; Delta never rejects an append because another run appended. If so, overwrite just these rows in one
   atomic commit.
3. After an append, check again: if other runs committed since step 1 and their rows include rows of this run (the same
   run was started twice), overwrite as in step 2. So the rows of the last writer remain, once.

On a local disk, only one job at a time may write to a lake: there Delta looks whether the file of its commit exists,
then renames, and the rename replaces a file that another process has made in between. HDFS renames without replacing.
"""

import json
import logging
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pyarrow as pa
from delta.tables import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType, TimestampType

from pipelines.common.spark.few_rows import for_few_rows
from pipelines.common.spark.local_frames import arrow_columns, arrow_schema, local_frame
from pipelines.files.hadoop_jvm import HadoopJvm
from pipelines.files.local_paths import local_path
from pipelines.lake.delta_log import has_log, newest_snapshot, sql_name
from pipelines.lake.driver_commits import DriverCommits
from pipelines.lake.lake_errors import retry_commit
from pipelines.lake.lake_schema import column_fault, lacks_columns, same_columns
from pipelines.lake.query import rows_of
from pipelines.lake.run_summary import RunKey
from pipelines.lake.twins import columns_of
from schemas.registry import DECISION_TABLES, TABLES
from schemas.table import Table

_LOG = logging.getLogger(__name__)
_ATTEMPTS = 12
_THREADS = 3
_LOOK_BACK = 100
_NO_TABLE_THERE = ("DELTA_TABLE_NOT_FOUND", "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION")
_T = TypeVar("_T")


class DeltaTables:
    """Writes the tables below one lake folder; any Hadoop URI, no metastore.

    Every error of the lake is an `UnavailableError` (retry) or a `UsageError` (the user must act), and names the path.
    The rows of a commit appear all at once or not at all.
    """

    def __init__(self, spark: SparkSession, lake_uri: str) -> None:
        self._spark = for_few_rows(spark)
        here = local_path(lake_uri)
        # Delta treats file:///lake and file:/lake as two places
        self.lake_uri = lake_uri.rstrip("/") if here is None else f"file:{here}"
        self._ensured: dict[str, int] = {}
        self._driver = DriverCommits.of(spark, self.lake_uri)

    def location(self, table: Table) -> str:
        """Returns the folder of a table."""
        return f"{self.lake_uri}/{table.name}"

    def exists(self, table: Table) -> bool:
        """Returns whether the table's log folder exists, even if another process has only begun to create the table."""
        return has_log(self._spark, self.location(table))

    def ensure(self, tables: Sequence[Table] = DECISION_TABLES) -> None:
        """Creates missing tables and adds columns that an older walsafe did not have; it never drops anything.

        If the lake has columns that this walsafe does not know, they stay and are NULL in new rows.

        Raises:
            UsageError: the folder holds something else, its log is corrupt, or a column has another type.
            UnavailableError: the lake cannot be read or written.
        """
        first, *rest = tables  # first alone, so that the others find the classes loaded and the folder created
        self._ensure(first)
        self._in_parallel(self._ensure, rest)

    def replace(
        self, writes: Mapping[str, DataFrame | pa.Table], runs: Collection[RunKey], *, fresh: bool = False
    ) -> None:
        """Replaces all rows of these runs in the tables by the frames; the tables commit in parallel.

        Args:
            writes: by table name, a frame with exactly the table's columns and types, or its rows in the driver, from
                `rows`; identity columns come from `runs`.
            runs: the clusters and runs that the frames cover, including those without any row.
            fresh: the caller has read `runs` since `ensure` and found no other attempt at any of these runs. This saves
                the check before each append; the check afterwards still finds a twin that started later.

        Raises:
            UnavailableError: the lake cannot be written, or other runs kept committing for minutes.
        """
        known = {table.name: table for table in TABLES}
        for name, frame in writes.items():
            if isinstance(frame, DataFrame):
                same_columns(frame.schema, known[name])
            else:
                writes = {**writes, name: frame.cast(arrow_schema(known[name].schema))}
        if runs:
            self._in_parallel(lambda name: self._replace(known[name], writes[name], runs, fresh=fresh), list(writes))

    def append_rows(self, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
        """Appends a few rows of the driver in one commit, such as STARTED and terminal rows of `runs`.

        Args:
            table: the table.
            rows: by column name; missing columns are NULL, or twins of others; timestamps as ms since the epoch.
        """
        known, token = self.rows(table, rows), str(uuid.uuid4())
        if self._driver.appended(table, known, token) is None:
            self._retrying(table, lambda: self._append(table, self._frame(table, known), token))

    def _frame(self, table: Table, rows: pa.Table) -> DataFrame:
        return self._spark.createDataFrame(rows, table.schema).coalesce(1)

    def rows(self, table: Table, rows: Sequence[Mapping[str, object]]) -> pa.Table:
        """Returns rows of the driver with the table's columns; see `append_rows`."""
        unknown = {name for row in rows for name in row} - set(table.schema.names)
        if unknown:
            raise ValueError(f"{table.name} has no column {', '.join(sorted(unknown))}")
        columns = columns_of(table, rows)
        for field in table.schema:
            if isinstance(field.dataType, TimestampType):
                columns[field.name] = [_microseconds(value) for value in columns[field.name]]
        return arrow_columns(columns, table.schema)

    def _ensure(self, table: Table) -> None:
        version = self._driver.ensured(table)
        if version is None:
            self._retrying(table, lambda: self._create_or_widen(table))
        else:
            self._ensured[table.name] = version

    def _create_or_widen(self, table: Table) -> None:
        location = self.location(table)
        there = newest_snapshot(self._spark, location)
        if there.version() < 0:
            self._create(table, location)
            there = newest_snapshot(self._spark, location)
        self._ensured[table.name] = there.version()
        columns = StructType.fromJson(json.loads(there.schema().json()))
        fault = column_fault(columns, table, location)
        if fault is not None:
            raise fault
        if lacks_columns(columns, table.schema):
            _LOG.info("adding the new columns of %s to %s", table.name, location)
            nothing = local_frame(self._spark, [], table.schema)
            nothing.write.format("delta").mode("append").option("mergeSchema", "true").save(location)

    def _create(self, table: Table, location: str) -> None:
        builder = DeltaTable.createIfNotExists(self._spark).location(location).comment(table.comment)
        for name, value in table.properties().items():
            builder = builder.property(name, value)
        try:
            builder.addColumns(table.schema).partitionedBy(*table.partitioned_by).execute()
        except AnalysisException as error:
            # The log folder has no commit: another process is creating the table, died while creating it, or its disk
            # was full. An append creates the table, or adds nothing if the other process has created it.
            if error.getCondition() not in _NO_TABLE_THERE or self._lost_its_log(location):
                raise
            _LOG.info("%s: its making was begun by another run; going on with it", location)
            nothing = local_frame(self._spark, [], table.schema).write.format("delta").mode("append")
            nothing.partitionBy(*table.partitioned_by).save(location)
            self._spark.sql(f"COMMENT ON TABLE {sql_name(self._spark, location)} IS {_quoted(table.comment)}")

    def _lost_its_log(self, location: str) -> bool:
        """Returns whether the folder holds files although its log has no commit."""
        hadoop = HadoopJvm.of(self._spark)
        session: Any = self._spark._jsparkSession  # noqa: SLF001 - only the JVM has it
        folder = hadoop.path(location)
        files = folder.getFileSystem(session.sessionState().newHadoopConf())
        names = {status.getPath().getName() for status in files.listStatus(folder)}
        log = hadoop.path(f"{location}/_delta_log")
        found = files.listStatus(log) if "_delta_log" in names else ()
        committed = any(status.isFile() and not status.getPath().getName().startswith(".") for status in found)
        return not committed and not names <= {"_delta_log"}

    def _replace(self, table: Table, rows: DataFrame | pa.Table, runs: Collection[RunKey], *, fresh: bool) -> None:
        # The version from `ensure` is valid for one append, which changes the version; a retry reads the version again.
        hint = iter([self._ensured.pop(table.name, None)] if fresh else [])
        if isinstance(rows, pa.Table):
            if fresh or self._driver.rows(table, runs) == 0:
                appended = self._driver.appended(table, rows, str(uuid.uuid4()))
                # if there are more rows of this run, another process has written it at the same time
                if appended is not None and self._driver.rows(table, runs) == rows.num_rows:
                    return
                hint = iter([]) if appended is not None else hint
            if self._driver.replaced(table, rows, runs, str(uuid.uuid4())) is not None:
                return
            rows = self._frame(table, rows)
        frame = rows
        self._retrying(table, lambda: self._replace_once(table, frame, runs, next(hint, None)))

    def _replace_once(self, table: Table, frame: DataFrame, runs: Collection[RunKey], ensured: int | None) -> None:
        before = self._version(table) if ensured is None else ensured
        token = str(uuid.uuid4())
        if ensured is not None or not self._any_row(table, runs):
            self._append(table, frame, token)
            if self._version(table) == before + 1 or not self._any_row(table, runs, self._before(table, token)):
                return
            _LOG.warning("%s: this run was written by another process at the same time", table.name)
        self._writer(table, frame, token).mode("overwrite").option("replaceWhere", rows_of(runs)).save(
            self.location(table)
        )

    def _append(self, table: Table, frame: DataFrame, token: str) -> None:
        self._writer(table, frame, token).mode("append").save(self.location(table))

    def _writer(self, table: Table, frame: DataFrame, token: str) -> DataFrameWriter:
        return frame.select(*table.schema.names).write.format("delta").option("userMetadata", token)

    def _version(self, table: Table) -> int:
        return int(newest_snapshot(self._spark, self.location(table)).version())

    def _before(self, table: Table, token: str) -> int:
        """Returns the version before the commit that carries the token."""
        history = DeltaTable.forPath(self._spark, self.location(table)).history(_LOOK_BACK)
        found = history.where(F.col("userMetadata") == token).select("version").head()
        return int(found.version) - 1 if found else self._version(table)

    def _any_row(self, table: Table, runs: Collection[RunKey], version: int | None = None) -> bool:
        """Returns whether the table has rows of these runs, or had them in an earlier version."""
        counted = self._driver.rows(table, runs) if version is None else None
        if counted is not None:
            return counted > 0
        reader = self._spark.read.format("delta")
        reader = reader if version is None else reader.option("versionAsOf", version)
        return reader.load(self.location(table)).where(rows_of(runs)).select("run_id").head() is not None

    def _retrying(self, table: Table, commit: Callable[[], None]) -> None:
        retry_commit(self.location(table), commit, _ATTEMPTS)

    def _in_parallel(self, work: Callable[[_T], None], items: Sequence[_T]) -> None:
        """Runs commits in parallel, as the driver mostly waits; all of them end before the first error is raised."""
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="lake") as pool:
            futures = [pool.submit(work, item) for item in items]
        for future in futures:
            future.result()


def _microseconds(value: object) -> object:
    """Returns an instant in ms as Arrow takes it, in the unit of the column; a datetime stays."""
    return value * 1000 if isinstance(value, int) else value


def _quoted(text: str) -> str:
    """Returns the text as an SQL string literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
