"""Queries answered by deltalake alone, on small tables that it wrote itself."""

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from pipelines.common.errors import SparkNeededError
from pipelines.lake.delta_rs import DeltaRs
from pipelines.lake.lake_queries import LakeQueries
from pipelines.lake.query import Elements, Query, literal, rows_of
from pipelines.lake.run_summary import RunKey
from schemas.runs import RUNS
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.places import PROJECT

NIGHT = date(2026, 11, 21)
ODD = 'it\'s a \\ {path}: ü\n"%2C"'


@pytest.fixture
def lake(tmp_path: Path) -> LakeQueries:
    """A lake whose tables have fewer columns than today's."""
    identity = {"cluster": ["a", "a"], "run_id": ["one", "two"], "run_date": [NIGHT, NIGHT]}
    at = [datetime(2026, 11, 21, 2, 0, 0, 1999, UTC), None]
    runs = pa.table({**identity, "status": ["DONE", ODD], "at": pa.array(at, pa.timestamp("us", "UTC"))})
    write_deltalake(tmp_path / "runs", runs, partition_by=["run_date"])
    holders = [[{"peer_id": "1", "offset": 5}, {"peer_id": "2", "offset": -1}], []]
    verdicts = pa.table({**identity, "path": ["x", "y"], "blocking": holders})
    write_deltalake(tmp_path / "wal_verdicts", verdicts, partition_by=["run_date"])
    return LakeQueries(str(tmp_path), DeltaRs.of(f"file:{tmp_path}", {}), None)


def test_columns_of_later_versions_are_null_and_instants_are_ms(lake: LakeQueries) -> None:
    rows = lake.rows(Query(RUNS, "t.at, t.peer_ids, t.accepted, t.files, t.quiet", "status = 'DONE'"))
    at = int(datetime(2026, 11, 21, 2, tzinfo=UTC).timestamp()) * 1000 + 1
    assert rows == [{"at": at, "peer_ids": None, "accepted": None, "files": None, "quiet": None}]


@pytest.mark.parametrize(("text", "found"), [(ODD, ["two"]), ("DONE", ["one"]), ("' OR true OR '", []), ("", [])])
def test_any_text_is_compared_as_it_stands(lake: LakeQueries, text: str, found: list[str]) -> None:
    rows = lake.rows(Query(RUNS, "t.run_id", f"status = {literal(text)}"))
    assert [row["run_id"] for row in rows] == found


def test_rows_of_runs_and_each_of_an_array(lake: LakeQueries) -> None:
    both = [RunKey("a", name, NIGHT) for name in ("one", "two")]
    paths = Query(WAL_VERDICTS, "t.path", rows_of(both), "ORDER BY path DESC LIMIT 1")
    assert lake.rows(paths) == [{"path": "y"}]
    assert lake.rows(Query(WAL_VERDICTS, "t.path", rows_of([RunKey("a", "one", date(2026, 11, 22))]))) == []
    each = Query(
        WAL_VERDICTS, "t.path, one['offset'] AS n", rows_of(both), "ORDER BY n", Elements("blocking", ("path",), "true")
    )
    assert lake.rows(each) == [{"path": "x", "n": -1}, {"path": "x", "n": 5}]


@pytest.mark.parametrize(("one_answer", "seen"), [(True, 2), (False, 4)])
def test_one_answer_is_of_one_version_of_a_table(
    lake: LakeQueries, tmp_path: Path, one_answer: bool, seen: int
) -> None:
    asked = LakeQueries(lake.lake_uri, DeltaRs.of(f"file:{tmp_path}", {}, one_answer=one_answer), None)
    ids = Query(RUNS, "t.run_id", "true")
    first = asked.rows(ids)
    assert len(first) == 2
    write_deltalake(tmp_path / "runs", pa.table({"run_id": ["three", "four"]}), mode="append", schema_mode="merge")
    assert len(asked.rows(Query(RUNS, "t.run_id AS other", "true"))) == seen
    assert (asked.rows(ids) is first) == one_answer


def test_a_missing_table_is_a_question_for_spark(lake: LakeQueries, tmp_path: Path) -> None:
    (tmp_path / "runs" / "_delta_log" / f"{0:020}.json").write_text("{")
    assert not LakeQueries("", DeltaRs(f"{tmp_path}/nothing", {}), None).has(RUNS)
    assert lake.has(WAL_VERDICTS)
    with pytest.raises(SparkNeededError):
        lake.rows(Query(RUNS, "t.run_id", "true"))
    with pytest.raises(SparkNeededError):
        lake.rows(Query(WAL_VERDICTS, "t.run_id", "true"))  # not half by the one, half by the other


def test_no_setting_of_parquet_makes_pages_that_deltalake_refuses() -> None:
    """Without statistics of a column, parquet-java writes pages of version 2 whose number of nulls is -1."""
    settings = (PROJECT / "conf" / "spark-defaults.conf").read_text(encoding="utf-8")
    assert "parquet.writer.version" in settings
    assert "parquet.column.statistics.enabled" not in settings
