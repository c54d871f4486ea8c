"""Reads the tables of a lake by deltalake, without a Spark job.

deltalake serves lakes on the local file system and on HDFS, also an HA nameservice. It finds name nodes in
HADOOP_CONF_DIR and in Spark's `spark.hadoop.*`, and a Kerberos ticket where MIT Kerberos does: in the ticket cache, or
through KRB5_CLIENT_KTNAME. It does not serve other file systems, another user by Spark's --principal or --proxy-user,
paths with unusual characters on HDFS, or an HDFS where Hadoop's configuration lets observers or standbys answer reads.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import SparkSession

from pipelines.common.errors import UsageError, WalsafeError
from pipelines.files.hadoop_jvm import HadoopJvm, java_errors
from pipelines.files.local_paths import local_path
from pipelines.files.observer_reads import reads_may_be_behind
from pipelines.lake.lake_errors import NO_TABLE
from pipelines.lake.query import OF_A_FILE, Query, Row
from schemas.table import Table

_HADOOP = "spark.hadoop."
_PRINCIPAL = "spark.kerberos.principal"
_IN_A_MS = {"ms": 1, "us": 1_000, "ns": 1_000_000}
_PLAIN_HDFS = re.compile(r"hdfs://[\w.:-]*/[\w./=-]+", re.ASCII)


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
        if here := local_path(lake_uri):
            return cls(str(here), {}, one_answer=one_answer)
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
        return named.select(["partition.run_date", "size_bytes", "num_records"]).rename_columns(OF_A_FILE)

    def table_property(self, table: Table, name: str) -> str | None:
        """Returns a property of a table, None if it is not set; raises whatever deltalake raises."""
        return self._table(self.location(table)).metadata().configuration.get(name)

    def unneeded(self, table: Table) -> list[str]:
        """Returns the files that VACUUM would remove; raises whatever deltalake raises."""
        found = self._table(self.location(table)).vacuum(dry_run=True, full=True)
        # Spark's VACUUM leaves hidden files, such as Hadoop's checksums on a local disk; deltalake also names those
        return [path for path in found if not any(part.startswith((".", "_")) for part in path.split("/"))]

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
