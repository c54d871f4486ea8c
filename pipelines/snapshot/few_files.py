"""Reads the listing of a small snapshot on the local disk without Spark, whose first query of Parquet is slow."""

import re

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.common.spark.few_rows import few
from pipelines.files.local_paths import local_path
from pipelines.snapshot.opened_snapshot import OpenedSnapshot

_WRITTEN = re.compile(r"files/part-\d+\.parquet")
"""Spark reads no file whose name begins with `_` or `.`, for example."""
_SCHEMA = pa.schema(
    [("path", pa.string()), ("length", pa.int64()), ("modification_time", pa.timestamp("us", tz="UTC"))]
)


def few_files(opened: OpenedSnapshot) -> dict[str, pa.Table] | None:
    """Returns the rows of each part, by the name in snapshot.json; None = Spark must read them.

    Spark reads whatever is not exactly as walsafe writes it, and says what is wrong with it.
    """
    folder = local_path(opened.uri)
    if folder is None or not few(opened.known.listed):
        return None
    names = [name for name in opened.known.contents if name.startswith("files/")]
    if not all(map(_WRITTEN.fullmatch, names)):
        return None
    try:
        files = {name: pq.ParquetFile(folder / name) for name in sorted(names)}
        if not few(sum(file.metadata.num_rows for file in files.values())):
            return None
        parts = {name: file.read() for name, file in files.items()}
        for rows in parts.values():
            rows.validate(full=True)  # a path may not be UTF-8
        return {name: rows.cast(_SCHEMA) for name, rows in parts.items()} if all(map(_usual, parts.values())) else None
    except (OSError, pa.ArrowException):
        return None


def _usual(rows: pa.Table) -> bool:
    kinds = [("path", pa.types.is_string), ("length", pa.types.is_int64), ("modification_time", _is_instant)]
    return rows.schema.names == [name for name, _ in kinds] and all(
        is_kind(rows.schema.field(name).type) for name, is_kind in kinds
    )


def _is_instant(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.unit in {"ms", "us"} and kind.tz == "UTC"
