"""clean, restore and purge on a cluster of ten real files, through the stores and tables of production."""

import hashlib
import json
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.cleanup.request import CleanupPorts
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError, UsageError
from pipelines.common.instants import DAY_MS
from pipelines.hbase.peers import Peer
from tests.labs.cleanup.on_disk import CLUSTER, RUN, Lab, NightOver
from tests.labs.small_cluster import D1, H1, H2, archived, group, row, small, wal, with_cells, with_snapshot

DELETABLE = {archived(H1, 1, 1).path, archived(H2, 1, 16).path, archived(D1, 1, 64).path}


@pytest.fixture
def lab(night_over: NightOver) -> Lab:
    """A night is over: its list waits."""
    return night_over.lab(Lab)


@pytest.fixture
def cleaned(night_over: NightOver) -> Lab:
    """Its list was cleaned: the files rest."""
    return night_over.cleaned(Lab)


@pytest.mark.slow("the whole life of a list on real files and a real lake, each step by the job itself")
@pytest.mark.promise(
    "clean-decides-again",
    "restore-brings-back",
    "only-purge-deletes",
    "clean-is-reversible",
    "nothing-without-execute",
    "list-is-cleaned-once",
    "move-is-one-rename",
)
def test_there_and_back_and_gone(lab: Lab) -> None:
    """The whole life of a list: rehearsed, cleaned, restored in part, waiting, purged."""
    before = lab.home()
    rehearsal = lab.clean()
    assert (rehearsal.exit_code, rehearsal.result["status"], rehearsal.result["done_files"]) == (0, "REHEARSAL", 4)
    assert "Nothing was touched" in rehearsal.text
    assert lab.home() == before
    assert lab.rows("deletions", "true") == [], "the table is there from the first night on, and empty"

    done = lab.clean(execute=True)
    assert (done.exit_code, done.result["status"], done.result["done_files"], done.result["done_bytes"]) == (
        0, "DONE", 4, 593,
    )  # fmt: skip
    moved = before - lab.home()
    assert moved > DELETABLE
    assert lab.resting() == dict.fromkeys(moved, RUN)
    assert lab.outcomes() == dict.fromkeys(moved, "MOVED")
    intents = lab.rows("deletions", "phase = 'INTENT'")
    assert {one["path"] for one in intents} == moved
    ended, started = sorted(lab.rows("cleanups"), key=lambda one: one["status"])
    assert (ended["status"], started["status"]) == ("DONE", "STARTED")
    assert re.fullmatch("[0-9a-f]{64}", ended["recheck_sha256"]), "of the snapshot that was taken to decide again"

    with pytest.raises(RefusedError, match="was cleaned before, and a list is cleaned once") as before_that:
        lab.clean(execute=True)
    assert before_that.value.condition is Condition.LIST_ALREADY_CLEANED
    again = lab.clean(resume=True)
    assert (again.result["status"], again.result["done_files"]) == ("DONE", 0)

    back = archived(H1, 1, 1).path
    restored = lab.restore(back)
    assert (restored.exit_code, restored.result["done_files"]) == (0, 1)
    assert back in lab.home()
    assert lab.outcomes()[back] == "RESTORED"
    with pytest.raises(RefusedError, match="restored or purged already") as undone:
        lab.clean(resume=True)
    assert undone.value.condition is Condition.LIST_RESTORED_OR_PURGED

    waiting = lab.purge(execute=True)
    assert [one["status"] for one in waiting.result["runs"]] == ["WAITING"]  # type: ignore[index, union-attr]
    assert len(lab.resting()) == 3
    lab.clock.instant += 7 * DAY_MS - 1
    assert lab.purge().result["runs"][0]["status"] == "WAITING"  # type: ignore[index]
    lab.clock.instant += DAY_MS
    assert lab.purge().result["runs"][0]["status"] == "REHEARSAL"  # type: ignore[index]
    assert len(lab.resting()) == 3
    purged = lab.purge(execute=True)
    assert [(one["status"], one["done_files"]) for one in purged.result["runs"]] == [("DONE", 3)]  # type: ignore[index, union-attr]
    assert lab.resting() == {}
    assert sorted(lab.outcomes().values()) == ["PURGED"] * 3 + ["RESTORED"]
    assert lab.home() == before - moved | {back}
    assert "Nothing of prod is in quarantine" in lab.purge().text


@pytest.mark.long
@pytest.mark.promise("clean-and-purge-rehearse", "nothing-without-execute")
def test_a_rehearsal_leaves_no_table_no_directory_and_no_lease(lab: Lab) -> None:
    """Before the first clean-up there is no audit at all; after it an attempt may have been cut short."""
    before = lab.tree()
    assert lab.clean().result["status"] == "REHEARSAL"
    assert lab.purge().result["runs"] == []
    with pytest.raises(RefusedError, match="the list is valid until"):
        lab.after(DAY_MS + 1, lab.clean)
    assert lab.tree() == before

    assert lab.clean(execute=True, max_files=3).exit_code == 0
    (lab.quarantine / RUN).rename(lab.quarantine / f".at-work-0000000001-{RUN}")  # its job died
    before = lab.tree()
    waiting: Any = lab.purge().result["runs"]
    assert [one["status"] for one in waiting] == ["WAITING"]
    rehearsal: Any = lab.purge(before_grace="disk full").result["runs"]
    assert [(one["status"], one["done_files"]) for one in rehearsal] == [("REHEARSAL", 3)]
    flags = lab.made.snapshot.flags
    assert flags is not None
    lab.changes(with_snapshot(lab.made, flags=replace(flags, add_peer_running=True)))
    refused: Any = lab.purge(before_grace="disk full").result["runs"]
    assert [(one["status"], one["condition"]) for one in refused] == [("REFUSED", "ADD_PEER_RUNNING")]
    assert "a peer is being added" in refused[0]["reason"]
    lab.changes(small(CLUSTER))
    assert lab.tree() == before


def test_the_configuration_says_the_life_of_a_lease_the_grace_and_the_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    lab = Lab(spark, tmp_path, options={"lease": "7m", "grace": "9d", "batch": 3})
    for job in ("clean", "restore", "purge"):
        with lab.edges(job) as (place, _):
            assert (place.lease_ms, place.grace_ms, place.batch) == (420_000, 9 * DAY_MS, 3)


# what stops a clean


def untouched(lab: Lab, match: str, error: type[Exception] = RefusedError) -> None:
    """Clean refuses, and nothing has moved; a refusal is no attempt, so `--execute` may be tried again."""
    before = lab.home()
    with pytest.raises(error, match=match):
        lab.clean(execute=True)
    assert lab.home() == before
    assert lab.resting() == {}


def part(lab: Lab) -> Path:
    return lab.root / "lists" / CLUSTER / RUN / "part-00000.txt"


def forged(lab: Lab, line: str) -> None:
    """A line more, with a manifest that agrees."""
    manifest = part(lab).with_name("manifest.json")
    part(lab).with_name(f".{part(lab).name}.crc").unlink(missing_ok=True)  # else the local disk would tell on us
    part(lab).write_text(part(lab).read_text() + line + "\n")
    document = json.loads(manifest.read_text())
    document["files"] += 1
    document["parts"][0]["lines"] += 1
    document["parts"][0]["sha256"] = hashlib.sha256(part(lab).read_bytes()).hexdigest()
    manifest.write_text(json.dumps(document))


@pytest.mark.long
@pytest.mark.promise("list-ends", "clean-stops-where-reconcile-holds", "zookeeper-clean-stops")
def test_a_world_that_changed_stops_everything(lab: Lab) -> None:
    """One lab for all of them: a refusal leaves it as it was."""
    as_it_was, cluster = lab.made, lab.made.snapshot
    assert cluster.flags is not None
    assert cluster.membership is not None
    for change, match in (
        ({"peers": (*cluster.peers, Peer("9", "ENABLED"))}, "peer '9' was added since the list was decided"),
        ({"cluster_id": "another"}, "decided on for the cluster with id 5c7a0f0e.*answers has id another"),
        ({"flags": replace(cluster.flags, add_peer_running=True)}, "a peer is being added"),
        ({"flags": replace(cluster.flags, migration_pending=True)}, "migration .* is pending"),
        ({"flags": replace(cluster.flags, queue_table_exists=False)}, "does not exist although peers do"),
        ({"membership": replace(cluster.membership, crashing=frozenset({H1}))}, "the cluster moved while it was read"),
    ):
        lab.changes(with_snapshot(as_it_was, **change))
        untouched(lab, match)
    lab.changes(as_it_was)
    lab.clock.instant += DAY_MS + 1
    untouched(lab, "the list is valid until")
    lab.clock.instant -= DAY_MS + 1
    done = lab.clean(execute=True)
    assert (done.exit_code, done.result["done_files"]) == (0, 4)


@pytest.mark.long
@pytest.mark.promise("list-is-whole", "list-is-held-to-the-audit")
def test_a_list_that_somebody_touched_stops_everything(lab: Lab) -> None:
    whole, folder = part(lab).read_text(), part(lab).parent
    manifest = (folder / "manifest.json").read_text()
    needed = f"file://{lab.live}/hbase/{archived(H1, 4, 8).path}"

    def mended() -> None:
        part(lab).write_text(whole)
        (folder / "manifest.json").write_text(manifest)

    part(lab).write_text(whole + needed + "\n")
    untouched(lab, "is not the part that was written")
    mended()
    forged(lab, needed)
    untouched(lab, "which the run did not find DELETABLE")
    mended()
    forged(lab, whole.splitlines()[0])
    untouched(lab, "names it twice")
    mended()
    for line in ("file:///etc/passwd", f"file://{lab.live}/hbase/oldWALs/../data/x", "hdfs://other/hbase/oldWALs/x"):
        forged(lab, line)
        untouched(lab, "does not lie below oldWALs")
        mended()
    (folder / "part-00001.txt").write_text(needed + "\n")
    untouched(lab, "is not a part that the manifest names")
    (folder / "part-00001.txt").unlink()
    (folder / "manifest.json").unlink()
    untouched(lab, "has no manifest.json")
    mended()
    assert lab.clean(execute=True).result["done_files"] == 4


@pytest.mark.long
@pytest.mark.promise("clean-decides-again", "deletable-in-both-looks", "hbases-cleaner-is-no-rival")
def test_what_changed_is_left_and_the_rest_moves(lab: Lab) -> None:
    root = lab.live / "hbase"
    longer, gone, needed = (archived(H1, 1, 1).path, archived(H2, 1, 16).path, archived(D1, 1, 64).path)
    with (root / longer).open("ab") as out:
        out.write(b"!")
    (root / gone).unlink()
    lab.changes(with_cells(lab.made, row(f"1-{H1}/{D1}", group(D1), wal(D1, 1), 0)))
    done = lab.clean(execute=True)
    assert (done.exit_code, done.result["done_files"], done.result["gone_files"]) == (0, 1, 1)
    left = {one["path"]: (one["outcome"], one["why"]) for one in done.result["left"]}  # type: ignore[attr-defined, union-attr]
    assert left[needed] == ("REFUSED", "the second look holds it: PENDING")
    assert left[longer][0] == "CHANGED"
    assert "it has 2 bytes" in left[longer][1]
    assert {longer, needed} <= lab.home()
    assert lab.outcomes()[gone] == "ALREADY_GONE"


def test_where_every_file_is_gone_nothing_is_refused(lab: Lab) -> None:
    """HBase's own cleaner deleted them first. An empty listing makes a snapshot untrusted, but not a second look."""
    for path in lab.home():
        (lab.live / "hbase" / path).unlink()
    done = lab.clean(execute=True)
    assert (done.exit_code, done.result["status"]) == (0, "DONE")
    assert (done.result["done_files"], done.result["gone_files"]) == (0, 4)
    assert set(lab.outcomes().values()) == {"ALREADY_GONE"}


@pytest.mark.long
def test_a_limit_stops_and_resume_goes_on(lab: Lab) -> None:
    first = lab.clean(execute=True, max_files=1)
    assert (first.exit_code, first.result["status"], first.result["done_files"]) == (0, "STOPPED", 1)
    assert "Go on with --resume" in first.text
    rest = lab.clean(resume=True)
    assert (rest.result["status"], rest.result["done_files"]) == ("DONE", 3)
    assert len(lab.resting()) == 4


@pytest.mark.long
@pytest.mark.promise("exit-3", "list-ends-in-the-middle")
def test_what_was_not_begun_before_the_list_ended_stays(lab: Lab) -> None:
    """The list ends while the first of two batches is moved, or while the lake takes the second one's intents."""
    before = lab.home()
    lab.changed = lambda ports: replace(ports, tell=lambda _: lab.pass_on(DAY_MS + 1))
    done = lab.clean(execute=True)
    assert (done.exit_code, done.result["status"], done.result["done_files"]) == (3, "STOPPED", 2)
    assert "the list was valid until" in str(done.result["reason"])
    assert "2 files were moved, the others stay. Capture and reconcile again" in str(done.result["error"])
    assert "Moved 2 of 4 listed files" in done.text
    assert "The other files stay where they are. Capture and reconcile again" in done.text
    assert len(before - lab.home()) == 2
    assert [(one["exit_code"], one["done_files"]) for one in lab.rows("cleanups", "status = 'STOPPED'")] == [(3, 2)]
    assert len(lab.rows("deletions", "phase = 'INTENT'")) == 2

    lab.changed = lambda ports: ports
    with pytest.raises(RefusedError, match="the list is valid until"):
        lab.clean(resume=True)
    assert len(lab.resting()) == 2
    assert lab.restore().result["done_files"] == 2
    assert lab.home() == before


@pytest.mark.long
@pytest.mark.promise("list-ends-in-the-middle")
def test_a_list_that_ends_while_intents_are_written_moves_nothing(lab: Lab) -> None:
    before = lab.home()
    lab.changed = lambda ports: replace(ports, audit=SlowAudit(ports.audit, lab))  # type: ignore[arg-type]
    done = lab.clean(execute=True)
    assert (done.exit_code, done.result["done_files"], done.result["left_files"]) == (3, 0, 2)
    assert lab.home() == before
    assert set(lab.outcomes().values()) == {"REFUSED"}


@dataclass
class SlowAudit:
    """A lake that takes a day to write intents down."""

    inner: Any
    lab: Lab

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the audit has
        return getattr(self.inner, name)

    def intend(self, *args: Any) -> None:  # noqa: ANN401 - whatever the audit takes
        self.inner.intend(*args)
        self.lab.pass_on(DAY_MS + 1)


@pytest.mark.long
@pytest.mark.promise("exit-4", "one-at-a-time")
def test_nobody_else_while_one_is_at_work(lab: Lab) -> None:
    """The second of two jobs ends with 4, and the first one's files are all there."""
    told = []

    def with_a_second_job(ports: CleanupPorts) -> CleanupPorts:
        def tell(_: str) -> None:
            lab.changed = lambda inner: inner
            with pytest.raises(UnavailableError, match="another job is at work on this cluster") as error:
                lab.clean(resume=True)
            told.append(error.value.exit_code)

        return replace(ports, tell=tell)

    lab.changed = with_a_second_job
    assert lab.clean(execute=True).result["done_files"] == 4
    assert set(told) == {4}


@pytest.mark.long
@pytest.mark.promise("purge-after-seven-days-or-with-a-reason", "purge-looks-once-more")
def test_a_file_that_is_needed_again_is_not_purged(cleaned: Lab) -> None:
    cleaned.changes(with_cells(cleaned.made, row(f"1-{H1}/{D1}", group(D1), wal(D1, 1), 0)))
    foreign = cleaned.quarantine / RUN / "oldWALs" / "h9%2C16020%2C1.1789000000000"
    foreign.write_bytes(b"")
    os.utime(foreign, (1_700_000_000, 1_700_000_000))
    with pytest.raises(UsageError, match="needs a reason"):
        cleaned.purge(execute=True, before_grace=" ")
    done = cleaned.purge(execute=True, before_grace="disk full")
    (run,) = done.result["runs"]  # type: ignore[misc]
    assert (run["status"], run["done_files"], run["left_files"]) == ("DONE", 3, 2)
    assert set(cleaned.resting()) == {archived(D1, 1, 64).path, f"oldWALs/{foreign.name}"}
    words = {one["reason"] for one in cleaned.rows("cleanups", "action = 'PURGE'")}
    assert words == {"disk full"}


@pytest.mark.long
@pytest.mark.promise("restore-brings-back")
def test_while_queues_migrate_nothing_is_purged_and_all_can_be_restored(cleaned: Lab) -> None:
    """Queues stand in two places then; giving files back asks no queue."""
    flags, moved = cleaned.made.snapshot.flags, set(cleaned.resting())
    assert flags is not None
    assert moved > DELETABLE
    cleaned.changes(with_snapshot(cleaned.made, flags=replace(flags, migration_pending=True, zk_queue_data=True)))
    refused = cleaned.purge(execute=True, before_grace="disk full")
    (run,) = refused.result["runs"]  # type: ignore[misc]
    assert (refused.exit_code, run["status"], run["condition"]) == (3, "REFUSED", "MIGRATION_PENDING")
    assert "is pending" in refused.text
    assert set(cleaned.resting()) == moved
    assert cleaned.restore().exit_code == 0
    assert cleaned.resting() == {}


@pytest.mark.long
@pytest.mark.promise("archive-is-compared")
def test_an_archive_has_the_bytes_before_they_go(night_over: NightOver, tmp_path: Path) -> None:
    lab = night_over.lab(Lab, {"archive": f"file:{tmp_path}/archive"})
    kept = {path: (lab.live / "hbase" / path).read_bytes() for path in DELETABLE}
    assert lab.clean(execute=True).exit_code == 0
    (tmp_path / "archive" / CLUSTER / RUN / "oldWALs").mkdir(parents=True)
    clash = tmp_path / "archive" / CLUSTER / RUN / archived(H1, 1, 1).path
    clash.write_bytes(b"something else")
    done = lab.purge(execute=True, before_grace="space")
    assert done.exit_code == 4, done.text
    assert set(lab.resting()) == {archived(H1, 1, 1).path}
    clash.unlink()
    assert lab.purge(execute=True, before_grace="space").exit_code == 0
    assert lab.resting() == {}
    for path, data in kept.items():
        assert (tmp_path / "archive" / CLUSTER / RUN / path).read_bytes() == data
    assert {lab.outcomes()[path] for path in DELETABLE} == {"ARCHIVED"}


@pytest.mark.long
@pytest.mark.promise("move-is-one-rename")
def test_restore_never_overwrites(cleaned: Lab) -> None:
    path = archived(H1, 1, 1).path
    (cleaned.live / "hbase" / path).write_bytes(b"a new one")
    done = cleaned.restore()
    assert (done.result["done_files"], done.result["left_files"]) == (3, 1)
    assert (cleaned.live / "hbase" / path).read_bytes() == b"a new one"
    assert set(cleaned.resting()) == {path}
    with pytest.raises(UsageError, match="is not in the quarantine of run"):
        cleaned.restore("oldWALs/nothing")
