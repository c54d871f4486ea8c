"""Makes the files of conf/catalog/ from the schemas: the tables registered with Hive, Unity, Trino and AWS, and dbt.

`${lake}` in them is the folder of the tables; docs/catalogs.md says how to fill it in. Each statement names its source.
"""

import json
from collections.abc import Callable, Mapping

import yaml
from pyspark.sql.types import ArrayType, DataType, StructType

from schemas.registry import SYNC_TABLES, TABLES
from schemas.table import Table

SCHEMA = "walsafe"
IN_ORDER: tuple[Table, ...] = (*(table for table in TABLES if table not in SYNC_TABLES), *SYNC_TABLES)
"""Those that many lakes lack come last, because a client may stop at the first table that it does not find."""
_LAKE = "${lake}"
_GENERATED = (
    "-- Generated from schemas/ by `python -m scripts.generate_tables`. "
    "${lake} is the folder of the tables: docs/catalogs.md.\n"
)
_PARQUET = "org.apache.hadoop.hive.ql.io.parquet"


def _hive() -> str:
    """Delta's connector for Hive 2 and 3 (delta-io/delta, branch-3.3, connectors/hive/README.md) wants the columns."""
    return _sql(f"CREATE DATABASE IF NOT EXISTS {SCHEMA}", _hive_table)


def _hive_table(table: Table) -> str:
    columns = ",\n".join(
        f"  `{field.name}` {_hive_type(field.dataType)} COMMENT {_quoted(field.metadata['comment'])}"
        for field in table.schema
    )
    return (
        f"CREATE EXTERNAL TABLE IF NOT EXISTS {SCHEMA}.{table.name} (\n{columns}\n)\n"
        f"COMMENT {_quoted(table.comment)}\n"
        f"STORED BY 'io.delta.hive.DeltaStorageHandler'\nLOCATION '{_LAKE}/{table.name}'"
    )


def _hive_type(kind: DataType) -> str:
    if isinstance(kind, ArrayType):
        return f"array<{_hive_type(kind.elementType)}>"
    if isinstance(kind, StructType):
        return "struct<" + ",".join(f"`{field.name}`:{_hive_type(field.dataType)}" for field in kind) + ">"
    return kind.simpleString()


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace(";", "\\;") + "'"


def _unity() -> str:
    """In a folder without a table, CREATE TABLE would write an empty one into the lake: DESCRIBE DETAIL fails first."""
    return _sql(
        f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}",
        lambda table: (
            f"DESCRIBE DETAIL delta.`{_LAKE}/{table.name}`;\n"
            f"CREATE TABLE IF NOT EXISTS {SCHEMA}.{table.name} USING DELTA LOCATION '{_LAKE}/{table.name}'"
        ),
    )


def _trino() -> str:
    return _sql(
        f"CREATE SCHEMA IF NOT EXISTS delta.{SCHEMA}",
        lambda table: (
            f"CALL delta.system.register_table(schema_name => '{SCHEMA}', table_name => '{table.name}', "
            f"table_location => '{_LAKE}/{table.name}')"
        ),
    )


def _athena() -> str:
    return _sql(
        f"CREATE DATABASE IF NOT EXISTS {SCHEMA}",
        lambda table: (
            f"CREATE EXTERNAL TABLE {SCHEMA}.{table.name} LOCATION '{_LAKE}/{table.name}/' "
            "TBLPROPERTIES ('table_type' = 'DELTA')"
        ),
    )


def _sql(first: str, statement: Callable[[Table], str]) -> str:
    return _GENERATED + "".join(f"{text};\n" for text in (first, *map(statement, IN_ORDER)))


def _glue() -> str:
    """Returns one request of `aws glue create-table` a line; the fields are those that Apache XTable writes."""
    return "".join(f"{json.dumps(_glue_table(table))}\n" for table in IN_ORDER)


def _glue_table(table: Table) -> Mapping[str, object]:
    location = f"{_LAKE}/{table.name}"
    columns = {
        field.name: {
            "Name": field.name,
            "Type": field.dataType.simpleString(),
            "Comment": _at_most(field.metadata["comment"], 255),
        }
        for field in table.schema
    }
    partitions = [columns.pop(name) for name in table.partitioned_by]
    storage = {
        "Columns": list(columns.values()),
        "Location": location,
        "InputFormat": f"{_PARQUET}.MapredParquetInputFormat",
        "OutputFormat": f"{_PARQUET}.MapredParquetOutputFormat",
        "SerdeInfo": {
            "SerializationLibrary": f"{_PARQUET}.serde.ParquetHiveSerDe",
            "Parameters": {"serialization.format": "1", "path": location},
        },
    }
    return {
        "DatabaseName": SCHEMA,
        "TableInput": {
            "Name": table.name,
            "Description": table.comment,
            "TableType": "EXTERNAL_TABLE",
            "Parameters": {"EXTERNAL": "TRUE", "table_type": "DELTA", "spark.sql.sources.provider": "DELTA"},
            "PartitionKeys": partitions,
            "StorageDescriptor": storage,
        },
    }


def _at_most(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _dbt() -> str:
    """Sources of dbt; dbt-duckdb reads them from the lake itself, every other adapter in the registered schema."""
    source = {
        "name": SCHEMA,
        "description": "The tables of walsafe: which HBase WALs are delete-safe, and who holds every other one.",
        "schema": SCHEMA,
        "config": {"meta": {"external_location": 'delta_scan(\'{{ env_var("WALSAFE_LAKE", "") }}/{name}\')'}},
        "tables": [
            {
                "name": table.name,
                "description": table.comment,
                "columns": [
                    {
                        "name": field.name,
                        "description": field.metadata["comment"],
                        "data_type": field.dataType.simpleString(),
                        **({} if field.nullable else {"data_tests": ["not_null"]}),
                    }
                    for field in table.schema
                ],
            }
            for table in IN_ORDER
        ],
    }
    head = "# Generated from schemas/ by `python -m scripts.generate_tables`: docs/catalogs.md.\n"
    text = yaml.safe_dump({"version": 2, "sources": [source]}, sort_keys=False, allow_unicode=True, width=120)
    return head + text


FILES: Mapping[str, Callable[[], str]] = {
    "hive.sql": _hive,
    "unity.sql": _unity,
    "trino.sql": _trino,
    "athena.sql": _athena,
    "glue.jsonl": _glue,
    "sources.yml": _dbt,
}
"""What makes each file of conf/catalog/."""
