"""Attempts at one task do not disturb each other, and only whole files are published."""

from pathlib import Path

import pytest

from pipelines.common.errors import EXIT_DONE, EXIT_REFUSED, UnavailableError, UsageError
from pipelines.lake.findings import ERROR
from pipelines.lake.job_run import JobLake
from pipelines.pegasus.domain.offline.model import MANIFEST, PartFile, PartitionCounts, PartitionResult
from pipelines.pegasus.domain.offline.ranges import SplitTask
from pipelines.pegasus.domain.rule_violations import rule_violation
from pipelines.pegasus.sinks.part_files import PartitionFiles
from pipelines.pegasus.sinks.split_output import SplitOutput, StagedPart, StagedParts
from pipelines.pegasus.use_cases.export_rows import tell_export
from pipelines.pegasus.use_cases.frame import split_run
from pipelines.pegasus.use_cases.run_split import OfflineResult, tell_split
from tests.labs.pegasus.replicas import keys, stored

TASK = SplitTask(range(1))
PRINTS = {0: "a"}
ROWS = [(key, stored(b"v")) for key in sorted(keys(0, 1, 9))]


class Attempt:
    """A Spark task that writes the rows in two steps."""

    def __init__(self, output: SplitOutput) -> None:
        self._output, self.folder = output, output.part(TASK.name)
        self._files = PartitionFiles(self.folder, 0, 1, parquet=True, name=TASK.name)
        self._files.put(0, ROWS[:4])

    def end(self) -> StagedPart:
        self._files.put(0, ROWS[4:])
        return self._output.keep(self.folder, TASK, [PartitionResult(0, self._files.close())], PRINTS)


@pytest.fixture
def output(tmp_path: Path) -> SplitOutput:
    made = SplitOutput(str(tmp_path), "onebox", "temp", "inputs")
    made.begin()
    return made


def publish(output: SplitOutput, part: StagedPart) -> dict[str, bytes]:
    output.publish(2, "temp", 1, StagedParts(part.results, {TASK.name: part.folder}), parquet=True)
    return {path.name: path.read_bytes() for path in (output.final / "0").iterdir()}


def test_two_attempts_at_once_both_finish(output: SplitOutput) -> None:
    first, second = Attempt(output), Attempt(output)
    done = [second.end(), first.end()]
    assert len({part.folder for part in done}) == 2
    for part in done:
        assert len(part.results[0].files) == len(list((output.staging / part.folder / "0").iterdir())) == 2
    assert output.kept(TASK, PRINTS) is not None


def test_an_attempt_that_outlives_its_run_changes_nothing(output: SplitOutput) -> None:
    late, accepted = Attempt(output), Attempt(output).end()
    written = publish(output, accepted)
    late.end()
    assert {path.name: path.read_bytes() for path in (output.final / "0").iterdir()} == written
    assert output.begin() is not None
    assert not output.staging.exists(), "what it has left is removed"


@pytest.mark.parametrize("change", ["cut", "removed", "manifest"])
def test_an_output_that_has_changed_since_is_not_whole(output: SplitOutput, change: str) -> None:
    publish(output, Attempt(output).end())
    assert output.begin() is not None
    file = output.final / "0" / "0-1.parquet"
    if change == "manifest":
        (output.final / MANIFEST).write_text("{")
    elif change == "cut":
        file.write_bytes(file.read_bytes()[:-1])
    else:
        file.unlink()
    said = f"{MANIFEST} is damaged; move" if change == "manifest" else "0/0-1.parquet is no longer the file .* move"
    with pytest.raises(UsageError, match=said):
        output.begin()


def test_what_earlier_runs_left_is_removed_except_what_is_taken_over(output: SplitOutput) -> None:
    whole, unfinished = Attempt(output).end(), Attempt(output)
    (output.staging / "part-7").mkdir()
    output.tidy([TASK], PRINTS)
    assert [path.name for path in output.staging.iterdir()] == [whole.folder]
    unfinished.end()
    taken = output.kept(TASK, PRINTS)
    assert taken is not None
    assert taken.folder == whole.folder, "an attempt whose files were removed under it has not finished"
    output.tidy([TASK], {0: "of other inputs"})
    assert not list(output.staging.iterdir())


@pytest.mark.parametrize("is_there", [True, False])
def test_a_staged_file_that_is_not_whole_is_written_again(output: SplitOutput, is_there: bool) -> None:
    part = Attempt(output).end()
    file = output.staging / part.folder / "0" / part.results[0].files[1].file
    file.write_bytes(file.read_bytes()[:-1])
    if not is_there:
        file.unlink()
    with pytest.raises(UnavailableError, match=f"{file}.*start the job again"):
        publish(output, part)
    assert not output.final.exists()
    assert output.kept(TASK, PRINTS) is None
    output.tidy([TASK], PRINTS)
    assert publish(output, Attempt(output).end()).keys() == {file.file for file in part.results[0].files}


@pytest.mark.parametrize(
    ("location", "is_earlier", "has_error", "code", "said", "unsaid"),
    [
        ("/out/temp", False, False, EXIT_DONE, "temp: 4 to 16 partitions in /out/temp\n  9 rows in 1 file", "earlier"),
        ("/out/temp", True, False, EXIT_DONE, "this run has written nothing", "REFUSED"),
        (
            None,
            False,
            True,
            EXIT_REFUSED,
            "temp: 4 to 16 partitions: REFUSED, nothing is written\n  correct",
            "in 0",
        ),
        ("/out/temp", True, True, EXIT_REFUSED, "REFUSED: the earlier run had the errors below ackn", "no finding"),
    ],
)
def test_the_text_says_whether_this_run_has_written_the_output(
    location: str | None, is_earlier: bool, has_error: bool, code: int, said: str, unsaid: str
) -> None:
    part = PartitionResult(0, (PartFile(0, 0, "0-0.sst", 9, 99, "md5", 99),))
    doubts = [rule_violation("R4", ERROR, "temp/1", "One.", "Copy.")] if has_error else []
    run = split_run("split-run", "onebox", 1_763_700_000_000)
    done = OfflineResult("temp", location, [part], doubts, is_earlier=is_earlier)
    answer = tell_split(run, PartitionCounts(4, 16), done, JobLake())
    assert (answer.exit_code, said in answer.text, unsaid in answer.text) == (code, True, False), answer.text
    words = said.replace("4 to 16 partitions", "1 partition")
    text = tell_export(run, done, JobLake()).text
    assert (words in text, unsaid in text) == (True, False), text
