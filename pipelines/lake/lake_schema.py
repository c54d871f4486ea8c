"""Compares the columns of an existing table with those that this walsafe writes; columns are only ever added."""

from collections.abc import Iterator

from pyspark.sql.types import ArrayType, DataType, StructType

from pipelines.common.errors import UsageError
from schemas.table import Table


def leaf_columns(kind: DataType, path: str = "") -> Iterator[tuple[str, str]]:
    """Yields each leaf column of structs and arrays with its type, such as `blocking.element.wal` and `string`."""
    if isinstance(kind, StructType):
        for field in kind:
            yield from leaf_columns(field.dataType, f"{path}.{field.name}" if path else field.name)
    elif isinstance(kind, ArrayType):
        yield from leaf_columns(kind.elementType, f"{path}.element")
    else:
        yield path, kind.simpleString()


def lacks_columns(there: StructType, known: StructType) -> bool:
    """Returns whether the table lacks a known column, as one that an older walsafe created."""
    return not {path for path, _ in leaf_columns(known)} <= {path for path, _ in leaf_columns(there)}


def column_fault(there: StructType, table: Table, location: str) -> UsageError | None:
    """Returns why the table at `location` cannot take this walsafe's rows, or None; further columns are allowed."""
    types = dict(leaf_columns(there))
    for path, kind in leaf_columns(table.schema):
        if types.get(path, kind) != kind:
            return UsageError(
                f"Delta table {location}: column {path} is {types[path]}, this walsafe writes {kind}; "
                "another program made this table, so give --lake a folder of its own"
            )
    return None


def same_columns(frame: StructType, table: Table) -> None:
    """Checks that a frame has exactly its table's columns, in order and type.

    Raises:
        ValueError: a bug in the caller; the message names the first difference.
    """
    have, want = list(leaf_columns(frame)), list(leaf_columns(table.schema))
    if frame.names != table.schema.names or have != want:
        difference = next((pair for pair in zip(have, want, strict=False) if pair[0] != pair[1]), "a column is missing")
        raise ValueError(f"the frame for {table.name} does not have its columns: {difference}")
