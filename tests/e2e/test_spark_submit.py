"""`spark-submit.sh` as a person, cron or Airflow starts it."""

import json
import re
import signal
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from pipelines.common.instants import DAY_MS
from pipelines.lake.run_summary import RunKey
from schemas.runs import RUNS
from tests.labs.documented_commands import blocks
from tests.labs.places import DOCS
from tests.labs.plain_lake import append
from tests.labs.spark.submitter import PROJECT, Submitter, clean_environment, link_class_archive
from tests.labs.waiting import wait_until

NO_JAVA = {"JAVA_HOME": "/nonexistent"}


@pytest.mark.parametrize(
    ("arguments", "code", "stream", "text"),
    [
        (["--help"], 0, "stdout", "every night:"),
        (["--version"], 0, "stdout", "walsafe "),
        (["probe", "--help"], 0, "stdout", "Does what it is told."),
        ([], 2, "stdout", "usage: ./spark-submit.sh JOB [options]"),
        (["reconcil"], 2, "stderr", "did you mean reconcile?"),
        (["probe", "dance"], 2, "stderr", "invalid choice: 'dance'"),
        (["probe", "exit", "--nope"], 2, "stderr", "no such option: --nope"),
    ],
)
def test_questions_and_wrong_usage_need_no_jvm(
    submit: Submitter, arguments: list[str], code: int, stream: str, text: str
) -> None:
    done = submit(*arguments, env=NO_JAVA)
    assert (done.returncode, text in getattr(done, stream)) == (code, True), done


def test_a_wrong_configuration_needs_no_jvm(submit: Submitter, tmp_path: Path) -> None:
    config = tmp_path / "a.yaml"
    config.write_text("cluster: a\nlist: {valid_fro: 1d}\n")
    done = submit("reconcile", "--config", str(config), "--snapshot", "x", "--lake", "y", "--lists", "z", env=NO_JAVA)
    assert done.returncode == 2
    assert f"{config}, line 2: unknown key 'list.valid_fro'" in done.stderr


def test_what_a_night_would_do_is_said_without_a_jvm(submit: Submitter) -> None:
    example = PROJECT / "conf" / "production.example.yaml"
    plan = submit("night", "--config", str(example), "--plan", "--output", "json", env=NO_JAVA)
    assert (plan.returncode, json.loads(plan.stdout)["job"]) == (0, "night"), plan.stderr
    assert submit("night", "--config", str(example), env=NO_JAVA).stderr.startswith("walsafe night: JAVA_HOME is")


@pytest.mark.promise("missing-keys-cost-no-jvm")
@pytest.mark.parametrize(
    ("job", "says"),
    [
        ("capture --out x", "key 'wal_root' is missing"),
        ("night", "a night needs 'wal_root', 'capture', 'lake', 'lists', 'snapshots'"),
        ("explain --peer 2", "the following arguments are required: --lake (or as a key in"),
        ("maintain --lake x", "maintain.keep: a night of wal_verdicts would go after 1 h"),
        ("clean --cluster a --run-id x --lake x --lists x", "key 'wal_root' is missing"),
        ("restore --cluster a --run-id x --lake x", "key 'wal_root' is missing"),
        ("purge --cluster a --lake x", "key 'wal_root' is missing"),
        ("purge --cluster a --lake x --run-id latest", "--run-id latest does not go with purge"),
        ("reconcile --snapshot x --lake x --lists x --accept a=b --accept a=c", "--accept names the same expectation"),
        ("dump-queues --snapshot x --hdfs", "--hdfs is about the queues that --distributed prints"),
        ("inspect-wals --snapshot x --path y --server z", "give one or the other"),
    ],
)
def test_what_a_job_cannot_use_is_said_before_a_jvm_starts(
    submit: Submitter, tmp_path: Path, job: str, says: str
) -> None:
    config = tmp_path / "a.yaml"
    config.write_text("cluster: a\nmaintain: {keep: {wal_verdicts: 1h}}\n")
    done = submit(*job.split(), "--config", str(config), env=NO_JAVA)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "JAVA_HOME" not in done.stderr


@pytest.mark.promise("unknown-run-costs-no-jvm")
def test_a_mistyped_run_is_refused_before_a_jvm_starts(submit: Submitter, tmp_path: Path) -> None:
    live = {"source": "simulated", "path": str(tmp_path)}
    document = {
        "cluster": "a",
        "wal_root": f"file://{tmp_path}/hbase",
        "capture": {"files": {"source": "hadoop"}, "queues": live, "state": live},
        "clean": {"quarantine": f"file://{tmp_path}/quarantine"},
        "lake": f"file:{tmp_path}/lake",
        "lists": f"file:{tmp_path}/lists",
    }
    config = tmp_path / "a.yaml"
    config.write_text(json.dumps(document))
    key = RunKey.of("a", "night-1", 20_000 * DAY_MS)
    run = {"cluster": key.cluster, "run_id": key.run_id, "run_date": key.run_date, "job": "reconcile", "status": "DONE"}
    append(tmp_path / "lake", RUNS, [run | {"files_started_at": 20_000 * DAY_MS, "at": 20_000 * DAY_MS + 1}])
    done = submit("clean", "--config", str(config), "--run-id", "nihgt-1", "--output", "json", env=NO_JAVA)
    assert done.returncode == 3, done.stderr
    error = json.loads(done.stdout)["error"]
    assert error["condition"] == "RUN_UNKNOWN"
    assert error["message"].startswith(
        "this lake knows no run nihgt-1 of cluster a; did you mean night-1? Check --run-id"
    )
    there = submit("clean", "--config", str(config), "--run-id", "night-1", env=NO_JAVA)
    assert "JAVA_HOME" in there.stderr, "a run that is there needs the JVM"


def test_a_job_needs_java(submit: Submitter) -> None:
    done = submit("probe", "exit", env=NO_JAVA)
    assert done.returncode == 2
    said = "JAVA_HOME is /nonexistent, which has no bin/java: point it to a Java 17, 21 or 25, or unset it."
    assert done.stderr == f"walsafe probe: {said}\n"


@pytest.mark.slow("a job in a JVM of its own, as an operator starts it")
@pytest.mark.promise("result-is-one-object")
def test_json_alone_on_standard_output_and_the_exit_code_of_the_job(submit: Submitter, tmp_path: Path) -> None:
    result = tmp_path / "r.json"
    done = submit("probe", "exit", "--code", "5", "--output", "json", "--result", str(result), cwd=tmp_path)
    assert done.returncode == 5, done.stderr
    document = json.loads(done.stdout)
    assert (document["job"], document["exit_code"]) == ("probe", 5)
    assert done.stdout == result.read_text(encoding="utf-8")
    assert document["module"].endswith(".zip/jobs/probe.pyc")  # the archive runs, not the tree
    assert Path(document["spark"]).is_file()  # compiled once, and not at every start as from an archive
    assert "said on standard error" in done.stderr
    assert "incubator" not in done.stderr


@pytest.mark.long
def test_the_first_of_a_kind_keeps_javas_classes_and_the_next_job_starts_from_them(
    submit: Submitter, tmp_path: Path
) -> None:
    cache, loaded = submit.project / ".cache", tmp_path / "loaded"
    for kept in cache.glob("classes-*"):
        kept.unlink()
    (tmp_path / "core-site.xml").write_text("<configuration/>")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "core-site.xml").write_text("<configuration/>")
    # Java takes it for a part of the class path
    written, read = ({"HADOOP_CONF_DIR": str(folder)} for folder in (tmp_path, tmp_path / "other"))
    done = submit("probe-first", "exit", env=written)
    assert done.returncode == 0, done
    (archive,) = cache.glob("classes-*")
    assert done.stderr.count("keeping Java's loaded classes") == 1
    done = submit("probe", "exit", env={**read, "JDK_JAVA_OPTIONS": f"-Xlog:class+load=info:file={loaded}"})
    assert (done.returncode, done.stdout) == (0, "ended with 0: ü\n"), done
    lines = loaded.read_text(encoding="utf-8").splitlines()
    assert sum("shared objects file (top)" in line for line in lines) > 1000
    archive.chmod(0o644)
    archive.write_bytes(b"of another Java")  # one that does not fit is as none, and says nothing
    done = submit("probe", "exit")
    assert (done.returncode, done.stdout, "shared" in done.stderr) == (0, "ended with 0: ü\n", False), done
    archive.unlink()
    link_class_archive(submit.project)


@pytest.mark.slow("two jobs, each in a JVM of its own")
def test_text_and_a_refusal(submit: Submitter) -> None:
    done = submit("probe", "exit")
    assert (done.returncode, done.stdout) == (0, "ended with 0: ü\n")
    done = submit("probe", "refuse")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.endswith("walsafe probe: the order of the capture is wrong\n")


def encodings(table: Path) -> set[str]:
    """Returns what Parquet's writer made of the one column of a table."""
    return {one for file in table.glob("*.parquet") for one in pq.read_metadata(file).row_group(0).column(0).encodings}


@pytest.mark.long
@pytest.mark.promise("parquet-version-1")
def test_delta_in_the_session_that_the_defaults_describe(submit: Submitter, tmp_path: Path) -> None:
    """With the one setting of the page about Parquet's version 1."""
    page = (DOCS / "catalogs.md").read_text(encoding="utf-8")
    (version_1,) = re.findall(r'^SPARK_SUBMIT_ARGS="(.*)" ./spark-submit.sh night', page, re.MULTILINE)
    here = tmp_path / "where the user stands"
    here.mkdir()
    done = submit(
        "probe",
        "delta",
        "--path",
        str(tmp_path / "table"),
        "--output",
        "json",
        env={"SPARK_SUBMIT_ARGS": f"--master local[1] {version_1}"},
        cwd=here,
    )
    assert done.returncode == 0, done.stderr
    assert "PLAIN" in encodings(tmp_path / "table")
    assert "DELTA_BINARY_PACKED" not in encodings(tmp_path / "table")
    document = json.loads(done.stdout)
    assert {key: document[key] for key in ("rows", "zone", "master", "partitions")} == {
        "rows": 10,
        "zone": "UTC",
        "master": "local[1]",
        "partitions": "2",
    }
    assert done.stderr == "said on standard error\n"  # a healthy run says nothing else
    assert list(here.iterdir()) == []  # and leaves nothing behind


@pytest.mark.deep
def test_executors_in_other_processes_take_the_shipped_jars(submit: Submitter, tmp_path: Path) -> None:
    arguments = "--master local-cluster[2,1,1024] --conf spark.driver.memory=1g"
    done = submit(
        "probe", "delta", "--path", str(tmp_path / "t"), "--output", "json", env={"SPARK_SUBMIT_ARGS": arguments}
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["master"].startswith("local-cluster")
    assert "DELTA_BINARY_PACKED" in encodings(tmp_path / "t")


@pytest.mark.long
@pytest.mark.promise("exit-4")
def test_an_unreachable_system_is_4_and_a_driver_that_never_starts_is_2(submit: Submitter) -> None:
    assert submit("probe", "unreachable").returncode == 4
    for arguments, cause in {
        "--master nonsense": "Master must",
        "--principal walsafe@NOWHERE --keytab /no/such.keytab": "does not exist",
    }.items():
        done = submit("probe", "exit", env={"SPARK_SUBMIT_ARGS": arguments})
        assert done.returncode == 2
        assert cause in done.stderr
        assert "check SPARK_SUBMIT_ARGS" in done.stderr


@pytest.mark.promise("spark-3-is-refused")
def test_another_spark_is_named_before_it_fails(submit: Submitter, tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.12-3.5.1.jar").touch()
    done = submit("probe", "exit", env={"SPARK_HOME": str(tmp_path)})
    assert (done.returncode, "is not Spark 4.0, 4.1 or 4.2" in done.stderr) == (2, True)


@pytest.mark.long
def test_a_termination_reaches_the_driver(submit: Submitter) -> None:
    with subprocess.Popen(
        submit.command("probe", "sleep"),
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        driver = next(line.split()[1] for line in process.stderr if line.startswith("READY "))
        process.send_signal(signal.SIGTERM)
        assert process.wait(600) == 143
    wait_until(lambda: not Path("/proc", driver).exists(), "the end of the driver")


def test_cluster_mode_without_a_place_for_the_result_is_refused(submit: Submitter) -> None:
    arguments = {"SPARK_SUBMIT_ARGS": "--master yarn --deploy-mode cluster", "HADOOP_CONF_DIR": "", "YARN_CONF_DIR": ""}
    done = submit("probe", "exit", env=arguments)
    assert done.returncode == 2
    assert "give --result" in done.stderr


@pytest.mark.deep
@pytest.mark.promise("pyspark-opens-the-lake")
def test_pyspark_as_the_page_starts_it_opens_a_lake(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "wal_verdicts", pa.table({"path": ["oldWALs/a.1", "oldWALs/b.2"]}))
    (command,) = (one for one in blocks(DOCS / "queries.md", "bash") if one.startswith("PYSPARK_PYTHON="))
    question = f"print('rows', spark.read.format('delta').load('file:{tmp_path}/wal_verdicts').count())\n"
    as_at_a_terminal = {**clean_environment(), "PYSPARK_DRIVER_PYTHON_OPTS": "-i"}
    done = subprocess.run(
        ["bash", "-c", command.strip()], cwd=PROJECT, env=as_at_a_terminal, input=question,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "rows 2" in done.stdout, done.stderr[-3000:]


@pytest.mark.deep
def test_the_split_demo_finds_its_loss(submit: Submitter, tmp_path: Path) -> None:
    out = tmp_path / "demo"
    done = submit("split-demo", "--out", str(out), "--output", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [one["key"] for one in document["damaged"]["shown"]] == [document["lost"]]
    assert {path.name for path in (out / "lake").iterdir()} == {"findings", "split_diff", "split_verify"}
