"""A lake that deltalake alone writes and reads: tests of what is asked of it need no JVM."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake
from pyspark.sql.types import TimestampType

from pipelines.common.spark.local_frames import arrow_schema
from pipelines.lake.delta_rs import DeltaRs
from pipelines.lake.lake_queries import LakeQueries
from pipelines.lake.reader import LakeReader
from schemas.table import Table


def append(lake: Path, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
    """Appends rows; a column that a row lacks is NULL, and instants are ms since the epoch."""
    instants = {field.name for field in table.schema if isinstance(field.dataType, TimestampType)}
    values = [
        {name: _instant(row.get(name)) if name in instants else row.get(name) for name in table.schema.fieldNames()}
        for row in rows
    ]
    data = pa.Table.from_pylist(values, schema=arrow_schema(table.schema))
    write_deltalake(lake / table.name, data, partition_by=["run_date"], mode="append")


def reader(lake: Path) -> LakeReader:
    """Returns the reader of the lake by deltalake alone."""
    return LakeReader(LakeQueries(str(lake), DeltaRs.of(f"file:{lake}", {}), None))


def _instant(ms: object) -> datetime | None:
    return datetime.fromtimestamp(ms / 1000, UTC) if isinstance(ms, int) else None
