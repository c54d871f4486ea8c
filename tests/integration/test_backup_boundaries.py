"""Backup boundaries on the real thing: sessions that HBase backup itself wrote, judged by its own log cleaner.

hbase-backup could be fetched for HBase 2 alone, so this is an HBase 2.6.4. Its `backup:system` is read by the client in
Spark's JVM, at each stage of a life of backups; all captures are reconciled in one run. Version 2.6.1 of the cleaner
holds nothing of a server that no backup has met; later ones do, and so does walsafe, which is the one difference.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.capture import capture_cluster
from jobs.cli.config.configuration import parse_config
from jobs.cli.context import JobContext
from jobs.reconcile.wiring import OutputPlaces, run_reconcile
from pipelines.hbase.wal_names import parse_wal_name
from pipelines.snapshot.model import Backup, Snapshot
from pipelines.snapshot.snapshot_json import parse_snapshot
from tests.labs.cluster.hbase import HBaseCluster, WalFile
from tests.labs.cluster.oracle import BackupOracle, BackupSession
from tests.labs.lake_rows import lake_rows
from tests.labs.waiting import wait_until

pytestmark = [pytest.mark.realhbase, pytest.mark.long]

TABLE = "backed_up"
SITE = {"hbase.master.logcleaner.ttl": "0", "hbase.backup.enable": "true"}
EARLIER = {"TOO_YOUNG", "FUTURE_TIMESTAMP", "INVALID_NAME", "MASTER_LOCAL_WAL", "PROCEDURE_WAL"}
ROOT, OTHER_ROOT = "hdfs://backup/root", "hdfs://user:secret@backup/other"


@dataclass
class Stage:
    """One capture, and the cleaner's answer about each file of it."""

    snapshot: Snapshot
    oracle: dict[str, str]


@dataclass
class Life:
    """All stages, with the reason of every file by stage.

    Attributes:
        silent: captures with a client's file, which says nothing of backup, once the table exists; by their state.
    """

    stages: dict[str, Stage]
    reasons: dict[str, dict[str, str]]
    silent: dict[str, Snapshot]

    def held(self, name: str) -> set[str]:
        return {path for path, reason in self.reasons[name].items() if reason == "BACKUP"}

    def asked(self, name: str, answer: str) -> set[str]:
        """Files that got so far in the chain as to be asked about, with that answer."""
        reasons = self.reasons[name]
        return {
            path for path, said in self.stages[name].oracle.items() if said == answer and reasons[path] not in EARLIER
        }


def address(file: WalFile) -> str:
    wal = parse_wal_name(file.path.rpartition("/")[2])
    assert wal is not None
    assert wal.server is not None
    return wal.server.address


def timestamp(file: WalFile) -> int:
    wal = parse_wal_name(file.path.rpartition("/")[2])
    assert wal is not None
    return wal.timestamp or 0


@pytest.fixture(scope="module")
def life(hbase_2_cluster: HBaseCluster, hbase_spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Life:
    cluster, work = hbase_2_cluster, tmp_path_factory.mktemp("backups")
    site = cluster.write_conf(work / "conf", SITE) / "hbase-site.xml"
    backups = BackupOracle(cluster)

    def data_wals() -> list[WalFile]:
        return [file for file in cluster.old_wals() if not file.path.endswith(("$", ".meta"))]

    cluster.create_table(TABLE)
    cluster.archive_wals(TABLE)
    cluster.archive_wals(TABLE)
    wals = data_wals()
    times: dict[str, list[int]] = {}
    for file in wals:
        times.setdefault(address(file), []).append(timestamp(file))
    first, last = ({one: pick(found) for one, found in times.items()} for pick in (min, max))
    cluster.archive_wals(TABLE)

    def is_newer(file: WalFile) -> bool:
        return timestamp(file) > last.get(address(file), timestamp(file))

    wait_until(lambda: any(map(is_newer, data_wals())), "a WAL that no backup has")

    def rolled(at: dict[str, int], table: str = "t") -> tuple[tuple[str, str, int], ...]:
        return tuple((table, one, ms) for one, ms in at.items())

    stages: dict[str, Stage] = {}

    def captured(out: Path, site: Path, state: str = "hbase") -> Snapshot:
        out.parent.mkdir(exist_ok=True)
        port = cluster.harness.property("hbase.zookeeper.property.clientPort")
        section = {
            "files": {"source": "hadoop"},
            "queues": {"source": "zookeeper", "quorum": f"127.0.0.1:{port}", "parent": f"/{cluster.name}"},
            "state": {"source": state},
            "hbase": {"site": str(site), "timeout": "5m"},
            "pause": "1s",
        }
        config = parse_config(json.dumps({"capture": section}), "test.yaml")
        assert config.capture is not None
        context = JobContext("capture", spark=hbase_spark)
        capture_cluster(out.name, cluster.wal_root, config.capture, f"file:{out}", context)
        return parse_snapshot(json.loads((out / "snapshot.json").read_text()))

    def see(name: str) -> None:
        snapshot = captured(work / "fleet" / name, site)
        files = cluster.old_wals()
        oracle = dict(zip((file.path for file in files), backups.verdicts(files), strict=True))
        stages[name] = Stage(snapshot, oracle)

    clients = cluster.write_conf(work / "client", {"hbase.master.logcleaner.ttl": "0"}) / "hbase-site.xml"
    states = ("hbase", "zookeeper")
    silent = {f"{state}, no table": captured(work / "silent" / f"{state}-before", clients, state) for state in states}
    backups.verdicts(wals[:1])  # makes the table
    silent |= {state: captured(work / "silent" / state, clients, state) for state in states}
    see("none")
    backups.put(BackupSession("backup_1", ROOT, "FULL", "RUNNING", max(last.values()) + 1, rolled({})))
    see("running")
    old = max(last.values()) - 7_200_000
    backups.put(BackupSession("backup_1", ROOT, "FULL", "RUNNING", old, rolled({})))
    see("running-long")
    backups.put(BackupSession("backup_1", ROOT, "FULL", "COMPLETE", 10, rolled(first)))
    see("complete")
    backups.put(BackupSession("backup_2", ROOT, "INCREMENTAL", "COMPLETE", 20, rolled(last)))
    backups.put(BackupSession("backup_3", ROOT, "INCREMENTAL", "FAILED", 30, rolled({})))
    see("next")
    one = max(times, key=lambda server: len(times[server]))
    backups.put(BackupSession("backup_4", OTHER_ROOT, "FULL", "COMPLETE", 15, rolled({**last, one: first[one]}, "u")))
    see("two-roots")
    backups.put(BackupSession("backup_4", OTHER_ROOT, "FULL", "COMPLETE", 15, rolled({one: first[one]}, "u")))
    see("half-met")
    for number in range(1, 5):
        backups.delete(f"backup_{number}")
    places = OutputPlaces(f"file:{work}/lake", f"file:{work}/lists")
    run_reconcile(
        JobContext("reconcile", spark=hbase_spark), parse_config("{}", "x"), places, (), fleet=f"file:{work}/fleet"
    )
    reasons: dict[str, dict[str, str]] = {name: {} for name in stages}
    for row in lake_rows(f"{work}/lake/wal_verdicts"):
        reasons[row["cluster"]][row["path"]] = row["reason"]
    return Life(stages, reasons, silent)


@pytest.mark.promise("backup-cleaner-keeps-is-held")
@pytest.mark.parametrize("name", ["complete", "next", "two-roots", "half-met"])
def test_what_the_cleaner_of_backups_keeps_is_held(life: Life, name: str) -> None:
    """At the other stages it keeps nothing."""
    assert life.asked(name, "KEEP")
    assert life.asked(name, "KEEP") <= life.held(name)


@pytest.mark.parametrize("name", ["none", "complete", "next", "two-roots"])
def test_and_nothing_else(life: Life, name: str) -> None:
    """Every server has a boundary at these stages, or there is no backup at all."""
    assert life.asked(name, "DELETE")
    assert life.held(name) == life.asked(name, "KEEP")


def test_boundaries_move_as_backups_complete(life: Life) -> None:
    assert life.held("none") == set()
    assert set() < life.held("next") < life.held("two-roots") <= life.held("complete")


@pytest.mark.promise("running-backup-holds")
def test_what_a_first_backup_may_need_is_held_while_it_runs(life: Life) -> None:
    """The cleaner of 2.6.1 deletes all of it; the hour before the start is for clocks that differ."""
    assert life.asked("running", "KEEP") == life.asked("running-long", "KEEP") == set()
    assert life.held("running") == life.held("running-long") == life.asked("running", "DELETE")


def test_what_a_root_needs_of_a_server_that_it_has_not_met_is_held(life: Life) -> None:
    """Its next incremental backup would take these WALs; the cleaner of 2.6.1 goes by the other root's boundary."""
    assert life.held("half-met") > life.held("two-roots")
    assert life.held("half-met") & life.asked("half-met", "DELETE")


@pytest.mark.promise("silence-about-backup-is-unknown")
def test_a_file_that_is_silent_about_backup_is_no_word_for_off(life: Life) -> None:
    """The cleaner of backups makes its table; before, and only then, silence is off."""
    assert {state: snapshot.backup for state, snapshot in life.silent.items()} == {
        "hbase, no table": Backup(enabled=False),
        "zookeeper, no table": Backup(enabled=False),
        "hbase": None,
        "zookeeper": None,
    }


def test_the_snapshot_says_what_was_read(life: Life) -> None:
    two = life.stages["two-roots"].snapshot
    assert two.extras == ("backup", "space")
    assert two.contents["extras/backup.jsonl"].rows == 2
    assert two.backup is not None
    assert two.backup.enabled
    assert len(two.backup.boundaries) == 2
    assert life.stages["none"].snapshot.contents["extras/backup.jsonl"].rows == 0
    assert life.stages["none"].snapshot.backup == two.backup.__class__(enabled=True)
