"""Commits rows of the driver by deltalake, without a Spark job (docs/adr/0035)."""

import json
import logging
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Schema, WriterProperties, write_deltalake
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from pipelines.lake.delta_rs import DeltaRs, delta_rs_of
from pipelines.lake.lake_schema import column_fault, lacks_columns
from pipelines.lake.query import Query, rows_of
from pipelines.lake.run_summary import RunKey
from schemas.table import CHECKPOINT_INTERVAL, Table

_LOG = logging.getLogger(__name__)
_CHECKPOINT = 10
"""Delta's default of `CHECKPOINT_INTERVAL`. The commit that ends an interval is left to Spark, which then also writes
the checkpoint and removes old log files."""
_CHECKPOINT_OF_A_LOCAL_TABLE = 50
"""The smallest interval of a table that deltalake creates: a checkpoint needs Spark, and a small night seconds more."""
_NO_CHECKPOINT = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
_LATEST = 30

_T = TypeVar("_T")


class DriverCommits:
    """Creates tables and writes rows in a lake on the local file system; None means that Spark must do it.

    So the caller always has a second way, and no error of deltalake is ever shown.
    """

    def __init__(self, delta_rs: DeltaRs | None) -> None:
        self._delta_rs = delta_rs

    @classmethod
    def of(cls, spark: SparkSession, lake_uri: str) -> "DriverCommits":
        """Returns the commits of a lake."""
        found = delta_rs_of(spark, lake_uri)
        return cls(found if found is not None and found.is_local else None)

    def ensured(self, table: Table) -> int | None:
        """Creates the table if its folder is missing; returns the version of a table that has all columns."""
        return self._attempt(table, lambda delta_rs: _ensured(table, delta_rs.location(table)))

    def appended(self, table: Table, rows: pa.Table, token: str) -> int | None:
        """Appends rows; returns the table's version afterwards, or None if nothing was committed.

        Args:
            table: the table.
            rows: exactly its columns.
            token: the commit's `userMetadata`.
        """
        return self._written(table, rows, token, None)

    def replaced(self, table: Table, rows: pa.Table, runs: Collection[RunKey], token: str) -> int | None:
        """Replaces all rows of these runs; see `appended`.

        It commits nothing if another process has meanwhile touched these rows, or a file that holds some of them.
        """
        return self._written(table, rows, token, rows_of(runs))

    def rows(self, table: Table, runs: Collection[RunKey]) -> int | None:
        """Returns how many rows the table has of these runs."""
        query = Query(table, "count(*) AS n", rows_of(runs))
        return self._attempt(table, lambda delta_rs: int(delta_rs.rows(query)[0]["n"]))

    def _written(self, table: Table, rows: pa.Table, token: str, where: str | None) -> int | None:
        return self._attempt(
            table,
            lambda delta_rs: _written(delta_rs.location(table), rows, token, where),
            lambda delta_rs: _committed(delta_rs.location(table), token),
        )

    def _attempt(
        self,
        table: Table,
        work: Callable[[DeltaRs], _T | None],
        done: Callable[[DeltaRs], _T | None] = lambda _delta_rs: None,
    ) -> _T | None:
        if self._delta_rs is None:
            return None
        for attempt in (work, done):  # an error after the commit is no reason to commit again
            try:
                return attempt(self._delta_rs)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException:  # noqa: BLE001 - a panic of deltalake is no Exception
                _LOG.debug("%s: deltalake does not write it, so Spark does", table.name, exc_info=True)
        return None


def _ensured(table: Table, location: str) -> int | None:
    if not Path(location).exists():
        there = DeltaTable.create(
            location,
            Schema.from_json(table.schema.json()),
            partition_by=list(table.partitioned_by),
            description=table.comment,
            configuration={
                **table.properties(),
                CHECKPOINT_INTERVAL: str(max(table.checkpoint_interval, _CHECKPOINT_OF_A_LOCAL_TABLE)),
            },
        )
        return there.version()
    there = DeltaTable(location)
    columns = StructType.fromJson(json.loads(there.schema().to_json()))
    usable = column_fault(columns, table, location) is None and not lacks_columns(columns, table.schema)
    return there.version() if usable else None


def _written(location: str, rows: pa.Table, token: str, where: str | None) -> int | None:
    """Replaces the rows for which the condition is true; without a condition, appends."""
    there = DeltaTable(location)
    if (there.version() + 1) % int(there.metadata().configuration.get(CHECKPOINT_INTERVAL, _CHECKPOINT)) == 0:
        return None
    how: dict[str, Any] = {"mode": "append"} if where is None else {"mode": "overwrite", "predicate": where}
    write_deltalake(
        there,
        rows,
        **how,
        schema_mode="merge",  # columns of a newer walsafe are NULL
        writer_properties=WriterProperties(compression="ZSTD"),
        commit_properties=CommitProperties(custom_metadata={"userMetadata": token}),
        post_commithook_properties=_NO_CHECKPOINT,
    )
    return there.version()


def _committed(location: str, token: str) -> int | None:
    """Returns the newest version if one of the last commits carries the token."""
    there = DeltaTable(location)
    return there.version() if any(one.get("userMetadata") == token for one in there.history(_LATEST)) else None
