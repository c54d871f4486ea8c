"""Makes small DataFrames from values of the driver, without a Python worker.

`createDataFrame` of a list pickles its rows through a Python worker on an executor. That needs pyspark on the executor
and a second to start. An Arrow table becomes a local relation in the plan.
"""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

_IN_UTC: dict[str, Any] = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}
"""Spark 4.2 asks for the time zone of instants; 4.0 and 4.1 always take UTC."""


def arrow_schema(schema: StructType) -> pa.Schema:
    """Returns the Arrow schema of rows; instants are in UTC."""
    return to_arrow_schema(schema, **_IN_UTC)


def local_frame(spark: SparkSession, rows: Iterable[Sequence[object]], schema: StructType) -> DataFrame:
    """Makes a DataFrame of a few rows.

    Args:
        spark: the session.
        rows: tuples in the order of the schema; structs as tuples, timestamps as datetimes with a time zone.
        schema: the schema of the result.
    """
    return spark.createDataFrame(arrow_rows(rows, schema), schema)


def arrow_rows(rows: Iterable[Sequence[object]], schema: StructType) -> pa.Table:
    """Returns the same rows as an Arrow table."""
    values = list(rows)
    return arrow_columns({name: [row[index] for row in values] for index, name in enumerate(schema.names)}, schema)


def arrow_columns(columns: Mapping[str, Sequence[object]], schema: StructType) -> pa.Table:
    """Returns columns, given by name, as an Arrow table; values as `local_frame` takes them."""
    arrow = arrow_schema(schema)
    return pa.Table.from_arrays([pa.array(columns[field.name], type=field.type) for field in arrow], schema=arrow)
