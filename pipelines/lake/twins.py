"""Fills the columns that follow from another column of the same row, as rows of the driver and as frames.

Such a *twin* is `host` beside `server`, a plain name beside a column whose name is a word of SQL, or a timestamp beside
an instant in ms (`schemas/table.py`).
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.common.instants import LAST_MS
from schemas.table import PLAIN_NAMES, TIMES, Table


def twins_of(table: Table) -> dict[str, str]:
    """Returns the table's twins: the name of each, and of the column that it follows from."""
    pairs = {"server": "host"} | dict(TIMES) | {name: plain for name, (plain, _) in PLAIN_NAMES.items()}
    names = set(table.schema.names)
    return {twin: name for name, twin in pairs.items() if {name, twin} <= names}


def columns_of(table: Table, rows: Sequence[Mapping[str, object]]) -> dict[str, list[object]]:
    """Returns the values of each column of the table, by name, for rows of the driver.

    A twin that a row does not have follows from its column; timestamps are ms since the epoch, as in the rows.
    """
    twins = twins_of(table)
    return {name: _values(name, twins.get(name), rows) for name in table.schema.names}


def twin_columns(table: Table) -> dict[str, Column]:
    """Returns the twins as expressions over a frame that has the other columns."""
    return {twin: _expression(name) for twin, name in twins_of(table).items()}


def _values(name: str, source: str | None, rows: Sequence[Mapping[str, object]]) -> list[object]:
    if source is None:
        return [row.get(name) for row in rows]
    return [row[name] if name in row else _value(source, row.get(source)) for row in rows]


def _value(name: str, value: object) -> object:
    if name in TIMES:
        return value if isinstance(value, int) and 0 <= value <= LAST_MS else None
    return value.partition(",")[0] if name == "server" and isinstance(value, str) else value


def _expression(name: str) -> Column:
    if name in TIMES:
        return F.when(F.col(name).between(0, LAST_MS), F.timestamp_millis(name))
    return F.substring_index(name, ",", 1) if name == "server" else F.col(name)
