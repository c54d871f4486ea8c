"""The benchmark of captures from saved text runs: what it lays out is a cluster that capture takes for one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.labs.places import PROJECT

pytestmark = pytest.mark.deep

BENCHMARK = PROJECT / "benchmarks/capture_speed.py"


@pytest.mark.parametrize("source", ["fsimage", "ls"])
def test_it_captures_what_it_laid_out(source: str, tmp_path: Path) -> None:
    command = [sys.executable, BENCHMARK, "--source", source, "--files", "1000", "--work", tmp_path, "--out", tmp_path]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=3_600)
    assert ran.returncode == 0, ran.stderr
    (line,) = (tmp_path / "capture.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["point"]["files"] >= 1000
    assert not list(tmp_path.glob("walsafe-capture-*"))
