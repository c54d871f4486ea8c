"""Sessions as HBase backup's own `BackupInfo` (2.6.1) writes them: golden backup.tsv."""

from base64 import b64decode

import pytest

from pipelines.common.errors import MalformedError
from pipelines.hbase.replication_queues import Cell
from pipelines.snapshot.backup import BackupSession, sessions_of, smallest_by_key
from tests.labs.places import TESTS

GOLDEN = TESTS / "golden" / "hbase" / "backup.tsv"
ROWS = [line.split("\t") for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


def cell(backup_id: str, value: bytes) -> Cell:
    return Cell(f"session:{backup_id}".encode(), b"session", b"context", value)


@pytest.mark.parametrize("row", ROWS, ids=[row[3] for row in ROWS])
def test_what_hbase_wrote_is_read(row: list[str]) -> None:
    backup_id, root, kind, state, started, completed, rolled, data = row
    parts = [one.split(" ") for one in rolled.split(";") if one]
    assert sessions_of([cell(backup_id, b64decode(data))]) == (
        BackupSession(
            backup_id,
            root,
            kind,
            state,
            int(started),
            int(completed) or None,
            {table: max(int(when) for name, _, when in parts if name == table) for table, _, _ in parts},
            smallest_by_key((address.lower(), int(timestamp)) for _, address, timestamp in parts),
        ),
    )


def test_all_states_are_there() -> None:
    assert {row[3] for row in ROWS} == {"COMPLETE", "RUNNING", "FAILED"}


@pytest.mark.promise("unknown-backup-holds-everything")
@pytest.mark.parametrize("cut", [1, 20, 60, 90])
def test_what_is_cut_off_is_no_session(cut: int) -> None:
    data = b64decode(ROWS[0][-1])
    with pytest.raises(MalformedError, match=r"backup:system, row b'session:x'"):
        sessions_of([cell("x", data[:cut])])


@pytest.mark.promise("unknown-backup-holds-everything")
def test_a_state_of_a_later_hbase_is_none_that_is_known() -> None:
    data = b64decode(ROWS[0][-1])
    assert data.count(b"\x20\x01") == 1  # field 4, COMPLETE
    with pytest.raises(MalformedError, match="not a backup session of a form that is known"):
        sessions_of([cell("x", data.replace(b"\x20\x01", b"\x20\x04"))])
