"""The lake that the tests of maintain get copies of."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from schemas.runs import RUNS
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.maintained_lake import A_NIGHTS, MANY_FILES, Place, key, run_row, verdict


@pytest.fixture(scope="session")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lake that every test gets a copy of; two tables of it are there, as in a lake of an older walsafe."""
    place = Place(spark, tmp_path_factory.mktemp("maintain"))
    tables, of_a, of_b = place.tables, [key("a", ago) for ago in A_NIGHTS], key("b", 200)
    tables.ensure((RUNS, WAL_VERDICTS))
    rows = [run_row(one, ago) for one, ago in zip(of_a, A_NIGHTS, strict=True)]
    tables.append_rows(RUNS, [*rows, run_row(of_b, 200), run_row(key("a", 100), 100, "STARTED")])
    tables.append_rows(WAL_VERDICTS, [verdict(one, f"oldWALs/w{n}") for one in (*of_a, of_b) for n in range(3)])
    for number in range(3, 6):
        tables.append_rows(WAL_VERDICTS, [verdict(key("a", MANY_FILES), f"oldWALs/w{number}")])
    return place.root


@pytest.fixture
def place(spark: SparkSession, made: Path, tmp_path: Path) -> Place:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return Place(spark, tmp_path)
