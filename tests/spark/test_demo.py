"""The demo as a whole, by the README's first command, and its healthy twin: false alarms are defects."""

import json
import shlex
import subprocess
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs import demo
from jobs.cli.command_line import parse
from jobs.cli.config.configuration import Config
from jobs.cli.context import JobContext
from jobs.cli.entry import main
from jobs.demo.cluster.capture import capture_at
from jobs.demo.cluster.on_disk import write_snapshot
from jobs.demo.cluster.parts import DISABLED_PEER
from jobs.demo.excerpts import AUDIT_TITLE, DUMP_TITLE, MIGRATION_TITLE
from jobs.reconcile.wiring import OutputPlaces, run_reconcile
from pipelines.common.errors import UsageError
from pipelines.common.instants import DAY_MS
from pipelines.common.job_result import JobResult
from pipelines.queues.dump.text import human_size
from tests.labs.lake_rows import lake_rows
from tests.labs.places import PROJECT
from tests.labs.small_cluster import At
from tests.labs.spark.submitter import clean_environment
from tests.models.healthy import healthy_plan

pytestmark = pytest.mark.slow("three nights of twenty thousand files, as a newcomer sees them first")

NOW = 1_790_000_000_000


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "with a space"


@pytest.fixture(scope="module")
def outcome(out: Path) -> JobResult:
    """What `./spark-submit.sh demo` prints and answers; a machine's first run also keeps Java's loaded classes."""
    result = out.parent / "result.json"
    done = subprocess.run(
        [str(PROJECT / "spark-submit.sh"), "demo", "--out", str(out), "--result", str(result)],
        env=clean_environment(), cwd=out.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.is_file(), done.stderr[-3000:]
    return JobResult(done.returncode, json.loads(result.read_text(encoding="utf-8")), done.stdout)


@pytest.fixture
def now() -> At:
    return At(time.time_ns() // 1_000_000)


def nights(outcome: JobResult) -> list[Mapping[str, Any]]:
    found: Any = outcome.result["nights"]
    return list(found)


@pytest.mark.promise("demo-tells-three-nights")
def test_it_ends_with_0_and_tells_of_every_night(outcome: JobResult) -> None:
    assert outcome.exit_code == 0
    assert [f"night {number}" in outcome.text for number in (1, 2, 3)] == [True] * 3
    for night in nights(outcome):
        assert 16_000 < night["deletable_files"] + night["held_files"] < 24_000
        assert night["deletable_bytes"] > 400 << 30
        assert night["held_bytes"] > 1 << 40


def test_every_kind_of_finding_shows_up(outcome: JobResult) -> None:
    codes = {key.partition(":")[0] for night in nights(outcome) for key in night["findings"]}
    assert codes == {
        "BEYOND_EOF",
        "CLEANER_NOT_RUNNING",
        "CLOCK_SKEW",
        "CLUSTER_MOVED",
        "DUPLICATE_QUEUE",
        "GROWTH",
        "INVALID_NAME",
        "LEAKED_REP_WAL",
        "LEFTOVER_WAL_DIRECTORY",
        "MISSING_WAL",
        "ORPHAN_QUEUE",
        "POISON_FILE",
        "QUEUE_STALLED",
        "QUEUE_TABLE_REWOUND",
    }
    by_night = [{key.partition(":")[0] for key in night["findings"]} for night in nights(outcome)]
    late = {"QUEUE_STALLED", "QUEUE_TABLE_REWOUND", "GROWTH"}
    assert not late & (by_night[0] | by_night[1])
    assert late <= by_night[2]


def test_every_night_has_its_own_list_whole(outcome: JobResult, out: Path) -> None:
    assert len({night["list_uri"] for night in nights(outcome)}) == 3
    for night in nights(outcome):
        folder = out / "lists" / "demo" / night["run_id"]
        assert (folder / "manifest.json").is_file()
        lines = [line for part in sorted(folder.glob("part-*.txt")) for line in part.read_text().splitlines()]
        assert len(lines) == night["deletable_files"]
        assert all("/cluster/hbase/oldWALs/" in line and line.startswith("file:///") for line in lines)


@pytest.mark.promise("demo-tells-three-nights")
def test_what_it_shows_is_what_lies_in_the_tables(outcome: JobResult, out: Path) -> None:
    counted = Counter((row["run_id"], row["verdict"]) for row in lake_rows(f"{out}/lake/wal_verdicts"))
    for night in nights(outcome):
        assert counted[night["run_id"], "DELETABLE"] == night["deletable_files"]
        assert counted[night["run_id"], "HELD"] == night["held_files"]


@pytest.mark.promise("demo-commands-work")
def test_the_places_and_commands_it_names_exist(
    outcome: JobResult, out: Path, spark: SparkSession, now: At, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Path(str(outcome.result["report"])).read_text().startswith("<!")
    commands = [shlex.split(line) for line in outcome.text.splitlines() if "spark-submit.sh" in line]
    assert [words[1] for words in commands] == ["explain", "explain", "explain", "explain", "clean"]
    assert all(words[words.index("--config") + 1] == str(out / "demo.yaml") for words in commands)
    for words in commands:
        assert parse(words[1:]).args.lake == f"file:{out}/lake"
    answers, screens = [], []
    for number, words in enumerate(commands[:4]):
        answer = out.parent / f"answer-{number}.json"
        assert main([*words[1:], "--result", str(answer)], context=JobContext("explain", now, spark)) == 0
        answers.append(json.loads(answer.read_text(encoding="utf-8")))
        screens.append(capsys.readouterr().out.splitlines())
    assert answers[0]["state"]["forecast"]["days"] > 1
    assert 30 < len(screens[0]) <= 45
    remedy = answers[0]["state"]["peers"][0]["remedy"]
    assert remedy in " ".join(" ".join(screens[0]).split()), "of the biggest holder, whole"
    assert "dr_west" in commands[2]
    (query,) = [shlex.split(line) for line in outcome.text.splitlines() if "spark-sql" in line]
    assert spark.sql(query[-1]).count() > 3


def test_it_says_what_state_the_queues_are_in(outcome: JobResult, out: Path) -> None:
    told = outcome.text.partition("What state the queues are in\n")[2].partition("\n\n")[0]
    assert {line.split()[0] for line in told.splitlines()} >= {"cluster", "class", "RECOVERED", "NORMAL"}
    assert "claim plan: " in told
    # its dead servers' queues were all claimed; what is left over is of a peer that is gone
    assert "queues of removed peers: hbase hbck" in (out / "plan" / "claim-plan.txt").read_text()


def test_it_shows_one_queue_in_the_words_of_hbases_tool(outcome: JobResult, out: Path) -> None:
    told = outcome.text.partition(f"{DUMP_TITLE}\n")[2].partition("\n\n")[0]
    words = dict(line.strip().split(": ", 1) for line in told.splitlines() if ": " in line)
    peer, _, owner = words["Queue id"].partition("-")
    owner, _, source = owner.partition("/")
    assert (peer, words["PeerID"]) == (DISABLED_PEER, DISABLED_PEER)
    assert words["Dumping replication queue info for RegionServer"] == f"[{owner}]"
    assert (words["Recovered"], words["Dead RegionServer"]) == ("true", source)
    assert words["Was deleted"] == "false"
    queue = f"peer_id = '{peer}' AND owner = '{owner}' AND source = '{source}'"
    rows = lake_rows(f"{out}/lake/queue_offsets", f"{queue} AND run_id = '{nights(outcome)[-1]['run_id']}'")
    files = sum(row["pending_files"] + row["live_pending_files"] for row in rows)
    size = sum(row["pending_bytes"] + row["live_pending_bytes"] for row in rows)
    assert files > 0
    assert words["Number of WALs in replication queue"] == str(files)
    assert words["Total size of WALs on HDFS for this queue"] == human_size(size)
    assert DUMP_TITLE.endswith("(its WALs left out)")
    assert "Replication position for" not in told


def test_what_its_help_promises_is_shown(outcome: JobResult) -> None:
    for job, title in (
        ("audit-queues", AUDIT_TITLE),
        ("dump-queues", DUMP_TITLE),
        ("plan-migration", MIGRATION_TITLE),
        ("verify-migration", MIGRATION_TITLE),
    ):
        assert job in demo.DESCRIPTION
        assert f"\n{title}\n" in outcome.text


@pytest.mark.promise("demo-commands-work")
def test_the_file_to_explain_is_one_that_is_held(outcome: JobResult, out: Path) -> None:
    (words,) = [shlex.split(line) for line in outcome.text.splitlines() if " explain " in line and "oldWALs/" in line]
    rows = lake_rows(f"{out}/lake/wal_verdicts", f"path = '{words[-1]}'")
    assert {row["run_id"] for row in rows} >= {nights(outcome)[-1]["run_id"]}
    assert all(row["verdict"] == "HELD" and row["blocking"] for row in rows)


def test_an_output_directory_with_something_in_it_is_refused(
    outcome: JobResult, out: Path, spark: SparkSession
) -> None:
    assert outcome.exit_code == 0
    with pytest.raises(UsageError, match="exists already"):
        demo.run(Namespace(out=str(out)), JobContext("demo", At(NOW), spark))


@pytest.mark.deep
def test_a_healthy_cluster_has_no_finding_and_exits_0_every_night(spark: SparkSession, tmp_path: Path) -> None:
    plan = healthy_plan(NOW)
    places = OutputPlaces(f"file:{tmp_path}/lake", f"file:{tmp_path}/lists")
    for number in range(3):
        at = NOW + number * DAY_MS
        snapshot = tmp_path / f"night-{number}"
        write_snapshot(capture_at(plan, at), snapshot)
        context = JobContext("reconcile", At(at + 15_000), spark)
        outcome = run_reconcile(context, Config(), places, [f"file:{snapshot}"])
        clusters: Any = outcome.result["clusters"]
        assert outcome.exit_code == 0
        assert clusters[0]["findings"] == []
        assert {row["reason"] for row in clusters[0]["by_reason"] if row["verdict"] == "HELD"} <= {"TOO_YOUNG"}


def test_the_cluster_before_its_upgrade_can_be_planned(outcome: JobResult, out: Path, spark: SparkSession) -> None:
    result = out / "plan.json"
    snapshot = f"file:{out}/snapshots/before-upgrade"
    code = main(
        ["plan-migration", "--snapshot", snapshot, "--result", str(result)],
        context=JobContext("plan-migration", At(NOW), spark),
    )
    plan = json.loads(result.read_text())
    assert (code, plan["go"]) == (0, True)
    written = plan["counts"]["queue"]["WRITE"]
    assert written > 100
    assert f"plan: GO; {written} offsets would be written" in outcome.text
    assert "ROW_WRITTEN MISSING" in outcome.text, "a row that was left out is found"
