"""Two nights of a cluster with synchronous replication, HBase backup, a serial peer and HFiles of a removed peer."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.cli.config.configuration import parse_config
from pipelines.common.instants import DAY_MS, HOUR_MS
from pipelines.common.job_result import JobResult
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.files.file_batch import FileBatch
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell
from pipelines.snapshot.backup import COMPLETE, BackupSession, backup_of, session_document
from pipelines.snapshot.barriers import barriers_document, region_barriers
from pipelines.snapshot.model import Backup
from pipelines.snapshot.reader import SnapshotDirectories
from pipelines.snapshot.target import LocalTarget
from pipelines.snapshot.writer import SnapshotWriter
from tests.labs.documented_commands import blocks
from tests.labs.places import DOCS
from tests.labs.small_cluster import (
    D1,
    DECIDED_AFTER_MS,
    H1,
    H2,
    NOW,
    Desk,
    clusters_of,
    edited,
    group,
    replaced_content,
    row,
    small,
    timestamp,
    wal,
    with_cells,
    with_files,
    with_snapshot,
)

pytestmark = pytest.mark.long

PAGE = DOCS / "neighbours.md"
SYNC_NAME = "a1.example.org%2C16020%2C1789000000000-1789000000000-dr.{}.syncrep"
"""As the ACTIVE cluster names its WALs."""
OLD_ROOT, NEW_ROOT = "hdfs://backup/weekly", "s3a://backup/daily"


def session(number: int, root: str, kind: str, table: str, newest: int, rolled: int) -> BackupSession:
    servers = {H1.address: rolled, D1.address: timestamp(3)}
    return BackupSession(f"backup_{number}", root, kind, COMPLETE, rolled, NOW, {table: newest}, servers)


SESSIONS = (
    session(1, OLD_ROOT, "FULL", "orders", timestamp(3), timestamp(2)),
    session(2, NEW_ROOT, "INCREMENTAL", "events", NOW, timestamp(3)),
)
CONFIG = "{quality: {share_from: 0MiB}, findings: {backup_age: 30h}}"
LONG_AGO = NOW - 3 * DAY_MS
REGIONS = (
    region_barriers("0123456789abcdef0123456789abcdef", "orders", [(2, LONG_AGO - DAY_MS), (700, LONG_AGO)]),
    region_barriers("f0000000000000000000000000000000", "orders", [(2, LONG_AGO - DAY_MS), (900, LONG_AGO)]),
)


def remote(directory: str, number: int, length: int, night: int) -> ArchivedFile:
    return ArchivedFile(
        f"remoteWALs/{directory}/{SYNC_NAME.format(number)}", length, NOW + night * DAY_MS - 30 * HOUR_MS
    )


def snapshot(desk: Desk, night: int) -> Path:
    """The small cluster and all that is special here; on the second night it has taken over."""
    made = small("prod", night)
    state = ("STANDBY", "DOWNGRADE_ACTIVE")[night]
    peers = [
        Peer("1", "ENABLED", serial=True, replicate_all=True),
        Peer("2", "DISABLED"),
        Peer("dr", "ENABLED", sync_replication_state=state, remote_wal_dir="hdfs://b/hbase/remoteWALs"),
    ]
    made = with_cells(
        made,
        *(row(f"dr-{server}", group(server), wal(server, 600), -1) for server in (H1, H2)),
        Cell(b"9", b"hfileref", b"f1", b""),
        Cell(b"9", b"hfileref", b"f2", b""),
        Cell(b"1", b"sid", b"0123456789abcdef0123456789abcdef", (650).to_bytes(8, "big")),
        Cell(b"1", b"sid", b"f0000000000000000000000000000000", (899).to_bytes(8, "big")),
    )
    # peer 1 has not moved since the night before
    made = with_cells(made, row(f"1-{H1}", group(H1), wal(H1, 4), 0))
    if night == 0:
        peers.append(Peer("gone", "DISABLED"))
        made = with_files(made, remote("dr", 1, 1024, 0))
    else:
        made = with_files(
            made,
            *(remote("dr", number, 1024 * number, night) for number in (1, 2)),
            remote("dr-replay", 1, 2048, night),
            remote("dr-replay", 2, 0, night),
            remote("dr-snapshot", 1, 4096, night),
            remote("gone", 1, 8192, night),
            remote("ghost", 1, 16384, night),
            # a name that HBase tracks by its own group: not finished for anybody
            ArchivedFile(f"oldWALs/{group(H1)}-{timestamp(1)}-dr.{timestamp(2)}.syncrep", 32768, timestamp(3)),
        )
    backup = Backup(True, backup_of(SESSIONS).boundaries)
    made = with_snapshot(made, peers=tuple(peers), backup=backup, extras=("backup", "barriers"))
    out = desk.root / f"night-{night}"
    with SnapshotWriter(LocalTarget(out)) as writer:
        columns = zip(*((file.path, file.length, file.modification_time) for file in made.files), strict=True)
        writer.files([FileBatch(*map(list, columns))])
        writer.cells("queues-1.jsonl", made.pass_1)
        writer.cells("queues-2.jsonl", made.pass_2)
        writer.documents("extras/backup.jsonl", map(session_document, SESSIONS))
        writer.documents("extras/barriers.jsonl", map(barriers_document, REGIONS))
        writer.finish(made.snapshot)
    return out


@dataclass
class Nights:
    """Both runs."""

    desk: Desk
    outcomes: tuple[JobResult, JobResult]

    def cluster(self, night: int) -> dict[str, Any]:
        return clusters_of(self.outcomes[night])["prod"]

    def run_id(self, night: int) -> str:
        return str(self.cluster(night)["run_id"])

    def rows(self, table: str, night: int) -> list[dict[str, Any]]:
        return self.desk.rows(table, f"run_id = '{self.run_id(night)}'")


@pytest.fixture(scope="module")
def nights(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Nights:
    desk = Desk(spark, tmp_path_factory.mktemp("neighbours"))
    first, second = (
        desk.reconcile(
            snapshot(desk, night),
            now=NOW + night * DAY_MS + DECIDED_AFTER_MS,
            config=parse_config(CONFIG, "test.yaml"),
        )
        for night in (0, 1)
    )
    return Nights(desk, (first, second))


def test_what_backups_have_is_free_and_what_they_may_need_is_held(nights: Nights) -> None:
    """H1 and D1 have boundaries; H2 has met no backup, so its WALs are held until an hour before all of them."""
    reasons = {one["path"].removeprefix("oldWALs/"): one["reason"] for one in nights.rows("wal_verdicts", 1)}
    assert reasons[wal(H1, 1)] == "REPLICATED"
    assert {reasons[wal(H1, 2)], reasons[wal(D1, 2)], reasons[wal(D1, 3)]} == {"PENDING"}
    assert {reasons[wal(H1, 3)], reasons[wal(H1, 4)], reasons[wal(H2, 1)], reasons[wal(H2, 2)]} == {"BACKUP"}


def test_a_wal_of_synchronous_replication_goes_by_its_own_group(nights: Nights) -> None:
    (found,) = [one for one in nights.rows("wal_verdicts", 1) if one["path"].endswith(".syncrep")]
    assert (found["verdict"], found["reason"]) == ("HELD", "QUEUE_MISSING")
    assert {holder["peer_id"] for holder in found["blocking"]} == {"1", "2", "dr"}


@pytest.mark.promise("remote-wals-are-never-touched")
def test_remote_wals_are_told_and_never_listed(nights: Nights) -> None:
    paths = {one["path"] for night in (0, 1) for one in nights.rows("wal_verdicts", night)}
    assert not [path for path in paths if not path.startswith("oldWALs/")]
    assert all("/oldWALs/" in line for line in nights.desk.lines("prod", nights.run_id(1)))
    found = {one["directory"]: one for one in nights.rows("remote_wals", 1)}
    assert {
        name: (one["kind"], one["peer_exists"], one["files"], one["bytes"], one["empty_files"])
        for name, one in found.items()
    } == {
        "remoteWALs/dr": ("REMOTE", True, 2, 3072, 0),
        "remoteWALs/dr-replay": ("REPLAY", True, 2, 2048, 1),
        "remoteWALs/dr-snapshot": ("SNAPSHOT", True, 1, 4096, 0),
        "remoteWALs/gone": ("REMOTE", False, 1, 8192, 0),
        "remoteWALs/ghost": ("REMOTE", False, 1, 16384, 0),
    }


def test_states_of_the_nights_are_compared(nights: Nights) -> None:
    (before,), (now,) = nights.rows("sync_peers", 0), nights.rows("sync_peers", 1)
    assert (before["sync_state"], before["previous_sync_state"], before["nights"]) == ("STANDBY", None, 1)
    assert (now["sync_state"], now["previous_sync_state"], now["nights"]) == ("DOWNGRADE_ACTIVE", "STANDBY", 1)
    assert now["since"] > before["since"]


def codes(nights: Nights, night: int) -> dict[str, tuple[str, str]]:
    return {one["key"]: (one["severity"], one["message"]) for one in nights.rows("findings", night)}


def test_the_first_night_knows_what_is_wrong_by_itself(nights: Nights) -> None:
    found = codes(nights, 0)
    assert set(found) == {
        "ORPHAN_HFILE_REFS:9",
        "REMOTE_WALS_PILE_UP:remoteWALs/dr",
    }


def test_the_second_night_knows_more(nights: Nights) -> None:
    found = codes(nights, 1)
    assert {key: severity for key, (severity, _) in found.items()} == {
        f"BACKUP_BEHIND:{OLD_ROOT}": "warning",
        "ORPHAN_HFILE_REFS:9": "warning",
        "ORPHAN_REMOTE_WALS:remoteWALs/ghost": "warning",
        "ORPHAN_REMOTE_WALS:remoteWALs/gone": "warning",
        "REMOTE_WALS_NOT_REPLAYED:remoteWALs/dr-replay": "error",
        "REMOTE_WALS_UNEXPECTED:remoteWALs/dr": "warning",
        "SERIAL_STUCK:1": "warning",
        "SYNC_STATE_CHANGED:dr/STANDBY-DOWNGRADE_ACTIVE": "info",
    }
    assert "was there on an earlier night and is removed" in found["ORPHAN_REMOTE_WALS:remoteWALs/gone"][1]
    assert "which no night of the last 40 days knows" in found["ORPHAN_REMOTE_WALS:remoteWALs/ghost"][1]
    assert "This holds up 1 region and 3 WAL groups" in found["SERIAL_STUCK:1"][1]


def test_the_example_of_the_other_page_is_what_the_tables_say(
    nights: Nights, capsys: pytest.CaptureFixture[str]
) -> None:
    code, answer = (blocks(DOCS / "synchronous-replication.md", kind)[0] for kind in ("python", "text"))
    date = nights.rows("runs", 1)[0]["run_date"]
    assert "2026-11-21" in code
    exec(code.replace("/walsafe/lake", str(nights.desk.lake)).replace("2026-11-21", str(date)), {})  # noqa: S102
    assert capsys.readouterr().out == answer


def test_the_example_of_the_page_is_an_answer(nights: Nights) -> None:
    (example,) = blocks(PAGE, "text")
    text = nights.outcomes[1].text
    assert example in text[text.index("  findings\n") :]


def test_a_second_attempt_leaves_the_same_rows(nights: Nights) -> None:
    desk, tables = nights.desk, ("remote_wals", "sync_peers", "findings")
    before = {table: sorted(map(str, nights.rows(table, 1))) for table in tables}
    shutil.rmtree(desk.lists / "prod" / nights.run_id(1))
    desk.reconcile(desk.root / "night-1", now=NOW + DAY_MS + DECIDED_AFTER_MS, config=parse_config(CONFIG, "test.yaml"))
    assert {table: sorted(map(str, nights.rows(table, 1))) for table in tables} == before


def put_extra(directory: Path, content: bytes, name: str = "backup") -> None:
    replaced_content(directory, f"extras/{name}.jsonl", content)


def fewer_sessions(directory: Path) -> None:
    put_extra(directory, json.dumps(session_document(replace(SESSIONS[0], boundaries={}))).encode() + b"\n{}\n")


SLEEPING = {"sync_replication_state": "SLEEPING"}


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda directory: (directory / "extras/backup.jsonl").write_bytes(b"{}\n"), "SHA-256 differs"),
        (lambda directory: (directory / "extras/backup.jsonl").unlink(), "is missing"),
        (fewer_sessions, "line 2: key 'completed_at' is missing|line 2: key 'backup_id' is missing"),
        (lambda directory: put_extra(directory, b"no json\n\n"), "line 1: truncated or not JSON"),
        (lambda directory: edited(directory, lambda document: document.update(extras=["barriers"])), "do not agree"),
        (lambda directory: put_extra(directory, b"{}\n{}\n", "barriers"), "line 1: key 'region' is missing"),
        (
            lambda directory: edited(directory, lambda document: document["peers"][2].update(SLEEPING)),
            "'peers.2.sync_replication_state'.*SLEEPING",
        ),
    ],
)
def test_damaged_extras_make_the_snapshot_refused(
    nights: Nights, tmp_path: Path, damage: Callable[[Path], object], words: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(nights.desk.root / "night-1", copy)
    damage(copy)
    (opened,) = SnapshotDirectories(nights.desk.spark).open([f"file:{copy}"])
    assert re.search(words, opened.fault or ""), opened.fault
