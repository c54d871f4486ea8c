"""A lake that maintain cannot read, in part or at all."""

from pathlib import Path
from typing import NoReturn

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from jobs.cli.entry import main
from pipelines.common.errors import UnavailableError
from pipelines.lake.lake_queries import LakeQueries
from pipelines.maintain import kept_runs
from pipelines.maintain.kept_runs import KeptRuns
from schemas.deletions import DELETIONS
from schemas.runs import RUNS
from schemas.table import Table
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.maintained_lake import Place, add_list, edited_log, errors_of, table_of, with_folders


@pytest.mark.long
def test_a_damaged_table_is_told_and_the_others_have_their_turn(place: Place) -> None:
    (place.log(WAL_VERDICTS) / f"{1:020}.json").write_text('{"add":{"pa')
    edited_log(place, WAL_VERDICTS, str)
    outcome = place.maintain(config="maintain: {keep: {other_tables: 90d}}")
    assert outcome.exit_code == 2
    assert list(errors_of(outcome)) == ["wal_verdicts"]
    assert "transaction log is damaged: restore it from a backup" in errors_of(outcome)["wal_verdicts"]
    assert "! wal_verdicts: Delta table" in outcome.text
    assert ("a", "run-100") not in place.nights(RUNS)


@pytest.mark.long
def test_nothing_is_dropped_where_it_is_not_known_what_is_needed(place: Place) -> None:
    (place.log(RUNS) / f"{1:020}.json").write_text('{"add":{"pa')
    edited_log(place, RUNS, str)
    before = place.nights()
    add_list(place, "a", "run-300", 300)
    outcome = place.maintain(config=with_folders(place))
    assert outcome.exit_code == 2
    assert set(errors_of(outcome)) == {"runs to keep", "runs"}
    assert place.nights() == before
    assert table_of(outcome)["compacted"]["partitions"] == 1
    assert outcome.result["expired"] == []


@pytest.mark.parametrize("failing", [RUNS, DELETIONS], ids=lambda table: table.name)
def test_if_spark_fails_another_try_may_tell_what_is_needed(
    place: Place, monkeypatch: pytest.MonkeyPatch, failing: Table
) -> None:
    """A stage of Spark fails for a reason that has nothing to do with the lake."""

    def failed(*_: object) -> NoReturn:
        raise PySparkException("Job aborted due to stage failure: executor lost")

    place.tables.ensure((DELETIONS,))
    if failing is RUNS:
        monkeypatch.setattr(LakeQueries, "rows", failed)
    else:
        monkeypatch.setattr(kept_runs, "_in_quarantine", failed)
    with pytest.raises(UnavailableError, match=f"{failing.name}: Job aborted due to stage failure: .*try again"):
        KeptRuns(place.spark, f"file:{place.lake}").needed(1)


def test_no_lake_is_said(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("cluster: a\n")
    context = JobContext("maintain", spark=spark)
    assert main(["maintain", "--lake", str(tmp_path / "no"), "--config", str(config)], context=context) == 2
    assert "check --lake" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [config]
