"""Fills the columns that follow from another column of the same row, as rows of the driver and as frames.

Such a *twin* is `host` beside `server`, a plain name beside a column whose name is a word of SQL, or a timestamp beside
an instant in ms (`schemas/table.py`).
"""

from collections.abc import Iterable, Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

from schemas.table import PLAIN_NAMES, TIMES, Table

_LAST_MS = 253_402_300_799_999
"""The end of the year 9999; a timestamp in the name of a WAL may be any number of 64 bits."""


def twins_of(table: Table) -> dict[str, str]:
    """Returns the table's twins: the name of each, and of the column that it follows from."""
    pairs = {"server": "host"} | dict(TIMES) | {name: plain for name, (plain, _) in PLAIN_NAMES.items()}
    names = set(table.schema.names)
    return {twin: name for name, twin in pairs.items() if {name, twin} <= names}


def with_twins(table: Table, rows: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    """Returns rows, by column name, with their twins; a row's own value counts; timestamps as ms since the epoch."""
    twins = twins_of(table)
    return [{twin: _value(name, row.get(name)) for twin, name in twins.items()} | dict(row) for row in rows]


def twin_columns(table: Table) -> dict[str, Column]:
    """Returns the twins as expressions over a frame that has the other columns."""
    return {twin: _expression(name) for twin, name in twins_of(table).items()}


def _value(name: str, value: object) -> object:
    if name in TIMES:
        return value if isinstance(value, int) and 0 <= value <= _LAST_MS else None
    return value.partition(",")[0] if name == "server" and isinstance(value, str) else value


def _expression(name: str) -> Column:
    if name in TIMES:
        return F.when(F.col(name).between(0, _LAST_MS), F.timestamp_millis(name))
    return F.substring_index(name, ",", 1) if name == "server" else F.col(name)
