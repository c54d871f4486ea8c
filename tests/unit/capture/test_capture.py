"""The order of a capture, its patience, and what it refuses."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from pipelines.capture.capture import Captured, Patience, Sources, Subject, capture
from pipelines.capture.ports import ClusterSettings
from pipelines.capture.secrets import HIDDEN, without_secrets
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError
from pipelines.decide.rule.cluster_view import cluster_view
from pipelines.decide.rule.settings import Settings
from pipelines.files.file_batch import FileBatch
from pipelines.hbase.known_servers import Servers
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.backup import BackupSession
from pipelines.snapshot.barriers import RegionBarriers, region_barriers
from pipelines.snapshot.capture_clocks import FILE_SYSTEM, Stamp
from pipelines.snapshot.capture_order import CAPTURE_ORDER
from pipelines.snapshot.model import Backup, Flags, Retention, Snapshot, Step, WalDirectory

H1, H2 = ServerName("h1", 16020, 5), ServerName("h2", 16020, 6)
H3 = ServerName.parse("h3,16020,5")
AT_REST = Servers(online=frozenset({H1}), dead=frozenset({ServerName("h3", 16020, 1)}))
CALM = Flags(queue_table_exists=True, add_peer_running=False, migration_pending=False, zk_queue_data=False)


@dataclass
class World:
    """Every source and the sink in one, remembering what was asked, in which order."""

    asked: list[str] = field(default_factory=list)
    now: int = 1_000
    failures: dict[str, int] = field(default_factory=dict)
    stamps: dict[str, Stamp] = field(default_factory=dict)
    masters: list[str] = field(default_factory=lambda: ["m,1,1", "m,1,1"])
    rows: dict[str, list[bytes]] = field(default_factory=dict)
    directories: list[tuple[WalDirectory, ...]] = field(default_factory=list)
    later: list[Servers] = field(default_factory=list)
    crashing_later: list[frozenset[ServerName]] = field(default_factory=list)
    peer: Peer = field(default_factory=lambda: Peer("1", "ENABLED", config={"db.password": "hunter2"}))
    backup: Backup | None = field(default_factory=lambda: Backup(enabled=False))
    backup_table: bool | None = None
    written: dict[str, list[object]] = field(default_factory=dict)
    slept: list[int] = field(default_factory=list)
    finished: Snapshot | None = None

    def now_ms(self) -> int:
        self.now += 1
        return self.now

    def ask(self, what: str) -> None:
        self.asked.append(what)
        if self.failures.get(what, 0) > 0:
            self.failures[what] -= 1
            raise UnavailableError(f"{what} did not answer")

    def stamp(self, step: str) -> Stamp | None:
        return self.stamps.get(step)

    def files(self, batches: Iterable[FileBatch] | None = None) -> object:
        if batches is not None:
            return sum(map(len, batches))
        return self._listing()

    def _listing(self) -> Iterator[FileBatch]:
        self.ask("files")
        yield FileBatch(["oldWALs/a.1"], [1], [1])

    def wal_directories(self) -> tuple[WalDirectory, ...]:
        self.ask("wal_directories")
        return self.directories.pop(0) if self.directories else (WalDirectory(H1, 0, 1),)

    def cells(self, name: str, cells: Iterable[Cell] | None = None) -> object:
        if cells is not None:
            return len(list(cells))
        return self._scan(name)

    def _scan(self, step: str) -> Iterator[Cell]:
        self.ask(step)
        for row in self.rows.get(step, [b"1-h1,16020,5"]):
            yield Cell(row, b"queue", b"g", b"w:1")

    def settings(self) -> ClusterSettings:
        self.ask("settings")
        return ClusterSettings("id", "3.0.0", Retention(1, 2, 3), None, self.backup)

    def active_master(self, step: str) -> str:
        self.ask(f"master:{step}")
        return self.masters[step == "crashing-2"]

    def servers(self, step: str) -> Servers:
        self.ask(step)
        return self.later.pop(0) if step == "online-2" and self.later else AT_REST

    def crashing(self, step: str) -> frozenset[ServerName]:
        self.ask(f"procedures:{step}")
        return self.crashing_later.pop(0) if step == "crashing-2" and self.crashing_later else frozenset({H2})

    def peers(self) -> tuple[Peer, ...]:
        self.ask("peers")
        return (self.peer,)

    def has_backup_table(self) -> bool | None:
        self.ask("backup table")
        return self.backup_table

    def backups(self) -> tuple[BackupSession, ...] | None:
        self.ask("backups")
        root = "hdfs://user:hunter2@backup/root"
        return (BackupSession("b", root, "FULL", "COMPLETE", 7, 8, {"t": 7}, {"h1:16020": 7}),)

    def barriers(self) -> tuple[RegionBarriers, ...] | None:
        self.ask("barriers")
        return (region_barriers("f00", "t", [(2, 3)]),)

    def documents(self, name: str, documents: Iterable[object]) -> int:
        self.written[name] = list(documents)
        return len(self.written[name])

    def flags(self, step: str) -> Flags:
        self.ask(f"flags:{step}")
        return replace(CALM, add_peer_running=step == "crashing-2")

    def finish(self, snapshot: Snapshot) -> str:
        self.finished = snapshot
        return "file:///s"

    def capture(self, step_attempts: int = 1, quiet_attempts: int = 1) -> Captured:
        patience = Patience(step_attempts, quiet_attempts, 7, self.slept.append)
        sources = Sources(self, self, self, self)  # type: ignore[arg-type]
        return capture(Subject("c", "hdfs://n/h", "edge"), sources, self, clock=self, patience=patience)  # type: ignore[arg-type]


THE_REST = [
    "wal_directories",
    "online",
    "master:crashing",
    "procedures:crashing",
    "peers",
    "flags:peers",
    "queues-1",
    "queues-2",
    "online-2",
    "procedures:crashing-2",
    "flags:crashing-2",
    "master:crashing-2",
]


@pytest.mark.promise("capture-order")
def test_everything_is_asked_in_the_order_that_loses_nothing() -> None:
    world = World()
    captured = world.capture()
    assert world.asked == ["settings", "files", *THE_REST]
    snapshot = world.finished
    assert snapshot is not None
    assert snapshot is captured.snapshot
    assert tuple(step.step for step in snapshot.steps) == CAPTURE_ORDER
    times = [time for step in snapshot.steps for time in (step.started_at, step.finished_at)]
    assert times == sorted(times)
    assert snapshot.flags == CALM
    assert snapshot.flags_2 == replace(CALM, add_peer_running=True)
    assert snapshot.membership is not None
    assert (snapshot.membership.online, snapshot.membership.crashing) == ({H1}, {H2})
    assert [directory.server for directory in snapshot.membership.wal_directories] == [H1]
    assert (captured.files, captured.cells, captured.restless) == (1, 1, None)
    assert snapshot.clock_host == "edge"


@pytest.mark.promise("backups-are-read-after-the-files")
def test_neighbours_are_read_with_the_peers_and_only_where_there_are_any() -> None:
    """Behind the files, so that a backup begun later needs none of them, and before the queues for barriers."""
    world = World(backup=Backup(enabled=True), peer=Peer("1", "ENABLED", serial=True))
    world.capture()
    at = world.asked.index("flags:peers")
    assert world.asked[at + 1 : at + 4] == ["backups", "barriers", "queues-1"]
    assert world.finished is not None
    assert tuple(step.step for step in world.finished.steps) == CAPTURE_ORDER
    assert world.finished.backup == Backup(True, {"h1:16020": 7})
    assert world.finished.extras == ("backup", "barriers")
    assert set(world.written) == {"extras/backup.jsonl", "extras/barriers.jsonl"}
    assert "hunter2" not in str(world.written)
    plain = World(backup=Backup(enabled=False))
    plain.capture()
    assert plain.asked == ["settings", "files", *THE_REST]
    assert (plain.written, plain.finished and plain.finished.extras) == ({}, ())


@pytest.mark.promise("silence-about-backup-is-unknown")
@pytest.mark.parametrize(
    ("table", "backup"), [(False, Backup(enabled=False)), (True, None), (None, None)], ids=["none", "there", "unknown"]
)
def test_where_nobody_says_whether_backup_is_on_it_is_off_only_without_its_table(
    table: bool | None, backup: Backup | None, caplog: pytest.LogCaptureFixture
) -> None:
    """A client's hbase-site.xml is silent about the master's settings. Asked behind the files, as backups are."""
    world = World(backup=None, backup_table=table)
    captured = world.capture()
    at = world.asked.index("flags:peers")
    assert world.asked[at + 1 : at + 3] == ["backup table", "queues-1"]
    assert captured.snapshot.backup == backup
    assert ("state backup.enabled: false" in caplog.text) == (table is True)
    for settings, held in (
        (Settings(log_cleaner_plugins=()), backup is None),
        (Settings(log_cleaner_plugins=(), backup_enabled=False), False),
    ):
        view = cluster_view(captured.snapshot, (), settings, None, unparsable=False)
        assert view.foreign_cleaner == ("whether HBase backup is enabled is unknown" if held else None)


def test_a_neighbour_that_does_not_answer_is_asked_again_with_its_step() -> None:
    world = World(backup=Backup(enabled=True), failures={"backups": 1})
    world.capture(step_attempts=2)
    assert world.asked.count("peers") == 2
    assert world.finished is not None
    assert world.finished.extras == ("backup",)


@pytest.mark.promise("retries-never-reorder")
def test_a_step_that_is_not_answered_is_tried_again_and_stamped_anew() -> None:
    world = World(failures={"files": 1, "queues-2": 2})
    world.capture(step_attempts=3)
    assert world.asked == ["settings", "files", "files", *THE_REST[:8], "queues-2", "queues-2", *THE_REST[8:]]
    assert world.slept == [7, 7, 7]
    assert world.finished is not None
    assert world.finished.files_step.started_at == 1_002


@pytest.mark.parametrize("step", ["settings", "files", *THE_REST])
def test_a_step_that_never_answers_ends_the_capture(step: str) -> None:
    world = World(failures={step: 2})
    with pytest.raises(UnavailableError, match=step):
        world.capture(step_attempts=2)
    assert world.finished is None


@pytest.mark.promise("retries-never-reorder")
def test_while_servers_leave_the_rest_is_read_again_after_the_same_listing() -> None:
    world = World(later=[replace(AT_REST, online=frozenset())])
    captured = world.capture(quiet_attempts=2)
    assert world.asked == ["settings", "files", *THE_REST, *THE_REST]
    assert captured.restless is None
    assert world.finished is not None
    assert tuple(step.step for step in world.finished.steps) == CAPTURE_ORDER


MOVED = {
    "came and died": replace(AT_REST, dead=AT_REST.dead | {H3}),
    "came": replace(AT_REST, online=AT_REST.online | {H3}),
    "came again at its address": Servers(AT_REST.online | {H3}, frozenset()),
}


@pytest.mark.promise("who-died-meanwhile-counts-as-crashing")
@pytest.mark.parametrize("later", MOVED.values(), ids=MOVED)
def test_a_server_that_came_or_died_in_between_is_not_quiet(later: Servers) -> None:
    """It may have held a queue between two claims: rows then slip past both passes (docs/proof.md)."""
    captured = World(later=[later]).capture()
    assert captured.restless == f"server {H3} came, or its crash procedure started or ended, while the cluster was read"
    assert captured.snapshot.membership_2 is not None
    assert captured.snapshot.membership_2.crashing == {H2, H3}
    assert captured.snapshot.membership_2.online == later.online
    again = World(later=[later, later]).capture(quiet_attempts=2)
    assert again.restless is not None, "the first look of an attempt is its own"
    assert World(later=[later]).capture(quiet_attempts=2).restless is None


@pytest.mark.promise("who-died-meanwhile-counts-as-crashing")
@pytest.mark.parametrize("dead", [AT_REST.dead, AT_REST.dead | {H2}])
def test_a_crash_that_ended_in_between_is_not_quiet(dead: frozenset[ServerName]) -> None:
    """Even of a server that came onto the dead list only after the first look had asked for it."""
    world = World(later=[replace(AT_REST, dead=dead)], crashing_later=[frozenset()])
    captured = world.capture()
    assert captured.restless == f"server {H2} came, or its crash procedure started or ended, while the cluster was read"
    assert captured.snapshot.membership_2 is not None
    assert captured.snapshot.membership_2.crashing == frozenset()


@pytest.mark.promise("capture-says-whether-quiet")
def test_a_cluster_that_never_rests_is_captured_all_the_same() -> None:
    world = World(rows={"queues-2": [b"1-h2,16020,6/h1,16020,5"]})
    captured = world.capture(quiet_attempts=2)
    assert world.asked.count("queues-1") == 2
    assert captured.restless is not None
    assert world.finished is not None


SEED_OWN, SEED_RECOVERED = b"1-h1,16020,5", b"1-h1,16020,5-h2,16020,6"
"""A normal queue, and a recovered one with `-` before its source (`queues.row_layout: seed-003`)."""


@pytest.mark.promise("unreadable-row-is-not-quiet")
@pytest.mark.parametrize(
    ("rows", "quiet_attempts"),
    [
        ({"queues-1": [b"junk"]}, 1),
        ({"queues-2": [b"\xff"]}, 1),
        ({"queues-1": [b"junk"], "queues-2": [b"junk"]}, 3),
        # each row can be read, but no HBase writes both layouts into one table
        ({step: [SEED_RECOVERED, b"1-h1,16020,5/h3,16020,1"] for step in ("queues-1", "queues-2")}, 1),
    ],
)
def test_rows_that_nobody_can_read_are_captured_for_reconcile_to_name_and_are_not_quiet(
    rows: dict[str, list[bytes]], quiet_attempts: int
) -> None:
    """Whether such a queue moved, nobody knows: two passes with the same junk prove nothing either."""
    world = World(rows=rows)
    captured = world.capture(quiet_attempts=quiet_attempts)
    assert captured.restless is not None
    assert re.search(r"malformed queue row|without '-' after the peer|not UTF-8", captured.restless)
    assert world.asked.count("queues-1") == quiet_attempts
    assert world.finished is not None


def test_rows_of_the_other_layout_that_agree_are_quiet() -> None:
    rows = {"queues-1": [SEED_OWN, SEED_RECOVERED], "queues-2": [SEED_RECOVERED, SEED_OWN]}
    # the owner of neither is crashing, the source of one is: that is what a recovered queue is
    assert World(rows=rows).capture().restless is None


@pytest.mark.promise("rows-are-compared-in-any-layout")
def test_a_row_of_the_other_layout_that_moved_is_not_quiet() -> None:
    moved = {"queues-1": [SEED_OWN], "queues-2": [SEED_OWN, SEED_RECOVERED]}
    world = World(rows=moved)
    captured = world.capture(quiet_attempts=2)
    assert captured.restless == "queue 1-h1,16020,5/h2,16020,6 is in only one of the two passes"
    assert world.asked.count("queues-1") == 2
    crashing = {step: [b"1-h2,16020,6-h1,16020,5"] for step in ("queues-1", "queues-2")}
    assert "belongs to a server whose crash procedure is unfinished" in str(World(rows=crashing).capture().restless)


@pytest.mark.promise("another-master-is-refused")
def test_another_master_is_refused() -> None:
    world = World(masters=["m,1,1", "m,1,2"])
    with pytest.raises(RefusedError, match="active master changed from m,1,1 to m,1,2") as refused:
        world.capture(quiet_attempts=2)
    assert refused.value.condition is Condition.MASTER_CHANGED
    assert world.asked.count("queues-1") == 2
    assert world.finished is None


def test_servers_that_have_just_come_up_get_another_attempt() -> None:
    """They are online before their directories are there: at first the listing looks like another cluster's."""
    world = World(directories=[()])
    assert world.capture(quiet_attempts=2).restless is None
    assert world.asked == ["settings", "files", *THE_REST, *THE_REST]
    with pytest.raises(RefusedError, match="wal_root belongs to another cluster") as refused:
        World(directories=[(), ()]).capture(quiet_attempts=2)
    assert refused.value.condition is Condition.MIXED_CLUSTERS


@pytest.mark.parametrize(
    ("stamps", "words"),
    [
        ({"queues-1": Step("queues-1", 1, 2)}, "'queues-1' started at"),
        ({"files": Step("files", 5_000, 6_000)}, "'wal_directories' started at"),
        ({"files": Step("files", 7, 6)}, "'files' finished before it started"),
    ],
)
def test_exported_inputs_out_of_order_are_refused(stamps: dict[str, Step], words: str) -> None:
    world = World(stamps={name: Stamp(step, "edge") for name, step in stamps.items()})
    with pytest.raises(RefusedError, match=words) as refused:
        world.capture()
    assert refused.value.condition is Condition.SNAPSHOT_OUT_OF_ORDER
    assert world.finished is None


def test_an_older_listing_keeps_its_own_times() -> None:
    world = World(stamps={"files": Stamp(Step("files", 5, 6), None)})
    world.capture()
    assert world.finished is not None
    assert world.finished.files_step == Step("files", 5, 6)
    assert world.finished.clock_host == "edge", "of the steps that were read now"


RIGHT_TIMES = {name: Step(name, 10 * number, 10 * number + 5) for number, name in enumerate(CAPTURE_ORDER)}
BY_EDGE9 = {name: Stamp(step, "edge9") for name, step in RIGHT_TIMES.items()}


def test_an_export_of_one_host_is_a_capture_by_its_clock() -> None:
    world = World(stamps=BY_EDGE9)
    world.capture()
    assert world.finished is not None
    assert world.finished.clock_host == "edge9"
    assert world.finished.steps == tuple(RIGHT_TIMES.values())


@pytest.mark.promise("one-clock")
@pytest.mark.parametrize("name", CAPTURE_ORDER)
@pytest.mark.parametrize("host", ["other", None])
def test_a_step_stamped_by_another_clock_than_the_rest_is_refused(name: str, host: str | None) -> None:
    """Its times look right, and a clock that is ahead makes any order look right."""
    world = World(stamps={**BY_EDGE9, name: Stamp(RIGHT_TIMES[name], host)})
    words = "nobody says by which host's clock step" if host is None else "the clocks of two hosts"
    with pytest.raises(RefusedError, match=words) as refused:
        world.capture()
    assert refused.value.condition is Condition.SNAPSHOT_OUT_OF_ORDER
    assert world.finished is None


@pytest.mark.promise("one-clock")
@pytest.mark.parametrize("name", CAPTURE_ORDER)
def test_a_step_read_now_among_saved_ones_is_refused_whatever_this_clock_says(name: str) -> None:
    """It was read last; this host's clock is behind, so that its time fits all the same."""
    saved = {one: stamp for one, stamp in BY_EDGE9.items() if one != name}
    with pytest.raises(RefusedError, match="the clocks of two hosts"):
        World(stamps=saved, now=RIGHT_TIMES[name].started_at).capture()
    of_this_host = {one: Stamp(stamp.step, "edge") for one, stamp in saved.items()}
    assert World(stamps=of_this_host, now=RIGHT_TIMES[name].started_at).capture().restless is None, "one clock"


@pytest.mark.promise("listing-may-have-its-own-clock")
@pytest.mark.parametrize("host", ["other", None, FILE_SYSTEM])
def test_a_saved_listing_is_read_before_all_that_is_read_now(host: str | None) -> None:
    """So its own clock has no say about the order."""
    assert World(stamps={"files": Stamp(Step("files", 5, 6), host)}).capture().restless is None


@pytest.mark.promise("listing-may-have-its-own-clock")
def test_an_image_of_the_file_system_goes_with_an_export() -> None:
    image = Stamp(Step("files", 5, 5), FILE_SYSTEM)
    assert World(stamps={**BY_EDGE9, "files": image}).capture().snapshot.clock_host == "edge9"
    later = Stamp(Step("files", 11, 11), FILE_SYSTEM)
    with pytest.raises(RefusedError, match="'wal_directories' started at"):
        World(stamps={**BY_EDGE9, "files": later}).capture()


@pytest.mark.promise("peer-id-with-a-hyphen-is-refused")
def test_a_peer_whose_queues_would_be_read_as_another_s_is_refused() -> None:
    world = World(peer=Peer("1-x", "ENABLED"))
    with pytest.raises(RefusedError, match="peer id '1-x' has a '-', which HBase forbids") as refused:
        world.capture()
    assert refused.value.condition is Condition.PEER_ID_AMBIGUOUS
    assert world.finished is None
    assert "queues-1" not in world.asked


def test_secrets_of_peers_do_not_reach_the_snapshot() -> None:
    world = World()
    world.capture()
    assert world.finished is not None
    assert "hunter2" not in repr(world.finished)


SECRET = "hunter2"  # noqa: S105 - what must not be seen


@pytest.mark.parametrize(
    "make",
    [
        lambda: Peer("1", "ENABLED", cluster_key=f"hbase+rpc://u:{SECRET}@h:1/"),
        lambda: Peer("1", "ENABLED", cluster_key=f"hbase+zk://h:1/hbase?my.password={SECRET}&x=1"),
        lambda: Peer("1", "ENABLED", remote_wal_dir=f"s3a://key:{SECRET}@bucket/wal"),
        lambda: Peer("1", "ENABLED", config={"fs.s3a.secret.key": SECRET, "my.PASSWORD": SECRET, "auth.token": SECRET}),
        lambda: Peer("1", "ENABLED", config={"jdbc.url": f"jdbc:x://h/db;user=u;password={SECRET};a=b"}),
        lambda: Peer("1", "ENABLED", config={"es.url": f"https://u:{SECRET}@h/"}),
    ],
)
def test_values_that_look_like_secrets_are_hidden(make: Callable[[], Peer]) -> None:
    shown = without_secrets(make())
    assert SECRET not in repr(shown)
    assert HIDDEN in repr(shown)


def test_ordinary_values_stay() -> None:
    peer = Peer(
        "1", "ENABLED", cluster_key="zk1,zk2:2181:/hbase", config={"hbase.rpc.timeout": "9", "url": "http://h/a?b=c"}
    )
    assert without_secrets(peer) == peer


@pytest.mark.promise("one-cluster-only")
def test_the_parts_of_two_clusters_make_no_snapshot() -> None:
    """Files of one cluster judged by another's queues would all look deletable."""
    rows = [b"1-h7,16020,5", b"1-h8,16020,5/h7,16020,1"]
    for foreign in (rows, [b"1-h8,16020,5-h7,16020,1"], [b"junk", rows[1]]):  # in either layout, and beside others
        foreign_queues = World(rows={"queues-1": foreign, "queues-2": foreign})
        with pytest.raises(RefusedError, match="queues are read from another cluster than HBase's answers"):
            foreign_queues.capture()
        assert foreign_queues.finished is None

    class ForeignRoot(World):
        def wal_directories(self) -> tuple[WalDirectory, ...]:
            return (WalDirectory(ServerName("h7", 16020, 5), 1, 1),)

    foreign_root = ForeignRoot()
    with pytest.raises(RefusedError, match="wal_root belongs to another cluster than HBase's answers"):
        foreign_root.capture()
    assert foreign_root.finished is None

    class RetiredRoot(World):
        def wal_directories(self) -> tuple[WalDirectory, ...]:
            return ()

    retired_root = RetiredRoot()
    with pytest.raises(RefusedError, match="no server has a directory below WALs/, although h1,"):
        retired_root.capture()
    assert retired_root.finished is None
