"""The job `audit-queues` on snapshots of a small cluster: its answer, its tables, its plan, and what it refuses."""

import json
import re
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from jobs.demo.cluster.model import GeneratedCapture
from pipelines.common.instants import DAY_MS, parse_instant
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.tree import Znode
from pipelines.snapshot.capture_order import CAPTURE_ORDER
from pipelines.snapshot.model import CaptureStep, Membership, WalDirectory
from schemas.registry import AUDIT_TABLES
from tests.labs.broken_snapshots import listing_of_another
from tests.labs.documented_commands import blocks
from tests.labs.job_answer import job_answer
from tests.labs.measured_jobs import own_metrics
from tests.labs.places import DOCS
from tests.labs.small_cluster import (
    D1,
    H1,
    H2,
    NOW,
    At,
    Desk,
    archived,
    edited,
    group,
    replaced_content,
    row,
    small,
    wal,
    with_cells,
    with_files,
    with_snapshot,
)
from tests.strategies.zookeeper import lock

PAGE = DOCS / "audit-queues.md"
D2 = ServerName("d2.example.org", 16020, 1_789_000_000_000)
ORPHAN, LOST, GONE_PEER = f"1-{D2}", f"2-{H1}/{D2}", f"9-{H2}"


def died(made: GeneratedCapture) -> GeneratedCapture:
    """D2 died, and its queue of peer 1 was forgotten; peer 2's stands behind a WAL that is nowhere. 9 was removed."""
    files = [archived(D2, number, 1024 << (number - 1)) for number in (1, 2, 3)]
    return with_files(
        with_cells(
            made,
            row(ORPHAN, group(D2), wal(D2, 2), 5),
            row(LOST, group(D2), wal(D2, 4), 0),
            row(GONE_PEER, group(H2), wal(H2, 1), 0),
        ),
        *files,
    )


def alive(made: GeneratedCapture) -> GeneratedCapture:
    """The same a night before: D2 is online, with queues of its own; H2 is not yet."""
    online = frozenset({H1, D2})
    kept = [cell for cell in made.pass_1 if str(H2) not in cell.row.decode()]
    without = with_files(replace(made, pass_1=tuple(kept), pass_2=tuple(kept)), archived(D2, 1, 1024))
    directories = tuple(WalDirectory(server, 1, NOW) for server in sorted(online))
    seen = with_cells(without, row(f"1-{D2}", group(D2), wal(D2, 1), 0), row(f"2-{D2}", group(D2), wal(D2, 1), 0))
    return with_snapshot(
        seen,
        membership=replace(made.snapshot.membership, online=online, wal_directories=directories),  # type: ignore[type-var]
        membership_2=replace(made.snapshot.membership_2, online=online),  # type: ignore[type-var]
    )


class Audited:
    """Snapshots of two nights, and the job."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.desk = Desk(spark, root)
        self.nights = [
            self.desk.snapshot(alive(small("small")), "one"),
            self.desk.snapshot(died(small("small", night=1)), "two"),
        ]

    def run(self, *snapshots: Path, lake: bool = False, options: tuple[str, ...] = ()) -> tuple[int, dict[str, Any]]:
        """The exit code and the result object."""
        places = ("--snapshot", *(f"file:{one}" for one in snapshots))
        into = ("--lake", f"file:{self.desk.lake}") if lake else ()
        context = JobContext("audit-queues", At(NOW + 2 * DAY_MS), self.desk.spark)
        return job_answer(context, self.desk.root, *places, *into, *options)


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    return Audited(spark, tmp_path_factory.mktemp("audited"))


def queues(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["queue"]: one for one in result["queues"]}


@pytest.mark.long
@pytest.mark.promise("audit-queues-plans-claims")
def test_every_queue_has_its_class_its_bytes_and_its_remedy(audited: Audited) -> None:
    code, result = audited.run(audited.nights[1])
    assert code == 5, "WALs are lost, and nobody knew"
    assert parse_instant(result["files_started_at"]) == NOW + DAY_MS
    assert own_metrics("audit-queues", code, result) == {"queues"}
    assert result["classes"] == {"LOST_WALS": 1, "NORMAL": 4, "ORPHAN": 1, "RECOVERED": 1, "UNDELETED_PEER": 1}
    found = queues(result)
    orphan = found[ORPHAN]
    assert (orphan["owner_state"], orphan["pending_files"], orphan["pending_bytes"]) == ("DEAD", 2, 2048 + 4096)
    assert orphan["alone_bytes"] == 2048 + 4096, "peer 2's queue of D2 is behind them"
    assert f"scheduleRecoveries {D2}" in orphan["remedy"]
    assert (found[LOST]["missing_wals"], found[LOST]["also"]) == ([wal(D2, 4)], ["RECOVERED"])
    assert found[f"2-{H1}"]["pending_bytes"] == 2 + 4 + 8
    assert found[f"1-{H1}/{D1}"]["pending_bytes"] == 128 + 256
    assert (found[GONE_PEER]["peer_state"], found[GONE_PEER]["alone_bytes"]) == (None, 0)


@pytest.mark.long
@pytest.mark.promise("audit-queues-plans-claims")
def test_the_plan_names_the_server_and_what_is_shipped_twice(audited: Audited) -> None:
    out = audited.desk.root / "plan"
    _, result = audited.run(audited.nights[1], options=("--plan", f"file:{out}"))
    assert [(one["queue"], one["target"]) for one in result["plan"]] == [(ORPHAN, str(H2))], "H1 has more to ship"
    assert (out / "servers.txt").read_text() == f"{D2}\n"
    text = (out / "claim-plan.txt").read_text()
    assert f"step 1: {D2}" in text
    assert "peer 2, whose queue of it was claimed before, begins again with its oldest WAL: 3 files, 7.0 KiB" in text
    assert result["plan_files"] == {
        "servers.txt": f"file:{out}/servers.txt",
        "claim-plan.txt": f"file:{out}/claim-plan.txt",
    }
    audited.run(audited.nights[0], options=("--plan", f"file:{out}"))
    assert (out / "servers.txt").read_text() == "", "a plan of nothing replaces an older one"


@pytest.mark.long
def test_two_nights_tell_who_claimed_what_and_what_waits(audited: Audited) -> None:
    _, result = audited.run(*reversed(audited.nights))
    assert result["snapshots"] == 2, "in whatever order they are given"
    told = {(one["peer_id"], one["source"], one["event"], one["to_owner"]) for one in result["claims"]}
    assert told == {
        ("1", str(D1), "CLAIMED", str(H1)),
        ("2", str(D2), "CLAIMED", str(H1)),
        ("1", str(D2), "WAITING", None),
    }
    (waiting,) = [one for one in result["claims"] if one["event"] == "WAITING"]
    assert (waiting["died_after"], waiting["waited_min_ms"], waiting["waited_max_ms"]) == (NOW, 0, DAY_MS)


@pytest.mark.long
def test_the_lake_remembers_the_night_before(audited: Audited) -> None:
    for night, new in ((0, set()), (1, {"LOST_WALS", "ORPHAN_QUEUE"}), (1, {"LOST_WALS", "ORPHAN_QUEUE"})):
        code, result = audited.run(audited.nights[night], lake=True)
        assert code == (5 if night else 0)
        assert {one["code"] for one in result["findings"] if one["is_new"]} == new
    assert {one["event"] for one in result["claims"]} == {"CLAIMED", "WAITING"}
    counts = {
        table.name: len(audited.desk.rows(table.name, f"run_id = '{result['run_id']}'")) for table in AUDIT_TABLES
    }
    assert counts == {"queue_audits": 8, "queue_claims": 3, "claim_plans": 1}, "a repeated run replaces its rows"
    (plan,) = audited.desk.rows("claim_plans", f"run_id = '{result['run_id']}'")
    assert plan["host"] == plan["server"].split(",")[0]
    (saved,) = audited.desk.rows("queue_audits", f"queue = '{ORPHAN}' AND queue_class = 'ORPHAN'")
    assert (saved["owner"], saved["pending_bytes"], saved["hops"]) == (str(D2), 6144, [])
    assert result["run_id"].endswith("-queues")


@pytest.mark.long
def test_an_error_that_had_gone_is_new_when_it_comes_back(spark: SparkSession, tmp_path: Path) -> None:
    audited = Audited(spark, tmp_path)
    for night, (state, code) in enumerate(((died, 5), (alive, 0), (died, 5))):
        snapshot = audited.desk.snapshot(state(small("small", night)), f"night-{night}")
        assert audited.run(snapshot, lake=True)[0] == code


def test_a_capture_that_was_not_quiet_raises_no_finding_for_its_orphans(audited: Audited) -> None:
    made = died(small("small", night=1))
    moved = with_snapshot(made, membership_2=replace(made.snapshot.membership_2, online=frozenset({H1})))  # type: ignore[type-var]
    _, result = audited.run(audited.desk.snapshot(moved, "moved"))
    assert queues(result)[ORPHAN]["queue_class"] == "ORPHAN"
    assert {one["code"] for one in result["findings"]} == {"LOST_WALS"}


def test_the_example_of_the_page_is_an_answer(audited: Audited, capsys: pytest.CaptureFixture[str]) -> None:
    out = audited.desk.root / "out"
    audited.run(*audited.nights, options=("--plan", f"file:{out}"))
    answer = capsys.readouterr().out.replace(f"file:{out}", "hdfs://ns1/walsafe/plan")
    plan = (out / "claim-plan.txt").read_text()
    examples = blocks(PAGE, "text")
    digest = re.compile(r"Z-[0-9a-f]{8}-queues")
    assert [digest.sub("Z-5fb4059b-queues", text) for text in (answer, plan)] == examples


# queues in ZooKeeper


def reading(queues_: dict[tuple[ServerName, str], list[str]], *locks: Znode) -> bytes:
    """One reading of ZooKeeper with these queues and locks, as a snapshot has it."""
    base = "/hbase/replication/rs"
    nodes = [Znode(base, b"", 3)]
    for server in sorted({server for server, _ in queues_}):
        nodes.append(Znode(f"{base}/{server}", b"", 1))
        for (owner, name), wals in queues_.items():
            if owner == server and name:
                nodes.append(Znode(f"{base}/{server}/{name}", b"", 1))
                nodes += [Znode(f"{base}/{server}/{name}/{one}", b"", 0) for one in wals]
    nodes += [*locks, Znode(base, b"", 3)]
    lines = [{"path": one.path, "data": b64encode(one.data).decode(), "cversion": one.cversion} for one in nodes]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


ZK_STEPS = tuple(
    step for step in CAPTURE_ORDER if step in ("files", "online", "peers", "queues-1", "queues-2", "online-2")
)


@pytest.mark.promise("jobs-know-queues-in-zookeeper")
def test_queues_in_zookeeper(spark: SparkSession, tmp_path: Path) -> None:
    desk = Audited(spark, tmp_path)
    nodes = reading(
        {
            (H1, "1"): [wal(H1, 4)],
            (H1, f"1-{D1}"): [wal(D1, 2), wal(D1, 3)],
            (H2, "2"): [wal(H2, 2)],
            (D2, "1"): [wal(D2, 2), wal(D2, 3), wal(D2, 9)],
            (D2, "9"): [wal(D2, 1)],
            (D1, ""): [],
        },
        lock(str(D2), str(D1)),
    )
    steps = tuple(CaptureStep(name, NOW + number * 10, NOW + number * 10 + 5) for number, name in enumerate(ZK_STEPS))
    online = Membership(None, frozenset({H1, H2}), frozenset())
    made = with_snapshot(
        died(small("small")), queue_storage="zookeeper", hbase_version="2.6.4", steps=steps,
        membership=online, membership_2=online, flags=None, flags_2=None,
    )  # fmt: skip
    snapshot = desk.desk.snapshot(made, "zk")
    for name in ("queues-1.jsonl", "queues-2.jsonl"):
        replaced_content(snapshot, name, nodes)
    rows = nodes.count(b"\n")
    edited(
        snapshot,
        lambda document: [document["contents"][f"queues-{n}.jsonl"].update(rows=rows) for n in (1, 2)],  # type: ignore[func-returns-value]
    )
    plan = tmp_path / "plan"
    code, result = desk.run(snapshot, options=("--plan", f"file:{plan}"))
    found = {name: [one["queue_class"], *one["also"]] for name, one in queues(result).items()}
    assert found == {
        f"{H1}/1": ["NORMAL"],
        f"{H2}/2": ["NORMAL"],
        f"{H1}/1-{D1}": ["RECOVERED"],
        f"{D2}/1": ["LOST_WALS", "ORPHAN"],
        f"{D2}/9": ["UNDELETED_PEER"],
        f"{D2}/lock": ["STALE_LOCK"],
        str(D1): ["EMPTY_REPLICATOR"],
    }
    (left,) = [one for one in result["findings"] if one["code"] == "STALE_LOCK"]
    assert (left["key"], left["severity"], left["server"]) == (f"STALE_LOCK:{D2}/lock", "warning", str(D2))
    assert f"it belongs to {D1}, which is DEAD" in left["message"]
    assert f"delete the znode of replication rs/{D2}/lock" in left["remedy"]
    assert f"lock left behind: {left['remedy']}" in (plan / "claim-plan.txt").read_text()
    orphan = queues(result)[f"{D2}/1"]
    assert (orphan["missing_wals"], orphan["pending_bytes"]) == ([wal(D2, 9)], 2048 + 4096)
    assert (code, [one["target"] for one in result["plan"]]) == (5, [str(H2)])
    assert queues(result)[f"{D2}/9"]["alone_bytes"] == 1024, "in ZooKeeper a removed peer pins what stands in its queue"


# bad input


def test_snapshots_that_do_not_belong_together(audited: Audited) -> None:
    other = audited.desk.snapshot(small("other"), "other")
    code, result = audited.run(audited.nights[0], other)
    assert (code, "audit one cluster at a time" in result["error"]["message"]) == (2, True), result
    code, result = audited.run(audited.nights[0], audited.nights[0])
    assert (code, "is given twice" in result["error"]["message"]) == (2, True), result
    code, result = audited.run(audited.desk.root / "nowhere")
    assert (code, "no snapshot directory at" in result["error"]["message"]) == (2, True), result


def test_snapshots_that_cannot_be_believed_are_refused(audited: Audited) -> None:
    pending = audited.desk.snapshot(small("small"), "pending")
    edited(pending, lambda document: document["flags"].update(migration_pending=True))
    code, result = audited.run(pending)
    assert (code, "migration of the replication queues" in result["error"]["message"]) == (3, True), result
    assert f"{pending}" in result["error"]["message"]
    code, result = audited.run(pending, audited.nights[1])
    assert code == 3, "a timeline of what cannot be believed is none"
    replaced_content(pending, "queues-2.jsonl", b"")
    assert audited.run(pending)[0] == 3
    broken = small("small")
    bad = replace(broken, pass_2=(*broken.pass_2, row("1-nonsense", "g", "w.1", 0)))
    code, result = audited.run(audited.desk.snapshot(bad, "bad"))
    assert (code, "1-nonsense" in result["error"]["message"]) == (3, True), result
    code, result = audited.run(audited.desk.snapshot(listing_of_another(small("small")), "elsewhere"))
    assert (code, "the files are those of another cluster" in result["error"]["message"]) == (3, True), result


def test_a_plan_that_cannot_be_written_is_unavailable(audited: Audited) -> None:
    (audited.desk.root / "file").write_text("")
    code, result = audited.run(audited.nights[1], options=("--plan", f"file:{audited.desk.root}/file/plan"))
    assert (code, "cannot be written" in result["error"]["message"]) == (4, True), result
