"""Runs that meet other runs, their own remains, a damaged lake, or an end by SIGKILL."""

import hashlib
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from jobs.cli import entry
from jobs.cli.config.configuration import parse_config
from jobs.cli.context import JobContext
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError, UsageError
from pipelines.common.instants import DAY_MS
from pipelines.common.job_result import JobResult
from pipelines.files.hadoop_jvm import HadoopJvm
from pipelines.lake.delta_tables import DeltaTables
from pipelines.lake.run_summary import FAILED, REFUSED, STARTED
from pipelines.reconcile import night_run
from pipelines.reconcile.delete_list import ListRequest
from pipelines.reconcile.list_writer import DeleteListWriter
from pipelines.reconcile.night_state import NightRun
from pipelines.snapshot.target import HadoopTarget
from schemas.runs import RUNS
from tests.labs.places import PROJECT
from tests.labs.small_cluster import DECIDED_AFTER_MS, H1, NOW, ROOT, At, Desk, clusters_of, small, wal, with_snapshot

pytestmark = pytest.mark.slow("each test needs a night that is over, and decides again")

SHARE = "deletable_share_below_limit"


@pytest.fixture(scope="module")
def desk(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A lake with one night of one cluster in it."""
    made = Desk(spark, tmp_path_factory.mktemp("runs"))
    assert made.reconcile(made.snapshot(small("prod")), run_id="night").exit_code == 0
    return made


def state(desk: Desk, cluster: str) -> dict[str, tuple[bytes, int]]:
    """Every byte of the cluster's lists and when it was written."""
    return {
        name: (content, (desk.lists / cluster / name).stat().st_mtime_ns)
        for name, content in desk.list_files(cluster).items()
    }


def counted(desk: Desk, cluster: str) -> Counter[str]:
    """Files with a verdict by run."""
    return Counter(one["run_id"] for one in desk.rows("wal_verdicts", f"cluster = '{cluster}'"))


@pytest.mark.promise("decision-is-replayable")
def test_a_rerun_rewrites_nothing(desk: Desk) -> None:
    before, runs = state(desk, "prod"), desk.run_rows("prod")
    assert len(before) == 2
    again = desk.reconcile(desk.root / "snapshots" / "prod", run_id="night", now=NOW + 2 * DECIDED_AFTER_MS)
    assert again.exit_code == 0
    assert clusters_of(again)["prod"]["list_uri"] == f"file:{desk.lists}/prod/night"
    assert state(desk, "prod") == before
    assert desk.run_rows("prod") == runs
    assert counted(desk, "prod") == {"night": 10}


def test_of_two_captures_into_one_directory_the_slower_one_is_told_that_it_exists(
    spark: SparkSession, tmp_path: Path
) -> None:
    part = tmp_path / "ä b%41"  # the folder of temporary files may have such a name
    part.touch()
    hadoop, out = HadoopJvm.of(spark), f"file:{tmp_path}/out"
    targets = [HadoopTarget(hadoop, out) for _ in range(2)]
    for target in targets:
        target.begin()
    targets[0].put(part, "files/part")
    assert targets[0].publish() == f"{out}"
    assert (tmp_path / "out" / "files" / "part").exists()
    with pytest.raises(UsageError, match="exists already") as told:
        targets[1].publish()
    assert told.value.condition is Condition.SNAPSHOT_EXISTS


def test_a_rerun_says_what_was_recorded_and_not_what_it_would_decide_now(desk: Desk) -> None:
    """A clock that is wrong refuses a new run, and a late one publishes no list; this one did both in time."""
    for now in (NOW - DAY_MS, NOW + 2 * DAY_MS):
        again = desk.reconcile(desk.root / "snapshots" / "prod", run_id="night", now=now)
        assert again.exit_code == 0
        told = clusters_of(again)["prod"]
        assert (told["status"], told["mode"], told["reason"]) == ("DONE", "NIGHTLY", None)
        assert told["list_uri"] == f"file:{desk.lists}/prod/night"


@pytest.mark.long
@pytest.mark.promise("decision-is-replayable", "runs-keep-the-digests")
def test_a_run_says_of_which_snapshot_and_configuration_it_is(desk: Desk) -> None:
    snapshot = desk.root / "snapshots" / "prod" / "snapshot.json"
    config = parse_config("quality: {share_from: 0MiB}", "test.yaml")
    expected = (hashlib.sha256(snapshot.read_bytes()).hexdigest(), config.digest())
    runs = desk.run_rows("prod", "night")
    assert [one["status"] for one in runs] == ["STARTED", "DONE"]
    assert {(one["snapshot_sha256"], one["config_sha256"]) for one in runs} == {expected}


@pytest.mark.long
@pytest.mark.promise("list-has-the-lines-that-the-gate-saw")
@pytest.mark.parametrize("lines", [1, 3])
def test_a_list_with_another_number_of_lines_than_the_gate_saw_is_none(
    spark: SparkSession, tmp_path: Path, lines: int
) -> None:
    lists = DeleteListWriter(spark, f"file:{tmp_path}/lists")
    deletable = spark.createDataFrame(
        [("prod", f"oldWALs/{wal(H1, number)}") for number in range(lines)], "cluster STRING, path STRING"
    )
    asked = ListRequest("prod", None, "night", ROOT, "0" * 64, NOW, NOW + DAY_MS, 2, 3)
    with pytest.raises(UnavailableError, match=f"{lines} lines written, but the gate passed 2; no manifest"):
        lists.publish(lists.stage(deletable, [asked]))
    assert lists.existing("prod", "night") is None
    assert list((tmp_path / "lists").rglob("manifest.json")) == []


def test_a_run_id_is_not_used_for_another_snapshot(desk: Desk) -> None:
    before, runs = state(desk, "prod"), desk.run_rows("prod")
    other = desk.snapshot(small("prod", 1), "other-night")
    with pytest.raises(
        RefusedError, match="run_id night of cluster prod was already used for another snapshot"
    ) as told:
        desk.reconcile(other, run_id="night", now=NOW + DAY_MS + DECIDED_AFTER_MS)
    assert (told.value.exit_code, told.value.condition) == (3, Condition.RUN_ID_TAKEN)
    assert "give another --run-id" in str(told.value)
    assert (state(desk, "prod"), desk.run_rows("prod")) == (before, runs)


def test_a_run_id_that_two_jobs_take_at_the_same_time_is_of_one_snapshot(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first job begins between the look of the second one and its own beginning."""
    snapshot, begun = desk.snapshot(small("taken")), night_run.append_runs

    def after_another(night: NightRun, status: str | None, reason: str | None) -> None:
        if status == STARTED:
            first = [replace(case, opened=replace(case.opened, sha256="f" * 64)) for case in night.cases]
            begun(replace(night, cases=first), status, reason)
        begun(night, status, reason)

    monkeypatch.setattr(night_run, "append_runs", after_another)
    with pytest.raises(RefusedError, match=r"already used for another snapshot \(ffffffff…\)") as told:
        desk.reconcile(snapshot, run_id="night")
    assert told.value.condition is Condition.RUN_ID_TAKEN
    assert [one["status"] for one in desk.run_rows("taken")] == [STARTED, STARTED]
    assert counted(desk, "taken") == {}
    assert desk.reconcile(snapshot).exit_code == 0, "a run_id of its own contains the digest"


@pytest.mark.parametrize(("error", "code"), [(UnavailableError("nn1 does not answer"), 4), (ValueError("a bug"), None)])
def test_a_run_that_fails_leaves_its_exit_code(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int | None
) -> None:
    def fail(*_: object) -> None:
        raise error

    cluster = f"failed-{code}"
    snapshot = desk.snapshot(small(cluster))
    monkeypatch.setattr(night_run, "_decide_and_write", fail)
    with pytest.raises(type(error)):
        desk.reconcile(snapshot)
    assert [(one["status"], one["exit_code"]) for one in desk.run_rows(cluster)] == [(STARTED, None), (FAILED, code)]


def test_a_snapshot_that_cannot_be_read_is_a_refused_night_of_its_cluster(desk: Desk) -> None:
    """So the newest run of the cluster is the refused one: it pauses the clean-up, and no older list is the latest."""
    snapshot = desk.snapshot(small("broken"), "20260921T141320Z")
    (snapshot / "snapshot.json").write_text("{")
    config = parse_config("{cluster: broken}", "test.yaml")
    refused = desk.reconcile(snapshot, config=config)
    assert (refused.exit_code, list(clusters_of(refused))) == (3, ["broken"])
    assert [one["status"] for one in desk.run_rows("broken")] == [STARTED, REFUSED]
    assert set(clusters_of(desk.reconcile(snapshot, desk.snapshot(small("sound")), config=config))) == {
        "20260921T141320Z", "sound"
    }, "several snapshots may be of several clusters"  # fmt: skip


def test_a_manifest_that_cannot_be_read_refuses_its_cluster_only(desk: Desk) -> None:
    manifest = desk.lists / "prod" / "night" / "manifest.json"
    whole = manifest.read_bytes()
    manifest.write_bytes(whole[:-9])
    both = desk.reconcile(desk.root / "snapshots" / "prod", desk.snapshot(small("another")), run_id="night")
    manifest.write_bytes(whole)
    told = clusters_of(both)
    assert both.exit_code == 5
    assert [(name, told[name]["status"]) for name in sorted(told)] == [("another", "DONE"), ("prod", "REFUSED")]
    assert "prod/night/manifest.json" in str(told["prod"]["reason"])


def test_two_snapshots_of_a_cluster_are_a_wrong_call(desk: Desk) -> None:
    twin = desk.snapshot(small("prod", 2), "twin")
    with pytest.raises(UsageError, match="two snapshots of cluster prod in one run"):
        desk.reconcile(desk.root / "snapshots" / "prod", twin)
    assert counted(desk, "prod") == {"night": 10}


@pytest.mark.promise("environment-is-of-one-cluster")
def test_the_configuration_of_the_environment_decides_on_its_cluster_only(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is given by hand may be for several clusters: the settings of a fleet."""
    file = tmp_path / "c.yaml"
    file.write_text(f"{{cluster: prod, lake: {tmp_path}/lake, lists: {tmp_path}/lists, quality: {{data_docs: false}}}}")
    own, other = f"file:{desk.root}/snapshots/prod", f"file:{desk.snapshot(small('other'))}"

    def run(*words: str) -> int:
        context = JobContext("reconcile", At(NOW + DECIDED_AFTER_MS), desk.spark)
        return entry.main(["reconcile", *words], context=context)

    monkeypatch.setenv("WALSAFE_CONFIG", str(file))
    assert run("--snapshot", own, other) == 2
    said = capsys.readouterr().err
    assert "snapshots/other is a snapshot of cluster other, not of prod" in said
    assert "name the configuration for other with --config" in said
    assert run("--cluster", "other", "--snapshot", other) == 2
    assert "is the configuration of cluster prod; name that of other" in capsys.readouterr().err
    assert not (tmp_path / "lists").exists()
    assert run("--snapshot", own) == 0
    assert run("--snapshot", other, "--config", str(file)) == 0
    assert sorted(one.name for one in (tmp_path / "lists").iterdir()) == ["other", "prod"]


@pytest.mark.promise("only-the-share-can-be-overruled")
@pytest.mark.parametrize(
    ("expectation", "words"),
    [
        ("deletable_within_hbase_delete", "proves that no needed file is listed and cannot be overruled"),
        ("paths_are_unique", "cannot be overruled"),
        ("no_such_thing", "no such expectation; --accept takes deletable_share_below_limit"),
    ],
)
def test_a_proof_of_safety_is_not_accepted_away(
    spark: SparkSession, tmp_path: Path, expectation: str, words: str
) -> None:
    desk = Desk(spark, tmp_path)
    with pytest.raises(UsageError, match=words) as told:
        desk.reconcile(desk.snapshot(small("prod")), accept={expectation: "I know better"})
    assert told.value.exit_code == 2
    assert not desk.lake.exists()
    assert not desk.lists.exists()


@pytest.mark.long
@pytest.mark.promise("only-the-share-can-be-overruled")
def test_a_share_that_a_person_accepts_is_recorded(desk: Desk) -> None:
    """The same snapshot is refused first, under the same run_id: the next run works."""
    everything = with_snapshot(replace(small("greedy"), pass_1=(), pass_2=()), peers=())
    snapshot = desk.snapshot(everything)
    refused = desk.reconcile(snapshot)
    run_id = clusters_of(refused)["greedy"]["run_id"]
    assert refused.exit_code == 3
    assert run_id.startswith("20260921T141320Z-")
    assert SHARE in clusters_of(refused)["greedy"]["reason"]
    assert desk.list_files("greedy") == {}
    accepted = desk.reconcile(snapshot, accept={SHARE: "replication was removed on purpose"})
    assert (accepted.exit_code, clusters_of(accepted)["greedy"]["run_id"]) == (0, run_id)
    assert len(desk.lines("greedy", run_id)) == 10
    rows = desk.run_rows("greedy")
    assert sorted(one["status"] for one in rows) == ["DONE", "REFUSED", "STARTED", "STARTED"]
    (done,) = [one for one in rows if one["status"] == "DONE"]
    assert done["accepted"] == [{"expectation": SHARE, "reason": "replication was removed on purpose"}]
    (result,) = desk.rows("quality_results", f"cluster = 'greedy' AND expectation = '{SHARE}'")
    assert (result["success"], result["accepted"], result["accepted_reason"]) == (
        False, True, "replication was removed on purpose",
    )  # fmt: skip
    assert counted(desk, "greedy") == {run_id: 10}


@pytest.mark.long
@pytest.mark.promise("list-ends")
def test_an_old_snapshot_is_replayed_into_the_tables_alone(desk: Desk) -> None:
    snapshot = desk.snapshot(small("replayed"))
    late = desk.reconcile(snapshot, run_id="late", now=NOW + DAY_MS + 1)
    result = clusters_of(late)["replayed"]
    assert (late.exit_code, result["status"], result["mode"], result["list_uri"]) == (0, "DONE", "REPLAY", None)
    assert "REPLAY: too old for a list" in late.text
    assert desk.list_files("replayed") == {}
    assert {one["mode"] for one in desk.run_rows("replayed")} == {"REPLAY"}
    assert counted(desk, "replayed") == {"late": 10}
    # at the last instant it is still a night
    last = desk.reconcile(snapshot, run_id="last", now=NOW + DAY_MS)
    assert clusters_of(last)["replayed"]["mode"] == "NIGHTLY"
    assert len(desk.lines("replayed", "last")) == 4


@pytest.mark.long
def test_an_older_night_leaves_metrics_and_pause_to_the_newest(desk: Desk) -> None:
    nights = [desk.snapshot(small("two", number), f"two-{number}") for number in range(2)]
    for number in (1, 0):
        told = clusters_of(desk.reconcile(nights[number], now=NOW + 9 * DAY_MS))["two"]
        assert (told["mode"], told["is_newest"], told["paused"]) == ("REPLAY", number == 1, None)


@pytest.mark.long
@pytest.mark.parametrize(
    ("table", "words"),
    [("wal_verdicts", "wal_verdicts: .*(damaged|folder)"), ("runs", "runs: ")],
)
def test_a_damaged_lake_is_named(
    spark: SparkSession, tmp_path: Path, table: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(spark, tmp_path)
    snapshot = desk.snapshot(small("prod"))
    if table == "runs":
        desk.lake.mkdir()
        (desk.lake / table).write_text("a file stands where the table should be")
    else:
        log = desk.lake / table / "_delta_log"
        log.mkdir(parents=True)
        (log / "00000000000000000000.json").write_text("{{{ no json")
    metrics = tmp_path / "walsafe.prod.reconcile.prom"
    metrics.write_text("of an earlier night")
    places = ["--lake", f"file:{desk.lake}", "--lists", f"file:{desk.lists}", "--metrics", str(tmp_path)]
    context = JobContext("reconcile", At(NOW + DECIDED_AFTER_MS), spark)
    code = entry.main(["reconcile", "--snapshot", f"file:{snapshot}", *places], context=context)
    told = capsys.readouterr().err
    assert code in {2, 4}
    assert re.search(words, told)
    assert str(desk.lake) in told
    assert not desk.lists.exists()
    assert 'walsafe_run_outcome{cluster="prod",mode="NIGHTLY",status="FAILED"} 1.0' in metrics.read_text()
    assert f'walsafe_run_exit_code{{cluster="prod"}} {code}.0' in metrics.read_text()
    assert "walsafe_wal_files{" not in metrics.read_text()
    assert not (tmp_path / "walsafe.prod.reconcile-good.prom").exists()


@pytest.mark.long
@pytest.mark.parametrize("left", [(), (".00000000000000000000.json.0123.tmp",)])
def test_a_table_whose_making_was_cut_short_is_made(spark: SparkSession, tmp_path: Path, left: tuple[str, ...]) -> None:
    """A full disk or a SIGKILL before the first commit: Delta itself refuses such a folder forever."""
    lake = tmp_path / "somebody's lake"
    log = lake / RUNS.name / "_delta_log"
    log.mkdir(parents=True)
    for name in left:
        (log / name).write_text("")
    DeltaTables(spark, f"file:{lake}").ensure((RUNS,))
    frame = spark.read.format("delta").load(f"file:{lake / RUNS.name}")
    # written, not created: a column that is never NULL is not declared so
    assert [(field.name, field.dataType, field.metadata) for field in frame.schema] == [
        (field.name, field.dataType, field.metadata) for field in RUNS.schema
    ]
    (detail,) = DeltaTable.forPath(spark, f"file:{lake / RUNS.name}").detail().collect()
    assert (detail["description"], detail["partitionColumns"]) == (RUNS.comment, list(RUNS.partitioned_by))


@pytest.mark.long
def test_a_table_that_lost_its_log_is_not_made_anew(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / RUNS.name / "_delta_log").mkdir(parents=True)
    (tmp_path / RUNS.name / "part-00000.parquet").write_text("rows of many nights")
    with pytest.raises(UsageError, match="runs: the folder holds other files and no Delta table"):
        DeltaTables(spark, f"file:{tmp_path}").ensure((RUNS,))


@pytest.mark.long
@pytest.mark.deep
def test_runs_at_the_same_time_lose_nothing_and_double_nothing(desk: Desk) -> None:
    snapshot = desk.snapshot(small("busy"))

    def run(run_id: str) -> JobResult | UnavailableError:
        try:
            return desk.reconcile(snapshot, run_id=run_id)
        except UnavailableError as error:
            return error

    with ThreadPoolExecutor(3) as pool:
        told = list(pool.map(run, ("same", "same", "other")))
    # of two equal runs the slower one may be told to try again; the list stands whole all the same
    assert isinstance(told[2], JobResult)
    assert told[2].exit_code == 0
    assert any(isinstance(one, JobResult) and one.exit_code == 0 for one in told[:2]), told
    assert counted(desk, "busy") == {"same": 10, "other": 10}
    assert desk.lines("busy", "same") == desk.lines("busy", "other")
    statuses = Counter((one["run_id"], one["status"]) for one in desk.run_rows("busy"))
    assert statuses["other", "DONE"] == statuses["other", "STARTED"] == 1
    assert statuses["same", "STARTED"] == statuses["same", "DONE"] + statuses["same", "FAILED"]
    for table in ("queue_offsets", "pinned_bytes", "quality_results", "verdict_totals"):
        rows = Counter(one["run_id"] for one in desk.rows(table, "cluster = 'busy'"))
        assert rows["same"] == rows["other"] > 0, table


# killed

VICTIM = """
import os, signal, sys
from pathlib import Path
from tests.labs.spark.local_session import local_session
from pipelines.files.text_files import LocalTextFiles
from pipelines.lake.delta_tables import DeltaTables
from tests.labs.small_cluster import Desk

point, root = sys.argv[1], Path(sys.argv[2])
whole = DeltaTables.replace

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def die_half_way(self, writes, runs, **more):
    whole(self, dict(list(writes.items())[:3]), runs, **more)
    die()

rename = LocalTextFiles.rename

def die_before_the_manifest(self, source, target):
    if target.endswith("manifest.json"):
        die()
    rename(self, source, target)

if point == "between-tables":
    DeltaTables.replace = die_half_way
elif point == "before-manifest":
    LocalTextFiles.rename = die_before_the_manifest
spark = local_session(root / f"spark-{point}", memory="700m")
Desk(spark, root).reconcile(root / "snapshots" / point, run_id="night")
"""
POINTS = ("between-tables", "before-manifest")


@pytest.mark.long
@pytest.mark.promise("list-is-whole", "manifest-comes-last")
def test_sigkill_leaves_no_list_and_the_next_run_works(spark: SparkSession, tmp_path: Path) -> None:
    desk = Desk(spark, tmp_path)
    for point in POINTS:
        desk.snapshot(small(point))
    script = tmp_path / "victim.py"  # a main module without a file makes pyspark end the process, with 0
    script.write_text(VICTIM)
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    victims = [
        subprocess.Popen(
            [sys.executable, str(script), point, str(tmp_path)], env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        for point in POINTS
    ]  # fmt: skip
    for point, victim in zip(POINTS, victims, strict=True):
        _, told = victim.communicate(timeout=3_600)
        assert victim.returncode == -signal.SIGKILL, f"{point}: {told[-2000:]}"
        assert [one["status"] for one in desk.run_rows(point)] == ["STARTED"]
        assert not any(name.endswith("manifest.json") for name in desk.list_files(point))
    assert (desk.lists / "before-manifest" / "night" / "part-00000.txt").exists()
    next_run = desk.reconcile(fleet=tmp_path / "snapshots", run_id="night")
    assert next_run.exit_code == 0
    for point in POINTS:
        assert len(desk.lines(point, "night")) == 4
        assert counted(desk, point) == {"night": 10}
        assert [one["status"] for one in desk.run_rows(point)].count("DONE") == 1
    assert not list((desk.lists / "before-manifest" / "night").glob("part-00001.txt"))
