"""Columns that follow from another column: every table that needs one has it, and rows and frames fill it alike."""

from collections.abc import Mapping
from datetime import UTC, date, datetime

import pytest
from pyspark.sql.types import LongType

from pipelines.common.spark.local_frames import arrow_schema
from pipelines.lake.findings import INFO, finding
from pipelines.lake.run_summary import RunKey, table_row
from pipelines.lake.twins import columns_of, twins_of
from schemas.deletions import DELETIONS
from schemas.findings import FINDINGS
from schemas.queue_offsets import QUEUE_OFFSETS
from schemas.registry import TABLES
from schemas.runs import RUNS
from schemas.split_logs import SPLIT_LOGS
from schemas.split_partitions import SPLIT_PARTITIONS
from schemas.split_preflight import SPLIT_PREFLIGHT
from schemas.table import PLAIN_NAMES, TIMES, Table
from schemas.wal_tables import WAL_TABLES
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.analyst_lake import sql_words, with_tables

LAST_MS = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()) * 1000 + 999


def only_row(table: Table, row: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, (value,) in columns_of(table, [row]).items()}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_column_that_needs_a_twin_has_it(table: Table) -> None:
    needing = {name for name in table.schema.names if name in {"server", *PLAIN_NAMES, *TIMES}}
    assert set(twins_of(table).values()) == needing


def test_every_column_whose_name_is_a_word_of_sql_has_a_plain_name() -> None:
    words = sql_words()
    named = {name for table in TABLES for name in table.schema.names if name.lower() in words}
    assert len(words) > 60
    assert named == set(PLAIN_NAMES)
    assert {plain for plain, _ in PLAIN_NAMES.values()} & words == set()


def test_a_query_without_quotes_reads_every_column_or_its_twin() -> None:
    with with_tables(lambda table: arrow_schema(table.schema).empty_table()) as database:
        for table in TABLES:
            twins = {name: twin for twin, name in twins_of(table).items() if name in PLAIN_NAMES}
            columns = [twins.get(name, name) for name in table.schema.names]
            assert database.sql(f"SELECT {', '.join(columns)} FROM {table.name}").columns == columns  # noqa: S608 - names of our own tables


@pytest.mark.parametrize(
    ("table", "name", "twin", "value"),
    [
        (WAL_TABLES, "table", "table_name", "ns:u"),
        (SPLIT_PREFLIGHT, "table", "table_name", "t"),
        (SPLIT_PARTITIONS, "table", "table_name", "t"),
        (SPLIT_PARTITIONS, "primary", "primary_node", "r1:34801"),
        (SPLIT_LOGS, "foreign", "foreign_mutations", 3),
    ],
)
def test_a_plain_name_has_the_same_value(table: Table, name: str, twin: str, value: object) -> None:
    row = only_row(table, {name: value})
    assert (row[name], row[twin]) == (value, value)
    assert table.schema[name].dataType == table.schema[twin].dataType


def test_no_other_column_is_an_instant_in_ms() -> None:
    """Of numbers in ms, the lake has ages and lengths of time beside the instants that have a twin."""
    numbers = {field.name for table in TABLES for field in table.schema if field.dataType == LongType()}
    assert {name for name in numbers if name.endswith(("timestamp", "_at", "_time", "_since"))} == set(TIMES)


@pytest.mark.parametrize(("server", "host"), [("rs1.example.org,16020,5", "rs1.example.org"), (None, None)])
def test_a_row_with_a_server_has_its_host(server: str | None, host: str | None) -> None:
    found = finding("C", INFO, "", "m", "r", server=server)
    row = only_row(FINDINGS, table_row(RunKey("prod-a", "night-1", date(2026, 11, 21)), found))
    assert row["host"] == host


@pytest.mark.parametrize(
    ("ms", "time"),
    [(0, 0), (1_795_000_000_123, 1_795_000_000_123), (LAST_MS, LAST_MS), (LAST_MS + 1, None), (-1, None), (None, None)],
)
def test_an_instant_is_a_time_too_unless_no_calendar_has_it(ms: int | None, time: int | None) -> None:
    row = only_row(QUEUE_OFFSETS, {"need_timestamp": ms, "offset": -1})
    assert (row["needed_from"], row["oldest_pending_at"], row["offset_bytes"]) == (time, None, -1)
    assert only_row(WAL_VERDICTS, {"wal_timestamp": ms})["wal_at"] == time


def test_the_host_of_a_deletion_is_the_job_s_own() -> None:
    row = only_row(DELETIONS, {"host": "edge-1", "at": 5})
    assert {name: value for name, value in row.items() if value is not None} == {
        "host": "edge-1",
        "at": 5,
        "written_at": 5,
    }
    assert set(only_row(RUNS, {}).values()) == {None}


def test_each_row_has_its_own_values_and_a_twin_that_is_given_counts() -> None:
    columns = columns_of(FINDINGS, [{"server": "a,1,1"}, {"server": "b,1,1", "host": "given"}, {"host": None}, {}])
    assert (columns["server"], columns["host"]) == (["a,1,1", "b,1,1", None, None], ["a", "given", None, None])
