"""clean, restore and purge on a cluster of ten real files, through the stores and tables of production."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.domain.errors import RefusedError
from pipelines.domain.settings import DAY_MS
from tests.cleanup_lab import RUN, Lab
from tests.small_cluster import D1, H1, H2, archived

DELETABLE = {archived(H1, 1, 1).path, archived(H2, 1, 16).path, archived(D1, 1, 64).path}


@pytest.fixture
def lab(spark: SparkSession, tmp_path: Path) -> Lab:
    """A night is over: its list waits."""
    lab = Lab(spark, tmp_path)
    outcome = lab.night()
    assert outcome.exit_code == 0, outcome.text
    return lab


def test_there_and_back_and_gone(lab: Lab) -> None:
    """The whole life of a list: rehearsed, cleaned, restored in part, waiting, purged."""
    before = lab.home()
    rehearsal = lab.clean()
    assert (rehearsal.exit_code, rehearsal.result["status"], rehearsal.result["done_files"]) == (0, "REHEARSAL", 4)
    assert "Nothing was touched" in rehearsal.text
    assert lab.home() == before
    assert lab.rows("deletions") == []

    done = lab.clean(execute=True)
    assert (done.exit_code, done.result["status"], done.result["done_files"], done.result["done_bytes"]) == (
        0, "DONE", 4, 593,
    )  # fmt: skip
    moved = before - lab.home()
    assert moved > DELETABLE
    assert lab.resting() == dict.fromkeys(moved, RUN)
    assert lab.outcomes() == dict.fromkeys(moved, "MOVED")
    intents = lab.rows("deletions", "phase = 'INTENT'")
    assert {one["path"] for one in intents} == moved
    assert [one["status"] for one in sorted(lab.rows("cleanups"), key=lambda one: one["status"])] == ["DONE", "STARTED"]

    with pytest.raises(RefusedError, match="was cleaned before, and a list is cleaned once"):
        lab.clean(execute=True)
    again = lab.clean(resume=True)
    assert (again.result["status"], again.result["done_files"]) == ("DONE", 0)

    back = archived(H1, 1, 1).path
    restored = lab.restore(back)
    assert (restored.exit_code, restored.result["done_files"]) == (0, 1)
    assert back in lab.home()
    assert lab.outcomes()[back] == "RESTORED"
    with pytest.raises(RefusedError, match="restored or purged already"):
        lab.clean(resume=True)

    waiting = lab.purge(execute=True)
    assert [one["status"] for one in waiting.result["runs"]] == ["WAITING"]  # type: ignore[index, union-attr]
    assert len(lab.resting()) == 3
    lab.clock.instant += 8 * DAY_MS
    assert lab.purge().result["runs"][0]["status"] == "REHEARSAL"  # type: ignore[index]
    assert len(lab.resting()) == 3
    purged = lab.purge(execute=True)
    assert [(one["status"], one["done_files"]) for one in purged.result["runs"]] == [("DONE", 3)]  # type: ignore[index, union-attr]
    assert lab.resting() == {}
    assert sorted(lab.outcomes().values()) == ["PURGED"] * 3 + ["RESTORED"]
    assert lab.home() == before - moved | {back}
    assert "Nothing of prod is in quarantine" in lab.purge().text
