"""Parses request journals into rows, and selects their acknowledged writes."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from pipelines.common.errors import UsageError
from pipelines.pegasus.domain.journal import OK, JournalRequest, parse_request

_TEXTS = {"client", "kind", "code", "node", "hash"}
ASKED = StructType(
    [
        *(
            StructField(field.name, StringType() if field.name in _TEXTS - {"hash"} else LongType())
            for field in fields(JournalRequest)
        ),
        StructField("fault", StringType()),
    ]
)
"""`hash` is signed. `fault` says what is wrong with a line; the other columns except `line` are then NULL."""


def parsed_lines(lines: DataFrame, where: str) -> DataFrame:
    """Parses the lines of a journal to the columns of `ASKED`.

    Args:
        lines: the text of each line in `value`, and its number in `line`.
        where: the name of the journal in messages.
    """

    def parse(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            rows = [_row(text, line, where) for text, line in zip(*map(_list, batch.columns), strict=True)]
            schema = to_arrow_schema(ASKED)
            columns = [pa.array([row.get(field.name) for row in rows], type=field.type) for field in schema]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return lines.select("value", "line").mapInArrow(parse, ASKED)


def refuse_invalid_line(asked: DataFrame) -> None:
    """Checks that every line of a journal is valid.

    Raises:
        UsageError: a line is invalid; the message names file, line and key of the first one.
    """
    fault = asked.where("fault IS NOT NULL").orderBy("line").head()
    if fault is not None:
        raise UsageError(str(fault["fault"]))


def acknowledged_writes(asked: DataFrame, app_id: int) -> DataFrame:
    """Returns the writes that were acknowledged with a known decree: app_id, partition, decree, hash."""
    done = asked.where((F.col("kind") == "write") & (F.col("code") == OK) & F.col("decree").isNotNull())
    return done.select(F.lit(app_id).alias("app_id"), F.col("partition").cast("int"), "decree", "hash")


def _list(column: Any) -> list[Any]:  # noqa: ANN401 - pyarrow ships no types
    found: list[Any] = column.to_pylist()
    return found


def _row(text: str, line: int, where: str) -> dict[str, object]:
    try:
        asked = parse_request(text, line, where)
    except UsageError as error:
        return {"line": line, "fault": str(error)}
    row: dict[str, object] = {field.name: getattr(asked, field.name) for field in fields(JournalRequest)}
    return {**row, "hash": asked.hash - (1 << 64) if asked.hash >> 63 else asked.hash}
