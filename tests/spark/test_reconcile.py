"""reconcile on real tables and lists: four nights of a fleet in which each cluster has one thing to be found."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.cli.config import parse_config
from jobs.demo.cluster.model import GeneratedCapture
from pipelines.common.instants import DAY_MS, HOUR_MS
from pipelines.common.outcome import Outcome
from pipelines.decide.rule import decision_table
from pipelines.decide.rule.cleaner_rule import HBaseVerdict
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.verdict import ArchivedFile, Decision, Reason, deletable
from pipelines.hbase.server_names import ServerName
from pipelines.reconcile import list_parts
from pipelines.snapshot.model import Retention, WalDirectory
from schemas.registry import DECISION_TABLES
from schemas.table import Table
from tests.labs.places import PROJECT
from tests.labs.small_cluster import (
    D1,
    DECIDED_AFTER_MS,
    GIB,
    H1,
    H2,
    NOW,
    ROOT,
    Desk,
    archived,
    clusters_of,
    group,
    row,
    small,
    timestamp,
    wal,
    with_cells,
    with_files,
    with_snapshot,
)

pytestmark = pytest.mark.slow("four nights of a fleet are decided once, and every test reads them")

NIGHTS = 4
Night = Callable[[GeneratedCapture, int], GeneratedCapture]


def orphan(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    return with_cells(made, row(f"9-{H1}", group(H1), wal(H1, 1), 0))


def orphan_of_a_dead_owner(made: GeneratedCapture, night: int) -> GeneratedCapture:
    dead = ServerName("d2.example.org", 16020, 5)
    without = replace(made, pass_1=made.pass_1[1:], pass_2=made.pass_2[1:])
    return with_cells(without, row(f"1-{H1}", group(H1), wal(H1, 4), night), row(f"1-{dead}", "g", "g.5", -1))


def duplicate(made: GeneratedCapture, night: int) -> GeneratedCapture:
    return with_cells(made, row(f"1-{H2}/{D1}", group(D1), wal(D1, 3), night))


def poison(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    return with_files(made, ArchivedFile("oldWALs/wal.1234567890123", 1024, NOW - HOUR_MS))


def acknowledged(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    return with_files(made, ArchivedFile("oldWALs/known/wal.1234567890123", 1024, NOW - HOUR_MS))


def leaked(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    name = f"{group(H1)}.rep.{timestamp(1)}"
    return with_files(made, ArchivedFile(f"oldWALs/{name}", 1024, timestamp(2)))


def leftover(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    first = made.snapshot.membership
    assert first is not None
    stays = WalDirectory(D1, 1, timestamp(1))
    return with_snapshot(made, membership=replace(first, wal_directories=(*first.wal_directories, stays)))


def rewound(made: GeneratedCapture, night: int) -> GeneratedCapture:
    """The table is restored after the first night: peer 1 needs the first WAL again."""
    return with_cells(made, row(f"1-{H1}", group(H1), wal(H1, 1), 0)) if night else made


def cleaner(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    name = f"{group(H2)}.meta.{timestamp(1)}.meta"
    return with_files(made, ArchivedFile(f"oldWALs/{name}", 1024, timestamp(2)))


def stalled(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    return with_cells(made, row(f"1-{H1}", group(H1), wal(H1, 4), 3))


def growth(made: GeneratedCapture, night: int) -> GeneratedCapture:
    return with_files(made, archived(H1, 3, 4 + night * GIB))


def missing(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    return with_cells(made, row(f"1-{H1}", group(H1), f"{group(H1)}.{timestamp(3) + 1}", 0))


def beyond(made: GeneratedCapture, night: int) -> GeneratedCapture:
    return with_cells(made, row(f"1-{H1}", group(H1), wal(H1, 4), 9 + night))


def moved(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    """A server leaves while the cluster is read: the missing queue of the dead one proves nothing."""
    second = made.snapshot.membership_2
    assert second is not None
    return with_snapshot(made, membership_2=replace(second, online=frozenset({H1})))


def nothing(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    """Everything is younger than its time to live."""
    return with_snapshot(made, retention=Retention(365 * DAY_MS, 365 * DAY_MS, 365 * DAY_MS))


def same(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    return made


CLUSTERS: Mapping[str, Night] = {
    "healthy": same,
    "orphan": orphan,
    "dead-owner": orphan_of_a_dead_owner,
    "duplicate": duplicate,
    "poison": poison,
    "acknowledged": acknowledged,
    "leaked": leaked,
    "leftover": leftover,
    "rewound": rewound,
    "cleaner": cleaner,
    "stalled": stalled,
    "growth": growth,
    "missing": missing,
    "beyond": beyond,
    "moved": moved,
    "nothing": nothing,
    "mutant-rule": same,
    "mutant-cleaner": same,
}
CONFIG = parse_config(
    """
    findings:
      stalled_nights: 3
      growth_nights: 3
      growth_min_bytes: 1GiB
      acknowledged:
        - {key: "POISON_FILE:oldWALs/known", reason: "restored on purpose, soon gone", until: 2027-01-31}
    """,
    "test.yaml",
)


@pytest.fixture(scope="module")
def mutants() -> Iterator[None]:
    """Either rule goes wrong, each for the cluster that is named after it."""
    ours, theirs = decision_table.decide_replication, decision_table.for_tracked_wal

    def rule(view: ClusterView, server: ServerName, group_: str, at: int) -> Decision:
        return deletable(Reason.REPLICATED) if view.cluster == "mutant-rule" else ours(view, server, group_, at)

    def cleaner_rule(view: ClusterView, server: ServerName, group_: str, at: int | None) -> HBaseVerdict:
        return HBaseVerdict.KEEP if view.cluster == "mutant-cleaner" else theirs(view, server, group_, at)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decision_table, "decide_replication", rule)
        patch.setattr(decision_table, "for_tracked_wal", cleaner_rule)
        yield


@pytest.fixture(scope="module")
def desk(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(spark, tmp_path_factory.mktemp("reconcile"))


@pytest.fixture(scope="module")
def nights(desk: Desk, mutants: None) -> list[Outcome]:
    del mutants
    outcomes = []
    for night in range(NIGHTS):
        for cluster, change in CLUSTERS.items():
            desk.snapshot(change(small(cluster, night), night), f"night-{night}/{cluster}")
        fleet, now = desk.root / "snapshots" / f"night-{night}", NOW + night * DAY_MS + DECIDED_AFTER_MS
        outcomes.append(desk.reconcile(fleet=fleet, now=now, run_id=f"night-{night}", config=CONFIG))
    return outcomes


def findings(outcome: Outcome, cluster: str) -> dict[str, dict[str, Any]]:
    return {one["key"]: one for one in clusters_of(outcome)[cluster]["findings"]}


def codes(outcome: Outcome, cluster: str) -> set[str]:
    return {one["code"] for one in findings(outcome, cluster).values()}


# verdicts, by hand


@pytest.mark.promise("reconcile-reads-the-snapshot-only", "need-of-any-row-holds", "disabled-peer-holds")
def test_every_file_has_the_verdict_that_was_computed_by_hand(nights: list[Outcome], desk: Desk) -> None:
    assert nights[0].exit_code == 5, "other clusters of the fleet have errors"
    verdicts = desk.rows("wal_verdicts", "cluster = 'healthy' AND run_id = 'night-0'")
    found = {one["length"]: (one["verdict"], one["reason"], one["hbase_verdict"]) for one in verdicts}
    free, held = ("DELETABLE", "REPLICATED", "DELETE"), ("HELD", "PENDING", "KEEP")
    assert found == {
        1: free, 2: held, 4: held, 8: held, 16: free, 32: held, 64: free, 128: held, 256: held,
        512: ("DELETABLE", "META_WAL", "DELETE"),
    }  # fmt: skip
    (fourth,) = [one for one in verdicts if one["length"] == 8]
    assert fourth["blocking"] == [
        {"peer_id": "1", "owner": str(H1), "source": str(H1), "wal": wal(H1, 4), "offset": 0},
        {"peer_id": "2", "owner": str(H1), "source": str(H1), "wal": wal(H1, 2), "offset": 0},
    ]
    assert (fourth["server"], fourth["wal_group"], fourth["wal_timestamp"]) == (str(H1), group(H1), timestamp(4))
    (claimed,) = [one for one in verdicts if one["length"] == 128]
    assert claimed["blocking"] == [
        {"peer_id": "1", "owner": str(H1), "source": str(D1), "wal": wal(D1, 2), "offset": 7}
    ]


@pytest.mark.promise("every-file-is-explained")
def test_only_files_below_old_wals_have_a_verdict_and_each_has_one(nights: list[Outcome], desk: Desk) -> None:
    assert len(nights) == NIGHTS
    frame = desk.spark.read.format("delta").load(f"file:{desk.lake}/wal_verdicts")
    assert frame.where("NOT startswith(path, 'oldWALs/')").count() == 0
    assert frame.groupBy("cluster", "run_id", "path").count().where("count > 1").count() == 0
    assert frame.where("cluster = 'healthy'").count() == 10 * NIGHTS


@pytest.mark.parametrize("table", DECISION_TABLES, ids=lambda table: table.name)
def test_every_table_says_whose_rows_they_are_and_what_its_columns_mean(
    nights: list[Outcome], desk: Desk, table: Table
) -> None:
    assert nights
    frame = desk.spark.read.format("delta").load(f"file:{desk.lake}/{table.name}")
    assert frame.columns[:3] == ["cluster", "run_id", "run_date"]
    assert all(field.metadata.get("comment") for field in frame.schema)
    assert frame.where("cluster IS NULL OR run_id IS NULL OR run_date IS NULL").count() == 0
    dates = {(one["run_id"], str(one["run_date"])) for one in frame.select("run_id", "run_date").distinct().collect()}
    assert dates == {(f"night-{night}", f"2026-09-{21 + night}") for night in range(NIGHTS)}


@pytest.mark.promise("report-says-holders-and-remedies")
def test_pinned_bytes_are_exclusive_joint_and_freed_as_computed_by_hand(nights: list[Outcome], desk: Desk) -> None:
    assert nights
    rows = desk.rows("pinned_bytes", "cluster = 'healthy' AND run_id = 'night-0'")

    def numbers(level: str) -> dict[tuple[str, ...], tuple[int, int, int]]:
        keys = {"peer": ("peer_id",), "queue": ("peer_id", "owner", "source"), "group": ("peer_id", "source")}[level]
        return {
            tuple(one[key] for key in keys): (one["exclusive_bytes"], one["joint_bytes"], one["freed_bytes"])
            for one in rows
            if one["level"] == level
        }

    # without peer 1 the dead server's files have no queue at all, and go; the fourth of h1 is wanted by 2 as well
    assert numbers("peer") == {("1",): (128 + 256, 8, 128 + 256), ("2",): (2 + 4 + 32, 8, 2 + 4 + 32)}
    assert numbers("queue") == {
        ("1", str(H1), str(H1)): (0, 8, 0),
        ("1", str(H1), str(D1)): (128 + 256, 0, 128 + 256),
        ("2", str(H1), str(H1)): (2 + 4, 8, 2 + 4),
        ("2", str(H2), str(H2)): (32, 0, 32),
    }
    assert numbers("group") == {
        ("1", str(H1)): (0, 8, 0),
        ("1", str(D1)): (384, 0, 384),
        ("2", str(H1)): (6, 8, 6),
        ("2", str(H2)): (32, 0, 32),
    }
    (two,) = [one for one in rows if one["level"] == "peer" and one["peer_id"] == "2"]
    assert (two["peer_state"], two["exclusive_files"], two["joint_files"]) == ("DISABLED", 3, 1)
    assert two["oldest_age_ms"] == NOW - timestamp(2)
    # also a single queue of it says what the whole peer would lose
    costs = "enable_peer '2' to ship; or, if its cluster is gone, remove_peer '2', which gives up everything not yet "
    costs += "shipped to it: 46 B of WALs below oldWALs, and what is still below WALs/"
    assert {one["remedy"] for one in rows if one["peer_id"] == "2"} == {two["remedy"]} == {costs}


def test_queue_offsets_tell_what_is_pending_behind_them(nights: list[Outcome], desk: Desk) -> None:
    assert nights
    rows = desk.rows("queue_offsets", "cluster = 'healthy' AND run_id = 'night-0'")
    found = {
        (one["peer_id"], one["owner"], one["source"]): (
            one["wal"], one["offset"], one["pending_files"], one["pending_bytes"], one["live_pending_files"],
        )
        for one in rows
    }  # fmt: skip
    assert found == {
        ("1", str(H1), str(H1)): (wal(H1, 4), 0, 1, 8, 1),
        ("1", str(H1), str(D1)): (wal(D1, 2), 7, 2, 384, 0),
        ("1", str(H2), str(H2)): (wal(H2, 2), -1, 0, 0, 1),
        ("2", str(H1), str(H1)): (wal(H1, 2), 0, 3, 14, 1),
        ("2", str(H2), str(H2)): (wal(H2, 1), -1, 1, 32, 1),
    }
    ages = {(one["peer_id"], one["source"]): one["oldest_pending_age_ms"] for one in rows}
    assert ages["2", str(H1)] == NOW - timestamp(2)
    assert ages["1", str(H2)] is None


# the list


def test_the_list_is_what_the_contract_says(nights: list[Outcome], desk: Desk) -> None:
    result = clusters_of(nights[0])["healthy"]
    expected = [archived(H1, 1, 1), archived(H2, 1, 16), archived(D1, 1, 64)]
    meta = f"{ROOT}/oldWALs/{group(H1)}.meta.{NOW - HOUR_MS}.meta"
    lines = desk.lines("healthy", "night-0")
    assert lines == sorted([*(f"{ROOT}/{file.path}" for file in expected), meta], key=str.encode)
    manifest = json.loads((desk.lists / "healthy" / "night-0" / "manifest.json").read_text())
    assert list(manifest) == [
        "format", "cluster", "cluster_id", "run_id", "snapshot_sha256", "decided_at", "not_after", "files", "bytes",
        "parts",
    ]  # fmt: skip
    assert (manifest["format"], manifest["cluster"], manifest["run_id"]) == (1, "healthy", "night-0")
    assert manifest["decided_at"] == "2026-09-21T14:13:35.000Z"
    assert manifest["not_after"] == "2026-09-22T14:13:20.000Z"
    assert (manifest["files"], manifest["bytes"]) == (4, 1 + 16 + 64 + 512)
    assert (result["deletable_files"], result["deletable_bytes"], result["held_bytes"]) == (4, 593, 430)
    assert set(desk.list_files("healthy")) == {
        f"night-{night}/{name}" for night in range(NIGHTS) for name in ("manifest.json", "part-00000.txt")
    }


def test_nothing_deletable_is_a_manifest_without_parts(nights: list[Outcome], desk: Desk) -> None:
    assert clusters_of(nights[0])["nothing"]["status"] == "DONE"
    manifest = json.loads((desk.lists / "nothing" / "night-0" / "manifest.json").read_text())
    assert (manifest["parts"], manifest["files"], manifest["bytes"]) == ([], 0, 0)
    assert [name for name in desk.list_files("nothing") if name.startswith("night-0/")] == ["night-0/manifest.json"]


@pytest.mark.long
@pytest.mark.promise("decision-is-replayable")
def test_parts_are_the_same_bytes_however_the_listing_was_cut(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some folders sort differently by UTF-16 units than by bytes."""
    monkeypatch.setattr(list_parts, "LINES_PER_PART", 60)
    folders = ("", "a/", "\uffee/", "\U0001f600/", "\xe9/", "Z/")
    wals = [
        ArchivedFile(f"oldWALs/{folder}{group(D1)}.{timestamp(0) - number}", 1, timestamp(0))
        for folder in folders
        for number in range(50)
    ]
    made = with_files(small("many"), *wals)
    reversed_ = replace(made, files=made.files[::-1])
    desks = [Desk(spark, tmp_path / name) for name in ("one", "other")]
    for desk, capture, partitions in zip(desks, (made, reversed_), ("2", "7"), strict=True):
        monkeypatch.setattr("pipelines.snapshot.writer.GROUPS_PER_PART", 1)
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
        try:
            assert desk.reconcile(desk.snapshot(capture), run_id="r").exit_code == 0
        finally:
            spark.conf.set("spark.sql.shuffle.partitions", "2")
    lines = desks[0].lines("many", "r")
    assert len(lines) == 304
    assert lines == sorted(lines, key=str.encode)
    assert sorted(lines) != sorted(lines, key=lambda line: line.encode("utf-16-be")), "the folders are no trap"
    parts = [{name: content for name, content in desk.list_files("many").items() if "part-" in name} for desk in desks]
    assert parts[0] == parts[1]
    assert sorted(parts[0]) == [f"r/part-{number:05d}.txt" for number in range(len(parts[0]))]
    assert 4 <= len(parts[0]) <= 8


# findings


@pytest.mark.promise("quiet-where-all-is-well")
def test_a_healthy_cluster_has_no_finding_on_any_night(nights: list[Outcome]) -> None:
    assert [findings(outcome, "healthy") for outcome in nights] == [{}] * NIGHTS
    assert [clusters_of(outcome)["healthy"]["exit_code"] for outcome in nights] == [0] * NIGHTS


@pytest.mark.promise("report-says-holders-and-remedies")
@pytest.mark.parametrize(
    ("cluster", "code", "severity", "first", "words"),
    [
        ("orphan", "ORPHAN_QUEUE", "warning", 0, f"Queue 9-{H1} belongs to peer 9, which does not exist"),
        ("dead-owner", "ORPHAN_QUEUE", "warning", 0, "d2.example.org,16020,5, which is fully dead"),
        ("duplicate", "DUPLICATE_QUEUE", "warning", 0, f"Peer 1 has 2 queues for the WALs of {D1}"),
        ("poison", "POISON_FILE", "error", 0, "1 file in oldWALs, such as oldWALs/wal.1234567890123"),
        ("acknowledged", "POISON_FILE", "error", 0, "1 file in oldWALs/known, such as"),
        ("leaked", "LEAKED_REP_WAL", "info", 0, "1 WALs of hbase:replication itself"),
        ("leftover", "LEFTOVER_WAL_DIRECTORY", "warning", 0, f"WALs/{D1} stands"),
        ("rewound", "QUEUE_TABLE_REWOUND", "error", 1, f"Peer 1 stood at {wal(H1, 4)}:0, and is back at {wal(H1, 1)}"),
        ("cleaner", "CLEANER_NOT_RUNNING", "error", 0, "should have deleted 1 file"),
        ("stalled", "QUEUE_STALLED", "warning", 3, f"Peer 1 has not moved from {wal(H1, 4)}:3 for 3 nights"),
        ("growth", "GROWTH", "warning", 3, "Bytes held for peer 2 rose by 3.0 GiB in 3 nights"),
        ("missing", "MISSING_WAL", "error", 0, f"Queue 1-{H1} is to read {group(H1)}.{timestamp(3) + 1} at 0"),
        ("beyond", "BEYOND_EOF", "error", 0, f"stands at 9 in {wal(H1, 4)}, which has only 8 bytes"),
        ("moved", "CLUSTER_MOVED", "info", 0, "server h2.example.org,16020,1789000000000 left"),
    ],
)
def test_each_finding_comes_of_its_own_evidence_and_alone(
    nights: list[Outcome], cluster: str, code: str, severity: str, first: int, words: str
) -> None:
    found = [codes(outcome, cluster) for outcome in nights]
    assert found[:first] == [set()] * first
    assert found[first] == {code}
    (finding,) = findings(nights[first], cluster).values()
    assert finding["severity"] == severity
    assert words in finding["message"]
    assert finding["remedy"]
    assert finding["is_new"]
    assert finding["nights"] == 1


def test_a_finding_keeps_its_key_and_first_night(nights: list[Outcome], desk: Desk) -> None:
    assert nights
    rows = desk.rows("findings", "cluster = 'poison' AND run_id = 'night-2'")
    assert [(one["key"], one["nights"], one["is_new"]) for one in rows] == [("POISON_FILE:oldWALs", 3, False)]
    assert int(rows[0]["first_seen"].timestamp() * 1000) == NOW
    assert json.loads(rows[0]["evidence"]) == {"example": "oldWALs/wal.1234567890123"}


@pytest.mark.promise("exit-5")
def test_only_a_new_error_that_nobody_acknowledged_is_exit_code_5(nights: list[Outcome]) -> None:
    codes_by_night = [
        {cluster: one["exit_code"] for cluster, one in clusters_of(outcome).items()} for outcome in nights
    ]
    refused = {"mutant-rule": 3, "mutant-cleaner": 3}
    errors = ("poison", "cleaner", "missing", "beyond")
    quiet = dict.fromkeys(CLUSTERS, 0) | refused
    assert codes_by_night[0] == quiet | dict.fromkeys(errors, 5)
    assert codes_by_night[1] == quiet | {"rewound": 5}
    assert codes_by_night[2] == quiet
    assert codes_by_night[3] == quiet
    (known,) = findings(nights[0], "acknowledged").values()
    assert (known["severity"], known["acknowledged"]) == ("error", True)


# the gate


@pytest.mark.promise("checked-against-hbase", "gate-refuses-on-one-failure", "mutants-make-the-gate-fire")
@pytest.mark.parametrize("cluster", ["mutant-rule", "mutant-cleaner"])
def test_a_mutant_of_either_rule_is_refused(nights: list[Outcome], desk: Desk, cluster: str) -> None:
    result = clusters_of(nights[0])[cluster]
    assert (result["status"], result["exit_code"], result["list_uri"]) == ("REFUSED", 3, None)
    assert "deletable_within_hbase_delete: expected that HBase's own ReplicationLogCleaner would" in result["reason"]
    assert desk.list_files(cluster) == {}
    failed = desk.rows("quality_results", f"cluster = '{cluster}' AND run_id = 'night-0' AND NOT success")
    assert "deletable_within_hbase_delete" in {one["expectation"] for one in failed}
    (proof,) = [one for one in failed if one["expectation"] == "deletable_within_hbase_delete"]
    assert proof["unexpected_count"] == len(proof["examples"]) > 0
    assert all(path.startswith("oldWALs/") for path in proof["examples"])
    verdicts = desk.rows("wal_verdicts", f"cluster = '{cluster}'")
    assert {(one["verdict"], one["reason"]) for one in verdicts} == {("HELD", "SNAPSHOT_UNTRUSTED")}


def test_a_gate_that_passes_says_so_for_every_expectation(nights: list[Outcome], desk: Desk) -> None:
    assert nights
    rows = desk.rows("quality_results", "cluster = 'healthy' AND run_id = 'night-0'")
    assert len(rows) == 12
    assert all(one["success"] and not one["accepted"] and one["unexpected_count"] == 0 for one in rows)


@pytest.mark.promise("queries-run-without-spark", "deltalake-reads-by-partition", "pyspark-opens-the-lake")
def test_the_queries_of_the_readme_run(nights: list[Outcome], desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """On this lake and its first night in the place of the example's."""
    assert nights
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    with_duckdb, with_deltalake, with_pyspark = (
        block.replace("/walsafe/lake", str(desk.lake)).replace("2026-11-21", "2026-09-21") for block in blocks
    )
    exec(with_duckdb, {})  # noqa: S102 - our own README
    assert "PENDING" in capsys.readouterr().out
    *imports, query = with_deltalake.strip().splitlines()
    names: dict[str, Any] = {}
    exec("\n".join([*imports, f"found = {query}"]), names)  # noqa: S102
    first_night = desk.rows("findings", "run_date = DATE'2026-09-21'")
    assert len(first_night) == len(names["found"]) > 0
    exec(with_pyspark, {"spark": desk.spark})  # noqa: S102
    assert f"|      2|{str(H1)[:17]}...|" in capsys.readouterr().out
