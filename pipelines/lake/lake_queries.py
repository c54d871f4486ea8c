"""Asks the tables of a lake in SQL: deltalake answers without a JVM where it can, Spark answers everywhere else.

Columns that an older walsafe did not write are NULL. Rows come back as dicts, instants as ms since the epoch. Whatever
deltalake cannot answer, Spark is asked, so every error is in Spark's words (pipelines/lake/lake_errors.py).
"""

import logging
import re
from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from pipelines.common.errors import SparkNeededError, UsageError
from pipelines.common.spark.few_rows import for_few_rows
from pipelines.common.spark.local_rows import local_rows
from pipelines.files.hadoop_jvm import HadoopJvm
from pipelines.lake.delta_log import newest_snapshot, sql_name
from pipelines.lake.delta_rs import DeltaRs, delta_rs_of
from pipelines.lake.lake_errors import lake_errors
from pipelines.lake.query import OF_A_FILE, Query, Row
from schemas.deletions import DELETIONS
from schemas.table import Table
from schemas.wal_verdicts import WAL_VERDICTS

_LOG = logging.getLogger(__name__)
_COLOUR = re.compile(r"\x1b\[\d*m")
_A_ROW_FOR_EACH_FILE = (WAL_VERDICTS, DELETIONS)

_T = TypeVar("_T")


class SparkTables:
    """The tables below one folder, read by Spark; every error is a `UsageError` or an `UnavailableError`."""

    def __init__(self, spark: SparkSession, lake_uri: str) -> None:
        self._spark = spark
        self._lake = lake_uri

    def has(self, table: Table) -> bool:
        """Returns whether there is such a table."""
        with lake_errors(self._location(table)):
            return bool(DeltaTable.isDeltaTable(self._spark, self._location(table)))

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
            return found.toDF(*OF_A_FILE).toArrow()

    def table_property(self, table: Table, name: str) -> str | None:
        """Returns a property of a table; None if it is not set."""
        location = self._location(table)
        with lake_errors(location):
            stated = newest_snapshot(self._spark, location).metadata().configuration().get(name)
            return str(stated.get()) if stated.isDefined() else None

    def unneeded(self, table: Table) -> list[str]:
        """Returns the files that VACUUM would remove."""
        location = self._location(table)
        with lake_errors(location):
            rows = for_few_rows(self._spark).sql(f"VACUUM {sql_name(self._spark, location)} DRY RUN").collect()
            folder = HadoopJvm.of(self._spark).qualified(location)
            return [row["path"].removeprefix(f"{folder}/") for row in rows]

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

    def table_property(self, table: Table, name: str) -> str | None:
        """Returns a property of the newest version of a table, None if it is not set; see `rows` for the errors."""
        return self._answer(table, lambda engine: engine.table_property(table, name))

    def unneeded(self, table: Table) -> list[str]:
        """Returns the files that VACUUM would remove now, by their paths in the folder of the table; writes nothing.

        deltalake takes milliseconds, and Spark seconds; see `rows` for the errors.
        """
        return self._answer(table, lambda engine: engine.unneeded(table))

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
