"""Columns as Spark is to take them: several in one question to the JVM, comparisons that are no keys."""

from collections.abc import Iterable, Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def in_turn(columns: Mapping[str, Column]) -> tuple[Column, ...]:
    """Columns to select, each of which may use those before it (Spark's lateral column aliases).

    `select("*", *in_turn(columns))` is the same as one `withColumn` after the other, each of which has the whole plan
    analyzed anew.

    Args:
        columns: by name, in turn; one with the name of a column of the frame is not what those after it see.
    """
    return tuple(column.alias(name) for name, column in columns.items())


def prefixed(frame: DataFrame, prefix: str) -> list[Column]:
    """The columns of a frame under names that no other side of a join has: `<prefix>_<name>`."""
    return [F.col(name).alias(f"{prefix}_{name}") for name in frame.schema.names]


def same_but_no_key(pairs: Iterable[tuple[str, str]]) -> Column:
    """Whether the columns of each pair are equal, for a join that has its key already.

    Written as two comparisons: Spark makes every equality another key, and then copies that column of every row to look
    it up, even where it stands in a filter after the join.
    """
    return reduce(Column.__and__, ((F.col(own) >= F.col(other)) & (F.col(own) <= F.col(other)) for own, other in pairs))
