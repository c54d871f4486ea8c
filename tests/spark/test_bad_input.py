"""Bad input: one run over a fleet in which every snapshot but a few is broken in its own way.

Every broken one must be refused in clear words, leave no list, be a row of `runs`, and stop none of the others.
"""

import json
import re
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.common.job_result import JobResult
from tests.labs.broken_snapshots import BROKEN, NAMED, SOUND
from tests.labs.small_cluster import H1, Desk, archived, clusters_of, small

pytestmark = pytest.mark.slow("one run over a fleet of broken snapshots, and every test reads what became of one")


RUN = "night"


@pytest.fixture(scope="module")
def desk(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    made = Desk(spark, tmp_path_factory.mktemp("bad-input"))
    for name, broken in BROKEN.items():
        broken.damage(made.snapshot(broken.make(small(name)), f"fleet/{name}"))
    for name, change in SOUND.items():
        made.snapshot(change(small(name)), f"fleet/{name}")
    # a capture that is still at work, or died: hidden, so it is no snapshot of the fleet
    (made.root / "snapshots" / "fleet" / ".prod.0123.making" / "files").mkdir(parents=True)
    return made


@pytest.fixture(scope="module")
def outcome(desk: Desk) -> JobResult:
    return desk.reconcile(fleet=desk.root / "snapshots" / "fleet", run_id=RUN)


@pytest.fixture(scope="module")
def runs(desk: Desk, outcome: JobResult) -> dict[str, list[dict[str, Any]]]:
    assert outcome.exit_code == 5
    found: dict[str, list[dict[str, Any]]] = {}
    for one in sorted(desk.rows("runs"), key=lambda one: one["status"] != "STARTED"):
        found.setdefault(one["cluster"], []).append(one)
    return found


@pytest.fixture(scope="module")
def verdicts(desk: Desk, outcome: JobResult) -> dict[str, set[tuple[str, str]]]:
    assert outcome.exit_code == 5
    found: dict[str, set[tuple[str, str]]] = {}
    for one in desk.rows("wal_verdicts"):
        found.setdefault(one["cluster"], set()).add((one["verdict"], one["reason"]))
    return found


@pytest.mark.promise("exit-5")
def test_the_others_of_the_fleet_are_done(outcome: JobResult, desk: Desk) -> None:
    assert outcome.exit_code == 5
    by_status: dict[str, set[str]] = {}
    for name, one in clusters_of(outcome).items():
        by_status.setdefault(one["status"], set()).add(name)
    assert by_status == {"REFUSED": set(BROKEN), "DONE": set(SOUND)}
    assert len(desk.lines("good", RUN)) == 4


@pytest.mark.promise(
    "exit-3",
    "other-orders-are-refused",
    "unsafe-flag-wins",
    "loading-master-is-no-answer",
    "damaged-snapshot-is-untrusted",
    "one-cluster-only",
    "null-is-held",
    "unreadable-row-is-untrusted",
    "unknown-key-is-refused",
    "orphan-queues-need-an-opt-in",
)
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_snapshot_is_refused(
    outcome: JobResult,
    desk: Desk,
    runs: dict[str, list[dict[str, Any]]],
    verdicts: dict[str, set[tuple[str, str]]],
    name: str,
) -> None:
    one, broken = clusters_of(outcome)[name], BROKEN[name]
    assert (one["status"], one["exit_code"], one["list_uri"]) == ("REFUSED", 3, None)
    assert re.search(broken.words, one["reason"]), one["reason"]
    assert one["condition"] == NAMED.get(name, "SNAPSHOT_UNTRUSTED")
    assert not (desk.lists / name).exists()
    started, ended = runs[name]
    assert (started["status"], started["exit_code"]) == ("STARTED", None)
    assert (ended["status"], ended["exit_code"], ended["reason"]) == ("REFUSED", 3, one["reason"])
    assert verdicts.get(name) == ({("HELD", "SNAPSHOT_UNTRUSTED")} if broken.listed else None)


@pytest.mark.promise("ages-count-from-the-listing")
def test_files_of_tomorrow_are_held_and_said(outcome: JobResult, verdicts: dict[str, set[tuple[str, str]]]) -> None:
    assert ("HELD", "FUTURE_TIMESTAMP") in verdicts["future"]
    assert [one["key"] for one in clusters_of(outcome)["future"]["findings"]] == ["CLOCK_SKEW:oldWALs"]


def test_without_peers_everything_old_enough_is_free(
    outcome: JobResult, desk: Desk, verdicts: dict[str, set[tuple[str, str]]]
) -> None:
    assert verdicts["no-peers"] == {("DELETABLE", "NO_PEERS"), ("HELD", "TOO_YOUNG")}
    assert len(desk.lines("no-peers", RUN)) == 10
    # the last peer may have gone a minute ago: fresh work for HBase's own cleaner, and no alarm
    assert clusters_of(outcome)["no-peers"]["findings"] == []


@pytest.mark.promise("unsafe-flag-wins", "unknown-flag-is-unsafe")
def test_while_a_peer_may_be_being_added_everything_is_held(
    desk: Desk, verdicts: dict[str, set[tuple[str, str]]]
) -> None:
    assert verdicts["adding"] == {("HELD", "ADD_PEER_RUNNING")}
    manifest = json.loads((desk.lists / "adding" / RUN / "manifest.json").read_text())
    assert (manifest["files"], manifest["parts"]) == (0, [])


@pytest.mark.promise("gate-refuses-on-one-failure")
def test_what_broke_an_expectation_is_shown_by_example(desk: Desk, outcome: JobResult) -> None:
    assert outcome.exit_code == 5
    failed = desk.rows("quality_results", "NOT success")
    examples = {one["cluster"]: one["examples"] for one in failed}
    assert examples["duplicate-path"] == [archived(H1, 1, 1).path]
    assert examples["dot-dot"] == ["oldWALs/../../user/a.1"]
    assert examples["newline"] == ["oldWALs/a\nb.1"]
    assert {one["cluster"] for one in failed} == {
        "duplicate-path", "dot-dot", "absolute", "newline", "control",
        "negative", "no-time", "no-length", "no-peers-at-all",
    }  # fmt: skip
    assert all(len(one["examples"]) <= 100 for one in failed)
