"""conf/catalog/ is what the schemas say, and each file is of the language of its catalog."""

import json
import re

import pytest
import sqlglot
import yaml
from sqlglot import exp

from schemas.registry import SYNC_TABLES, TABLES
from schemas.table import Table
from scripts.catalog import FILES
from scripts.generate_tables import CATALOG

LAST = [table.name for table in SYNC_TABLES]
NAMES = [table.name for table in TABLES if table.name not in LAST] + LAST


def statements(name: str) -> list[str]:
    text = (CATALOG / name).read_text(encoding="utf-8")
    return [part.strip() for part in re.split(r"(?<!\\);\n", text.partition("\n")[2]) if part.strip()]


@pytest.mark.promise("catalogs-follow-the-schemas")
@pytest.mark.parametrize("name", FILES)
def test_each_file_is_generated_from_the_schemas(name: str) -> None:
    assert (CATALOG / name).read_text(encoding="utf-8") == FILES[name](), "run: python -m scripts.generate_tables"


@pytest.mark.promise("catalogs-follow-the-schemas")
def test_there_is_no_other_file() -> None:
    assert {path.name for path in CATALOG.iterdir()} == set(FILES)


@pytest.mark.parametrize(
    ("name", "dialect", "slash"),
    [("unity.sql", "databricks", ""), ("athena.sql", "athena", "/"), ("hive.sql", "hive", "")],
)
def test_statements_register_each_table_where_it_is(name: str, dialect: str, slash: str) -> None:
    first, *tables = [
        sqlglot.parse_one(one, read=dialect) for one in statements(name) if not one.startswith("DESCRIBE")
    ]
    assert isinstance(first, exp.Create)
    assert first.kind in {"SCHEMA", "DATABASE"}
    found = {}
    for table in tables:
        assert isinstance(table, exp.Create)
        location = table.find(exp.LocationProperty)
        assert location is not None
        found[table.find(exp.Table).sql()] = location.this.this
    assert found == {f"walsafe.{table}": f"${{lake}}/{table}{slash}" for table in NAMES}


@pytest.mark.promise("registration-writes-nothing")
def test_spark_looks_for_each_table_before_it_registers_it() -> None:
    _, *rest = statements("unity.sql")
    assert rest[::2] == [f"DESCRIBE DETAIL delta.`${{lake}}/{table}`" for table in NAMES]
    assert [one.rpartition("/")[2].strip("'") for one in rest[1::2]] == NAMES


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_hive_gets_every_column_with_its_comment(table: Table) -> None:
    text = statements("hive.sql")[1 + NAMES.index(table.name)]
    comments = sqlglot.parse_one(text, read="hive").find_all(exp.CommentColumnConstraint)
    told = {one.find_ancestor(exp.ColumnDef).name: one.this.this.replace("\\;", ";") for one in comments}
    assert told == {field.name: field.metadata["comment"] for field in table.schema}


def test_trino_registers_each_table_where_it_is() -> None:
    arguments = r"schema_name => 'walsafe', table_name => '(\w+)', table_location => '(\S+)'"
    call = rf"CALL delta\.system\.register_table\({arguments}\)"
    found = [re.fullmatch(call, one) for one in statements("trino.sql")[1:]]
    assert [one and one.groups() for one in found] == [(table, f"${{lake}}/{table}") for table in NAMES]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_glue_and_dbt_get_every_column(table: Table) -> None:
    place = NAMES.index(table.name)
    request = json.loads((CATALOG / "glue.jsonl").read_text(encoding="utf-8").splitlines()[place])["TableInput"]
    columns = [*request["StorageDescriptor"]["Columns"], *request["PartitionKeys"]]
    types = {field.name: field.dataType.simpleString() for field in table.schema}
    assert (request["Name"], {one["Name"]: one["Type"] for one in columns}) == (table.name, types)
    assert [one["Name"] for one in request["PartitionKeys"]] == list(table.partitioned_by)
    assert all(0 < len(one["Comment"]) <= 255 for one in columns), "Glue takes no more"
    (source,) = yaml.safe_load((CATALOG / "sources.yml").read_text(encoding="utf-8"))["sources"]
    told = source["tables"][place]
    assert (told["name"], {one["name"]: one["data_type"] for one in told["columns"]}) == (table.name, types)
