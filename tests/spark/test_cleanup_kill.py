"""Jobs killed between two side effects, on real files and a real lake; the next one ends what they began.

`tests/unit/cleanup/test_machine.py` kills at every step; here a few, some of them by a true SIGKILL of a job's process.
"""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipelines.cleanup.audit import LakeAudit
from tests.labs.cleanup.kill import WORDS, cut, raise_killed
from tests.labs.cleanup.memory import Killed
from tests.labs.cleanup.on_disk import CLUSTER, RUN, Lab, NightOver
from tests.labs.places import PROJECT

pytestmark = pytest.mark.long


class Mortal(Lab):
    """A lab whose jobs die; their leases are over then."""

    def sigkilled(self, job: str, name: str) -> None:
        """The job in a process of its own, until SIGKILL."""
        words = [str(self.config), self.lake, f"file:{self.root}/lists", str(self.root / "scratch"), job, name]
        done = subprocess.run(
            [sys.executable, "-m", "tests.labs.cleanup.kill", *words],
            cwd=PROJECT, check=False, capture_output=True, text=True, timeout=3_600,
        )  # fmt: skip
        assert done.returncode == -signal.SIGKILL, done.stderr
        self.lease_expires()

    def killed(self, job: str, name: str) -> None:
        """The job here, until it raises what nothing catches."""
        self.changed = lambda ports: cut(ports, name, raise_killed)
        with pytest.raises(Killed):
            self.run(job)
        self.changed = lambda ports: ports
        self.lease_expires()

    def run(self, job: str) -> None:
        if job == "purge":
            self.purge(execute=True, before_grace=WORDS)
        else:
            self.clean(execute=job == "clean", resume=job == "resume")

    def open_intents(self) -> int:
        audit = LakeAudit(self.spark, self.lake, self.clock, "me", "here")
        decided = audit.decided(CLUSTER, RUN)
        assert decided is not None
        return len(audit.unsettled(decided.run))

    def statuses(self, action: str) -> list[str]:
        rows = sorted(self.rows("cleanups", f"action = '{action}'"), key=lambda one: (one["lease"], one["status"]))
        return [one["status"] for one in rows]


@pytest.fixture
def lab(night_over: NightOver) -> Mortal:
    return night_over.lab(Mortal)


@pytest.mark.promise("no-order-of-deaths-loses-a-file")
def test_what_was_archived_before_the_purge_died_is_told_as_archived(night_over: NightOver, tmp_path: Path) -> None:
    lab = night_over.cleaned(Mortal, {"archive": f"file:{tmp_path}/archive"})
    lab.killed("purge", "deleted")
    assert lab.open_intents() == 2
    assert lab.purge(execute=True, before_grace=WORDS).exit_code == 0
    told = {one["path"]: one for one in lab.rows("deletions", "phase = 'OUTCOME' AND action = 'PURGE'")}
    assert {one["outcome"] for one in told.values()} == {"ARCHIVED"}
    assert len(told) == 4
    for path, one in told.items():
        assert one["place"] == f"file:{tmp_path}/archive/{CLUSTER}/{RUN}/{path}"
        assert (tmp_path / "archive" / CLUSTER / RUN / path).is_file()


def everything(lab: Mortal, start: set[str], moved: int) -> None:
    """No file is lost, none is in two places, and each that moved has an intent."""
    assert lab.home() | set(lab.resting()) == start
    assert not lab.home() & set(lab.resting())
    assert len(lab.resting()) == moved
    assert set(lab.resting()) <= {one["path"] for one in lab.rows("deletions", "phase = 'INTENT'")}


@pytest.mark.promise(
    "killed-clean-is-resumed", "clean-is-reversible", "intent-before-rename", "no-order-of-deaths-loses-a-file"
)
@pytest.mark.parametrize("others", ["killed", pytest.param("sigkilled", marks=pytest.mark.deep)])
def test_one_list_and_six_deaths(lab: Mortal, others: str) -> None:
    """Batches of two: the list's four files are moved one, two and one at a time, each time by a job that dies.

    The first by a true SIGKILL, the others as told.
    """
    start, dies = lab.home(), getattr(lab, others)
    lab.sigkilled("clean", "half of a batch")
    everything(lab, start, 1)
    assert lab.open_intents() == 2
    dies("resume", "run taken")
    everything(lab, start, 1)
    first = min(one["lease"] for one in lab.rows("cleanups", "true"))
    assert list(lab.resting().values()) == [f".at-work-{first + 1}-{RUN}"]
    dies("resume", "intended")
    everything(lab, start, 1)
    dies("resume", "moved")
    everything(lab, start, 3)
    assert lab.open_intents() == 2, "what earlier jobs had begun was settled, what this one began is open"
    dies("resume", "about to end")
    everything(lab, start, 4)
    assert lab.statuses("CLEAN") == ["STARTED"] * 5, "the dead write no ending"
    last = lab.clean(resume=True)
    assert (last.exit_code, last.result["status"], last.result["done_files"]) == (0, "DONE", 0)
    everything(lab, start, 4)
    moved = lab.resting()
    assert moved == dict.fromkeys(moved, RUN)
    assert lab.outcomes() == dict.fromkeys(moved, "MOVED")
    assert lab.open_intents() == 0

    dies("purge", "deleted")
    assert lab.home() | set(lab.resting()) < start
    assert (len(lab.resting()), lab.open_intents()) == (2, 2)
    assert set(lab.outcomes().values()) == {"MOVED"}
    runs: Any = lab.purge(execute=True, before_grace=WORDS).result["runs"]
    assert [(one["status"], one["done_files"]) for one in runs] == [("DONE", 2)]
    assert lab.resting() == {}
    assert lab.home() == start - set(moved)
    assert lab.outcomes() == dict.fromkeys(moved, "PURGED")
    assert lab.open_intents() == 0
