"""The five audits on simulated splits: quiet on good ones, and each broken one is seen by those that should see it."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from pipelines.common.errors import UsageError
from pipelines.files.file_reader import HadoopFileReader
from pipelines.pegasus.simulate.emission.files import write_table
from tests.labs.documented_commands import blocks
from tests.labs.job_answer import job_answer
from tests.labs.places import DOCS
from tests.models.commands import main as models
from tests.models.split.audit_matrix import matrix_lines, seen
from tests.models.split.audits import audited
from tests.models.split.cases import tables

pytestmark = pytest.mark.long


def matrix() -> str:
    """The generated table of the page."""
    (found,) = [block for block in blocks(DOCS / "split-model.md", "text") if block.startswith("table good")]
    return found


def run(spark: SparkSession, root: Path, job: str, *options: str) -> tuple[int, dict[str, Any]]:
    return job_answer(JobContext(job, spark=spark), root, *options)


def searched(spark: SparkSession, root: Path, *options: str) -> tuple[int, dict[str, Any]]:
    words = ["split", *options, "--result", f"{root}/result.json"]
    code = models(words, context=JobContext("split", spark=spark))
    return code, json.loads((root / "result.json").read_text())


def test_the_audits_of_a_good_split_raise_nothing(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "emitted here"
    options = ("--emit", str(out), "--first-seed", "3", "--rows", "F7", "F36", "--confirmed", "45")
    code, result = searched(spark, tmp_path, *options)
    assert (code, result["broken"], result["partitions"], len(result["commands"])) == (0, [], 4, 5)
    for command in result["commands"]:
        _, job, *words = shlex.split(command)
        code, answer = run(spark, tmp_path, job, *words)
        assert (code, [one for one in answer["findings"] if one["severity"] != "info"]) == (0, []), command
        if job == "split-audit-log":
            assert {reason.split()[1] for reason in answer["verdicts"]} == {"NEWEST_LOG", "NOT_NEEDED"}
            assert len(answer["deletable"]) >= 8, "the oldest logs of the parents, as far as the duplication has them"


@pytest.mark.promise("exit-2")
@pytest.mark.parametrize(
    "command",
    [
        "split-audit-config --states {0}",
        "split-audit-log --logs {1} --facts {0}",
        "split-route --journal {0} --from 4",
    ],
)
def test_a_path_that_is_not_there_is_a_wrong_call(spark: SparkSession, tmp_path: Path, command: str) -> None:
    missing = tmp_path / "states" / "missing.json"
    code, result = run(spark, tmp_path, *shlex.split(command.format(missing, tmp_path)))
    assert (code, result["error"]["message"]) == (2, f"no such file: {missing}; check the path")
    code, result = run(spark, tmp_path, *shlex.split(command.format(f"file:{missing}", tmp_path)))
    assert (code, result["error"]["message"]) == (2, f"no such file: file:{missing}; check the path")
    for read in (HadoopFileReader(spark).read, HadoopFileReader(spark).sha256):
        with pytest.raises(UsageError, match=re.escape(f"no such file: file:{missing}; check the path")):
            read(f"file:{missing}")


def test_the_example_of_split_audit_config(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "emitted"
    options = ("--emit", str(out), "--groups", "2", "--rows", "F11", "F2", "--design", "shipped")
    assert searched(spark, tmp_path, *options)[1]["broken"] == ["STUCK"]
    capsys.readouterr()
    code, _ = run(spark, tmp_path, "split-audit-config", "--states", f"{out}/states")
    assert (code, capsys.readouterr().out) == (3, blocks(DOCS / "split-audit-config.md", "text")[0])


@pytest.mark.deep
def test_every_mutant_is_seen_by_the_audits_that_should_see_it(spark: SparkSession, tmp_path: Path) -> None:
    cases = tables()["broken"]
    emitted = write_table(str(tmp_path / "broken"), [case.history for case in cases])
    found = seen(cases, audited(JobContext("split", spark=spark), tmp_path / "broken", emitted))
    assert [row.case.name for row in found if not row.is_right] == []
    lines = list(matrix_lines("broken", found))
    assert "\n".join(lines) in matrix(), "./tests/run --search split --audits DIR says what the page should"


@pytest.mark.deep
def test_every_row_and_every_mutant_as_the_page_has_it(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, result = searched(spark, tmp_path, "--audits", str(tmp_path / "audits"))
    assert (code, result["wrong"]) == (0, [])
    assert capsys.readouterr().out == matrix()
    rows = {row["split"]: row for table in ("good", "cancelled") for row in result["tables"][table]}
    assert {f"F{number}" for number in range(1, 40)} <= set(rows)
    assert not any(row["seen"] for row in rows.values())
