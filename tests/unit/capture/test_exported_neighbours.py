"""The parts `backup` and `barriers` of an export: read behind the peers, by the same host, whole or not at all."""

import base64
import json
from pathlib import Path

import pytest

from pipelines.capture.sources.export_parts import ExportDirectory
from pipelines.capture.sources.exported_state import ExportedState
from pipelines.common.errors import SnapshotError, UsageError
from pipelines.files.saved_text import LocalCopies
from pipelines.snapshot.barriers import Barrier, RegionBarriers
from tests.labs.places import TESTS

GOLDEN = TESTS / "golden" / "hbase" / "backup.tsv"
SESSIONS = [line.split("\t") for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def cell(row: str, family: str, value: str) -> str:
    return json.dumps(
        {"row": b64(row.encode()), "family": b64(family.encode()), "qualifier": b64(b"context"), "value": value}
    )


def export(tmp_path: Path, name: str, *lines: str, second: int = 10, host: str = "edge1") -> ExportedState:
    """An export of peers, read from second 0 to 5, and one part more."""
    for step, at, own, content in (("peers", 0, "edge1", ('{"peers": []}',)), (name, second, host, lines)):
        begin = f"# walsafe-export 1 {step} started 2026-11-21T02:00:{at:02d}.000Z host {own} zone UTC"
        end = f"# walsafe-export end {step} finished 2026-11-21T02:00:{at + 5:02d}.000Z status 0"
        (tmp_path / f"{step}.txt").write_text("\n".join((begin, *content, end, "")))
    return ExportedState(ExportDirectory(str(tmp_path), LocalCopies()), "hdfs://ns1/hbase")


WHOLE = (*(cell(f"session:{one[0]}", "session", one[-1]) for one in SESSIONS), "3 row(s)")
REGION = json.dumps({"row": b64(b"t,,1.f00."), "timestamp": 7, "value": b64((2).to_bytes(8, "big"))})


def test_sessions_that_count_are_read(tmp_path: Path) -> None:
    backups = export(tmp_path, "backup", *WHOLE).backups()
    assert backups is not None
    assert {one.state for one in backups} == {"COMPLETE", "RUNNING"}


def test_barriers_are_read(tmp_path: Path) -> None:
    assert export(tmp_path, "barriers", REGION, "1 row(s)").barriers() == (
        RegionBarriers("f00", "t", (Barrier(2, 7),)),
    )


def test_an_export_without_the_part_leaves_them_unknown(tmp_path: Path) -> None:
    state = export(tmp_path, "other")
    assert (state.backups(), state.barriers()) == (None, None)


@pytest.mark.promise("unknown-backup-holds-everything")
def test_a_session_that_nobody_can_read_leaves_all_unknown(tmp_path: Path) -> None:
    assert export(tmp_path, "backup", cell("session:x", "session", b64(b"no message")), "1 row(s)").backups() is None


@pytest.mark.promise("one-clock", "backups-are-read-after-the-files")
@pytest.mark.parametrize(
    ("lines", "second", "host", "words"),
    [
        (WHOLE, 4, "edge1", "not read after the peers"),
        (WHOLE, 10, "edge2", "stamped by the clock of host"),
        (WHOLE[:-1], 10, "edge1", "the scan is not whole"),
        ((*WHOLE[:-1], "9 row(s)"), 10, "edge1", "its closing line says 9"),
    ],
)
def test_a_part_that_proves_nothing_is_refused(
    tmp_path: Path, lines: tuple[str, ...], second: int, host: str, words: str
) -> None:
    with pytest.raises(SnapshotError, match=words):
        export(tmp_path, "backup", *lines, second=second, host=host).backups()


@pytest.mark.parametrize(
    "line", ["{}", '{"row":"!","timestamp":1,"value":""}', '{"row":"","timestamp":-1,"value":""}', "["]
)
def test_a_line_that_is_no_barrier_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(UsageError, match=r"barriers\.txt, line 2"):
        export(tmp_path, "barriers", line, "1 row(s)").barriers()
