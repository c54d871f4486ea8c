"""Asks the tables of a lake in SQL: deltalake answers without a JVM where it can, Spark answers everywhere else.

DataFusion (the engine in deltalake) and Spark get the same SELECT and answer it alike. Columns that an older walsafe
did not write are NULL. Rows come back as dicts, instants as ms since the epoch.

deltalake serves lakes on the local file system and on HDFS, also an HA nameservice. It finds name nodes in
HADOOP_CONF_DIR and in Spark's `spark.hadoop.*`, and a Kerberos ticket where MIT Kerberos does: in the ticket cache, or
through KRB5_CLIENT_KTNAME. It does not serve other file systems, another user by Spark's --principal or --proxy-user,
paths with unusual characters on HDFS, or an HDFS where Hadoop's configuration lets observers or standbys answer reads.
Whatever it cannot answer, Spark is asked, so every error is in Spark's words (pipelines/lake/lake_errors.py).
"""

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from delta.tables import DeltaTable as SparkDeltaTable
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from pipelines.common.errors import SparkNeededError, UsageError, WalsafeError
from pipelines.common.spark.few_rows import for_few_rows
from pipelines.common.spark.local_rows import local_rows
from pipelines.files.hadoop_jvm import HadoopJvm, java_errors
from pipelines.files.observer_reads import reads_may_be_behind
from pipelines.lake.delta_log import newest_snapshot
from pipelines.lake.lake_errors import NO_TABLE, lake_errors
from schemas.deletions import DELETIONS
from schemas.table import Table
from schemas.wal_verdicts import WAL_VERDICTS

_LOG = logging.getLogger(__name__)
_HADOOP = "spark.hadoop."
_PRINCIPAL = "spark.kerberos.principal"
_IN_A_MS = {"ms": 1, "us": 1_000, "ns": 1_000_000}
_COLOUR = re.compile(r"\x1b\[\d*m")
_PLAIN_HDFS = re.compile(r"hdfs://[\w.:-]*/[\w./=-]+", re.ASCII)

_OF_A_FILE = ("run_date", "size", "rows")
_A_ROW_FOR_EACH_FILE = (WAL_VERDICTS, DELETIONS)

_T = TypeVar("_T")

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Elements:
    """A row for each element of an array column, in the column `one`.

    Attributes:
        array: the array column.
        beside: the other columns that the query needs; nothing else is read.
        where: the condition on these columns and on `one`.
    """

    array: str
    beside: tuple[str, ...]
    where: str


@dataclass(frozen=True, slots=True)
class Query:
    """One SELECT over one table, which is called `t` in it.

    Attributes:
        table: the table.
        select: the columns.
        where: the condition; it names partitions.
        then: what follows it: GROUP BY, ORDER BY, LIMIT.
        each_of: makes rows of an array before it selects.
        over: columns and condition of a SELECT over the answer of all this, as (select, what follows FROM).
    """

    table: Table
    select: str
    where: str
    then: str = ""
    each_of: Elements | None = None
    over: tuple[str, str] | None = None

    def sql(self, source: str, known: set[str], unnest: str) -> str:
        """Returns the statement.

        Args:
            source: what the engine calls the table.
            known: the columns that the table has.
            unnest: the engine's function that makes rows of an array.
        """
        missing = [field for field in self.table.schema if field.name not in known]
        added = [f"CAST(NULL AS {field.dataType.simpleString()}) AS {field.name}" for field in missing]
        if added:
            source = " ".join(("(SELECT *,", ", ".join(added), "FROM", f"{source})"))
        where, each = self.where, self.each_of
        if each is not None:
            columns = ", ".join([*(f"t.{name}" for name in each.beside), f"{unnest}(t.{each.array}) AS one"])
            source, where = " ".join(("(SELECT", columns, "FROM", source, "AS t WHERE", f"{where})")), each.where
        inner = " ".join(("SELECT", self.select, "FROM", source, "AS t WHERE", where, self.then))
        return inner if self.over is None else " ".join(("SELECT", self.over[0], "FROM", f"({inner})", self.over[1]))


class DeltaRs:
    """The tables below one folder, read by deltalake.

    Args:
        lake: a local path, or a URI of HDFS.
        options: Hadoop settings that go before those of HADOOP_CONF_DIR.
        one_answer: read each table in the version in which it was first opened, and answer each query once.
    """

    def __init__(self, lake: str, options: Mapping[str, str], *, one_answer: bool = False) -> None:
        self._lake = lake
        self._options = dict(options)
        self._opened: dict[str, DeltaTable] | None = {} if one_answer else None
        self._answers: dict[tuple[str, str], list[Row]] = {}

    @classmethod
    def of(cls, lake_uri: str, options: Mapping[str, str], *, one_answer: bool = False) -> "DeltaRs | None":
        """Returns a reader for the full URI of a lake; None if deltalake does not serve its file system.

        Args:
            lake_uri: the lake, with its scheme.
            options: Hadoop settings by name.
            one_answer: see `DeltaRs`.
        """
        if lake_uri.startswith("file:/"):
            return cls("/" + lake_uri.removeprefix("file:").lstrip("/"), {}, one_answer=one_answer)
        return cls(lake_uri, options, one_answer=one_answer) if _PLAIN_HDFS.fullmatch(lake_uri) else None

    @property
    def is_local(self) -> bool:
        """Whether the lake is on the local file system."""
        return self._lake.startswith("/")

    def has(self, table: Table) -> bool:
        """Returns whether there is such a table."""
        return DeltaTable.is_deltatable(self.location(table), self._options)

    def rows(self, query: Query) -> list[Row]:
        """Answers a query; raises whatever deltalake raises."""
        there, sql = self._asked(query)
        key = (query.table.name, sql)
        if key in self._answers:
            return self._answers[key]
        answer = _executed(there, sql)
        columns = [_numbers(column) for column in answer.columns]
        rows: list[Row] = [dict(zip(answer.column_names, values, strict=True)) for values in zip(*columns, strict=True)]
        if self._opened is not None:
            self._answers[key] = rows
        return rows

    def arrow(self, query: Query) -> pa.Table:
        """Answers a query with an Arrow table; raises whatever deltalake raises."""
        return _executed(*self._asked(query))

    def files(self, table: Table) -> pa.Table:
        """Returns the files that the log names; raises whatever deltalake raises."""
        named = pa.table(self._table(self.location(table)).get_add_actions(flatten=True))
        return named.select(["partition.run_date", "size_bytes", "num_records"]).rename_columns(_OF_A_FILE)

    def location(self, table: Table) -> str:
        """Returns the folder of a table."""
        return f"{self._lake}/{table.name}"

    def _asked(self, query: Query) -> tuple[DeltaTable, str]:
        """Returns the table of a query, and its statement."""
        location = self.location(query.table)
        if self.is_local and not Path(location).exists():
            raise UsageError(f"Delta table {location}: {NO_TABLE}")
        there = self._table(location)
        return there, query.sql("there", {field.name for field in there.schema().fields}, "unnest")

    def _table(self, location: str) -> DeltaTable:
        there = (self._opened or {}).get(location) or DeltaTable(location, storage_options=self._options)
        if self._opened is not None:
            self._opened[location] = there
        return there


class SparkTables:
    """The tables below one folder, read by Spark; every error is a `UsageError` or an `UnavailableError`."""

    def __init__(self, spark: SparkSession, lake_uri: str) -> None:
        self._spark = spark
        self._lake = lake_uri

    def has(self, table: Table) -> bool:
        """Returns whether there is such a table."""
        with lake_errors(self._location(table)):
            return bool(SparkDeltaTable.isDeltaTable(self._spark, self._location(table)))

    def rows(self, query: Query) -> list[Row]:
        """Answers a query."""
        with lake_errors(self._location(query.table)):
            answer = self.frame(query)
            columns = [
                F.unix_millis(field.name).alias(field.name) if isinstance(field.dataType, TimestampType) else field.name
                for field in answer.schema
            ]
            found = answer.select(*columns)
            # only answers about `deletions` may have a row for each file
            rows = local_rows(found) if query.table is DELETIONS else found.collect()
            return [row.asDict(recursive=True) for row in rows]

    def arrow(self, query: Query) -> pa.Table:
        """Answers a query with an Arrow table."""
        with lake_errors(self._location(query.table)):
            return self.frame(query).toArrow()

    def frame(self, query: Query) -> DataFrame:
        """Returns the answer to a query as a frame."""
        spark = self._spark if query.table in _A_ROW_FOR_EACH_FILE else for_few_rows(self._spark)
        location = self._location(query.table)
        with lake_errors(location):
            there = spark.read.format("delta").load(location)
            return spark.sql(query.sql("{there}", set(there.columns), "explode"), there=there)

    def files(self, table: Table) -> pa.Table:
        """Returns the files that the log names."""
        location = self._location(table)
        with lake_errors(location):
            named = DataFrame(newest_snapshot(self._spark, location).allFiles().toDF(), for_few_rows(self._spark))
            rows = F.get_json_object("stats", "$.numRecords").cast("bigint")
            found = named.select(F.col("partitionValues")["run_date"].cast("date"), "size", rows)
            return found.toDF(*_OF_A_FILE).toArrow()

    def _location(self, table: Table) -> str:
        return f"{self._lake}/{table.name}"


class LakeQueries:
    """Asks deltalake, and from its first failure on Spark.

    Args:
        lake_uri: the lake as the user named it.
        delta_rs: None if deltalake does not serve its file system.
        spark: None if this process has none.
    """

    def __init__(self, lake_uri: str, delta_rs: DeltaRs | None, spark: SparkTables | None) -> None:
        self.lake_uri = lake_uri
        self._delta_rs = delta_rs
        self._spark = spark

    @classmethod
    def of(cls, spark: SparkSession, lake_uri: str) -> "LakeQueries":
        """Returns the queries of a process with a session."""
        lake = lake_uri.rstrip("/")
        return cls(lake, delta_rs_of(spark, lake), SparkTables(spark, lake))

    def has(self, table: Table) -> bool:
        """Returns whether the lake has this table."""
        return self._answer(table, lambda engine: engine.has(table))

    def rows(self, query: Query) -> list[Row]:
        """Answers a query.

        Raises:
            UsageError: the table is missing or damaged.
            UnavailableError: the lake cannot be read.
            SparkNeededError: deltalake cannot answer and there is no Spark.
        """
        return self._answer(query.table, lambda engine: engine.rows(query))

    def arrow(self, query: Query) -> pa.Table:
        """Answers a query with an Arrow table; see `rows` for the errors."""
        return self._answer(query.table, lambda engine: engine.arrow(query))

    def files(self, table: Table) -> pa.Table:
        """Returns the files of the newest version of a table, from its log alone; see `rows` for the errors.

        Returns:
            A row for each file: `run_date`, `size` (bytes), and `rows`, which is NULL if the writer left no statistics.
        """
        return self._answer(table, lambda engine: engine.files(table))

    def _answer(self, table: Table, ask: Callable[[DeltaRs | SparkTables], _T]) -> _T:
        if self._delta_rs is not None:
            try:
                return ask(self._delta_rs)
            except (KeyboardInterrupt, SystemExit, UsageError):
                raise
            except BaseException as error:  # a panic of deltalake is no Exception
                cause = " ".join(_COLOUR.sub("", str(error)).split())[:300] or type(error).__name__
                _LOG.info("%s/%s: deltalake cannot read it (%s), so Spark does", self.lake_uri, table.name, cause)
                self._delta_rs = None
                if self._spark is None:
                    raise SparkNeededError(cause) from error
        if self._spark is None:
            raise SparkNeededError(self.lake_uri)
        return ask(self._spark)


def delta_rs_of(spark: SparkSession, lake: str) -> DeltaRs | None:
    """Returns what reads a lake for the user of this session; None if only Spark can."""
    hadoop = HadoopJvm.of(spark)
    context: Any = spark.sparkContext
    settings = context._jsc.sc().conf()  # noqa: SLF001 - PySpark's getConf() takes hundreds of calls of the JVM
    options = {pair.productElement(0): pair.productElement(1) for pair in settings.getAllWithPrefix(_HADOOP)}
    if settings.contains(_PRINCIPAL) or _is_for_another_user(hadoop):
        return None
    try:
        uri = hadoop.qualified(lake)
        # deltalake asks an observer without asking the active name node first, and the first standby that answers
        return None if reads_may_be_behind(hadoop, hadoop.conf, uri) else DeltaRs.of(uri, options)
    except WalsafeError:  # Spark tells what is wrong with the URI
        return None


def _is_for_another_user(hadoop: HadoopJvm) -> bool:
    """Returns whether `--proxy-user` makes Hadoop act for another user; deltalake would act for this one."""
    with java_errors("the user"):
        user = hadoop.view.org.apache.hadoop.security.UserGroupInformation.getCurrentUser()
        return user.getRealUser() is not None


def _executed(there: DeltaTable, sql: str) -> pa.Table:
    # not pyarrow's dataset over deltalake's files: processes with it have aborted at exit
    return pa.RecordBatchReader.from_stream(QueryBuilder().register("there", there).execute(sql)).read_all()


def _numbers(column: pa.ChunkedArray) -> list[Any]:
    """Returns the values of a column, instants as ms since the epoch.

    Instants are read as the numbers that they are: for a datetime, pyarrow imports pandas (measured: half a second).
    """
    if not pa.types.is_timestamp(column.type):
        return list(column.to_pylist())
    in_a_ms = _IN_A_MS[column.type.unit]
    numbers = (number for chunk in column.chunks for number in chunk.view(pa.int64()).to_pylist())
    return [None if number is None else number // in_a_ms for number in numbers]
