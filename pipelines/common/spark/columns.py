"""Builds column expressions that Spark analyzes and joins cheaply."""

from collections.abc import Iterable, Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def in_turn(columns: Mapping[str, Column]) -> tuple[Column, ...]:
    """Returns columns for one `select`; each may use the columns before it (Spark's lateral column aliases).

    `select("*", *in_turn(columns))` gives the same result as one `withColumn` after the other, but Spark analyzes the
    plan once and not once per column.

    Args:
        columns: the expressions by name, in order. If the frame already has a column of the same name, later
            expressions see the frame's column.
    """
    return tuple(column.alias(name) for name, column in columns.items())


def prefix_columns(frame: DataFrame, prefix: str) -> list[Column]:
    """Returns the columns of a frame, each renamed to `<prefix>_<name>`, so that no name clashes in a join."""
    return [F.col(name).alias(f"{prefix}_{name}") for name in frame.schema.names]


def same_but_no_key(pairs: Iterable[tuple[str, str]]) -> Column:
    """Returns a condition that the two columns of each pair are equal, for a join that already has its key.

    The condition uses `>=` and `<=`. Spark makes every equality another join key, even one in a filter after the join,
    and then copies that column of every row for the lookup.
    """
    return reduce(Column.__and__, ((F.col(own) >= F.col(other)) & (F.col(own) <= F.col(other)) for own, other in pairs))
