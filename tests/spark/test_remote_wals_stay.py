"""No job changes anything below `remoteWALs/`, whatever list, audit or configuration says."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.cleanup.paths import refuse_outside
from pipelines.cleanup.quarantine import check_quarantine
from pipelines.common.errors import RefusedError, UsageError
from pipelines.common.instants import DAY_MS
from pipelines.lake.delta_tables import DeltaTables
from schemas.deletions import DELETIONS
from tests.labs.cleanup.on_disk import RUN, Lab, NightOver
from tests.labs.small_cluster import NOW
from tests.spark.test_cleanup import forged, untouched

COPY = "remoteWALs/1/a1.example.org%2C16020%2C1-1-1.1789000000000.syncrep"
ROOT = "hdfs://ns1/hbase"
NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=12)


def put(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"copy")
    os.utime(file, (NOW // 1000 - 900_000,) * 2)
    return file


@pytest.fixture
def lab(night_over: NightOver) -> Lab:
    """A night is over; a copy lies where the ACTIVE cluster put it."""
    lab = night_over.lab(Lab)
    put(lab.live / "hbase" / COPY)
    return lab


@pytest.mark.long
@pytest.mark.promise("remote-wals-are-never-touched")
def test_neither_clean_nor_restore_nor_purge_touches_them(lab: Lab) -> None:
    copy = lab.live / "hbase" / COPY
    for line in (copy, lab.live / "hbase" / "oldWALs" / ".." / COPY):
        whole = (lab.root / "lists").rglob("*")
        before = {file: file.read_bytes() for file in whole if file.is_file()}
        forged(lab, f"file://{line}")
        untouched(lab, "does not lie below oldWALs|which the run did not find DELETABLE")
        for file, content in before.items():
            file.write_bytes(content)
    done = lab.clean(execute=True)
    assert done.result["done_files"] == 4
    # an audit that says it was moved, and a file at rest by that name
    (moved, *_) = lab.rows("deletions", "phase = 'OUTCOME'")
    forged_row = {**moved, "path": COPY, "length": 4, "modification_time": NOW - 900_000_000, "at": NOW}
    DeltaTables(lab.spark, lab.lake).append_rows(DELETIONS, [forged_row])
    resting = put(lab.quarantine / RUN / COPY)
    copy.unlink()
    with pytest.raises(UsageError, match=rf"{re.escape(COPY)}. is not in the quarantine of run {RUN}, nor below"):
        lab.restore(COPY)
    assert (copy.exists(), resting.exists()) == (False, True)
    put(copy)
    lab.clock.instant += 8 * DAY_MS
    lab.purge(execute=True)
    assert copy.read_bytes() == b"copy"


@pytest.mark.promise("remote-wals-are-never-touched")
@given(peer=NAMES, name=NAMES, suffix=st.sampled_from(["", "-replay", "-snapshot"]))
def test_no_store_passes_a_path_below_remote_wals(peer: str, name: str, suffix: str) -> None:
    within = (f"{ROOT}/oldWALs", "hdfs://ns1/walsafe/quarantine/prod-a")
    for folder in ("remoteWALs", "oldWALs/../remoteWALs"):
        with pytest.raises(RefusedError):
            refuse_outside(f"{ROOT}/{folder}/{peer}{suffix}/{name}", within)


def test_a_quarantine_cannot_lie_there() -> None:
    with pytest.raises(UsageError, match="overlap: one contains the other"):
        check_quarantine(f"{ROOT}/remoteWALs/q", None, ROOT)
