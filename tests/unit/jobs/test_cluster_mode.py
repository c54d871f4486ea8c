"""The result of a driver on the cluster, read by a stand-in for Hadoop's shell."""

import json
import os
from pathlib import Path

import pytest

from jobs.cli.command_line import parse
from jobs.cli.launch.cluster_mode import HadoopShell, in_cluster
from pipelines.common.errors import UnavailableError

SHELL = """#!/bin/sh
echo "$@" >> {folder}/calls
[ "$2" != -cat ] || cat {folder}/result || exit 1
"""
NO_TICKET = """#!/bin/sh
echo "cat: DestHost: SIMPLE is not enabled.  Client cannot authenticate via:[TOKEN, KERBEROS]" >&2
exit 1
"""
RESULT = "hdfs://ns1/tmp/walsafe-1.json"


def run(folder: Path, *options: str, shell: str = SHELL, submitted: str = "true") -> int:
    tool = folder / "bin" / "spark-class"
    tool.parent.mkdir()
    tool.write_text(shell.format(folder=folder), encoding="utf-8")
    tool.chmod(0o755)
    invocation = parse(["explain", "--lake", "hdfs://ns1/lake", *options])
    return in_cluster([submitted], os.environ, HadoopShell(folder, os.environ), RESULT, invocation)


@pytest.mark.parametrize("options", [(), ("--result", RESULT)])
def test_the_exit_code_is_that_of_the_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    (tmp_path / "result").write_text(json.dumps({"exit_code": 5, "text": "x"}), encoding="utf-8")
    assert run(tmp_path, *options, submitted="false") == 5
    assert json.loads(capsys.readouterr().out) == {"exit_code": 5, "text": "x"}
    _, *more = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    removed = f"org.apache.hadoop.fs.FsShell -rm -f -skipTrash {RESULT}"
    assert more == ([] if options else [removed]), "a result that the user asked for stays"


@pytest.mark.parametrize("text", [None, "no JSON", "[]", "{}"])
def test_no_result_is_unavailable(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "result").write_text(text, encoding="utf-8")
    with pytest.raises(UnavailableError, match=rf"cannot be read at {RESULT} \(spark-submit ended with 1\).*yarn"):
        run(tmp_path, submitted="false")


def test_without_a_ticket_the_job_may_have_done_its_work(tmp_path: Path) -> None:
    """Spark ends with 1 for every job that does not end with 0, so nobody knows."""
    with pytest.raises(UnavailableError, match=r"no valid Kerberos ticket .*or run kinit.*yarn logs"):
        run(tmp_path, shell=NO_TICKET, submitted="false")
