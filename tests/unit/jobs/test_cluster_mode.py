"""A driver on the cluster and its result, with stand-ins for spark-submit and for Hadoop's shell."""

import json
import os
from pathlib import Path

import pytest

from jobs.cli.command_line import parse
from jobs.cli.launch import launcher
from jobs.cli.launch.cluster_mode import HadoopShell, in_cluster
from pipelines.common.errors import UnavailableError

SHELL = """#!/bin/sh
echo "$@" >> {folder}/calls
case $2 in
  -cat) cat {folder}/result || exit 1 ;;
  -rm) rm -f {folder}/result ;;
esac
"""
NO_TICKET = """#!/bin/sh
echo "cat: DestHost: SIMPLE is not enabled.  Client cannot authenticate via:[TOKEN, KERBEROS]" >&2
exit 1
"""
DRIVER = """#!/bin/sh
echo "$@" >> {folder}/calls
[ -z '{answer}' ] || echo '{answer}' > {folder}/result
exit {code}
"""
RESULT = "hdfs://ns1/tmp/walsafe-1.json"
REMOVED = "org.apache.hadoop.fs.FsShell -rm -f -skipTrash"
READ = "org.apache.hadoop.fs.FsShell -cat"
DONE, NEW_ERROR = '{"exit_code": 0}', '{"exit_code": 5, "text": "ü"}'


def tool(folder: Path, name: str, text: str) -> Path:
    file = folder / "bin" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(0o755)
    return file


def run(folder: Path, *options: str, shell: str = SHELL, answer: str = "", code: int = 1) -> int:
    """Runs a driver that writes the answer, if any, and of which spark-submit reports the code."""
    tool(folder, "spark-class", shell.format(folder=folder))
    submit = tool(folder, "spark-submit", DRIVER.format(folder=folder, answer=answer, code=code))
    invocation = parse(["explain", "--lake", "hdfs://ns1/lake", *options])
    return in_cluster([str(submit)], os.environ, HadoopShell(folder, os.environ), RESULT, invocation)


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), ["", f"{READ} {RESULT}", f"{REMOVED} {RESULT}"]),
        # a result that the user asked for stays
        (("--result", RESULT), [f"{REMOVED} {RESULT}", "", f"{READ} {RESULT}"]),
    ],
)
def test_the_exit_code_is_that_of_the_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], expected: list[str]
) -> None:
    assert run(tmp_path, *options, answer=NEW_ERROR) == 5
    assert json.loads(capsys.readouterr().out) == json.loads(NEW_ERROR)
    assert calls(tmp_path) == expected


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "{}"])
def test_no_result_is_unavailable(tmp_path: Path, text: str) -> None:
    with pytest.raises(UnavailableError, match=rf"cannot be read at {RESULT} \(spark-submit ended with 1\).*yarn"):
        run(tmp_path, answer=text)


@pytest.mark.parametrize("code", [129, 130, 143])
def test_who_stops_the_launcher_is_not_told_to_try_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: int
) -> None:
    assert run(tmp_path, code=code) == code
    assert "the application may still be running. To end it on YARN: yarn application -kill" in capsys.readouterr().err
    assert run(tmp_path, answer=NEW_ERROR, code=code) == 5


def test_an_older_result_is_never_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "result").write_text(DONE, encoding="utf-8")
    with pytest.raises(UnavailableError, match="cannot be read"):
        run(tmp_path, "--result", RESULT)
    assert capsys.readouterr().out == ""


def test_nothing_starts_beside_an_older_result_that_stays(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"cannot be removed: no valid Kerberos ticket.*was not started"):
        run(tmp_path, "--result", RESULT, shell=NO_TICKET)
    assert not (tmp_path / "calls").exists()


def test_done_is_not_believed_if_the_application_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnavailableError, match=r"says that the job is done, but spark-submit ended with 1:.*yarn"):
        run(tmp_path, answer=DONE)
    assert capsys.readouterr().out == ""
    assert run(tmp_path, answer=DONE, code=0) == 0


def test_a_result_on_this_machine_is_written_here(tmp_path: Path) -> None:
    wanted = tmp_path / "state" / "night.json"
    for given in (str(wanted), wanted.as_uri()):
        assert run(tmp_path, "--result", given, answer=NEW_ERROR) == 5
        assert wanted.read_text(encoding="utf-8") == f"{NEW_ERROR}\n"
        assert calls(tmp_path)[-1] == f"{REMOVED} {RESULT}"
        wanted.unlink()


@pytest.mark.parametrize(("answer", "code", "expected"), [(DONE, 0, 4), (NEW_ERROR, 1, 5)])
def test_a_result_that_cannot_be_written_here_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answer: str, code: int, expected: int
) -> None:
    (tmp_path / "file").touch()
    assert run(tmp_path, "--result", f"{tmp_path}/file/night.json", answer=answer, code=code) == expected
    assert f"--result {tmp_path}/file/night.json cannot be written" in capsys.readouterr().err


@pytest.fixture
def on_yarn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The launcher, in cluster mode, with a driver that ends well."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launcher, "_java", lambda _: Path("/usr/bin/java"))
    monkeypatch.setattr(launcher, "_spark_home", lambda _: tmp_path)
    monkeypatch.setattr(launcher, "_jars", lambda *_: [])
    monkeypatch.setattr(launcher, "build_archive", lambda *_: Path("walsafe.zip"))
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("SPARK_SUBMIT_ARGS", "--master yarn --deploy-mode cluster")
    site = "<configuration><property><name>fs.defaultFS</name><value>hdfs://ns1</value></property></configuration>"
    (tmp_path / "core-site.xml").write_text(site, encoding="utf-8")
    tool(tmp_path, "spark-class", SHELL.format(folder=tmp_path))
    tool(tmp_path, "spark-submit", DRIVER.format(folder=tmp_path, answer=DONE, code=0))


def started(folder: Path) -> str:
    """The options with which the driver was started."""
    return next(call for call in calls(folder) if "jobs/main.py explain" in call).partition(" explain ")[2]


@pytest.mark.usefixtures("on_yarn")
@pytest.mark.parametrize(
    ("given", "there"), [(None, "hdfs://ns1/tmp/walsafe-"), ("night.json", "hdfs://ns1/tmp/walsafe-"), (RESULT, RESULT)]
)
def test_the_driver_writes_where_both_machines_reach(tmp_path: Path, given: str | None, there: str) -> None:
    options = [] if given is None else ["--result", given]
    assert launcher.main(["explain", "--lake", "hdfs://ns1/lake", *options]) == 0
    assert started(tmp_path).rpartition("--result ")[2].startswith(there)
    assert (tmp_path / "night.json").exists() is (given == "night.json")


@pytest.mark.usefixtures("on_yarn")
def test_the_drivers_result_is_an_option_and_no_path(tmp_path: Path) -> None:
    assert launcher.main(["explain", "--lake", "hdfs://ns1/lake", "--", "-odd", "wal"]) == 0
    assert started(tmp_path).endswith(".json -- -odd wal")


@pytest.mark.usefixtures("on_yarn")
def test_an_older_result_on_this_machine_does_not_outlive_a_run_without_one(tmp_path: Path) -> None:
    tool(tmp_path, "spark-submit", DRIVER.format(folder=tmp_path, answer="", code=1))
    wanted = tmp_path / "night.json"
    wanted.write_text(DONE, encoding="utf-8")
    assert launcher.main(["explain", "--lake", "hdfs://ns1/lake", "--result", "night.json"]) == 4
    assert "cannot be read" in json.loads(wanted.read_text(encoding="utf-8"))["error"]["message"]


def test_without_a_ticket_the_job_may_have_done_its_work(tmp_path: Path) -> None:
    """Spark ends with 1 for every job that does not end with 0, so nobody knows."""
    with pytest.raises(UnavailableError, match=r"no valid Kerberos ticket .*or run kinit.*yarn logs"):
        run(tmp_path, shell=NO_TICKET)
