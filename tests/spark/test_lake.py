"""Reading the lake back, explain and reports, on tables really written: three nights of two clusters."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from jobs.cli.entry import main
from jobs.cli.launch.places import PROGRAM
from jobs.reconcile.wiring import ReconcileReports
from pipelines.common.errors import UsageError
from pipelines.lake.delta_rs import DeltaRs
from pipelines.lake.delta_tables import DeltaTables
from pipelines.lake.lake_queries import LakeQueries, SparkTables
from pipelines.lake.lake_records import RunRecord
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import PinnedRow, QueueOffsetRow, RunKey, RunSummary, VerdictTotal, table_row
from pipelines.reconcile.explain.explain import ExplainRequest, explain
from pipelines.reconcile.explain.runs import since_of
from pipelines.reconcile.peer_states import PeerRow
from pipelines.reconcile.report_files import HtmlReports
from schemas.peers import PEERS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.queue_offsets import QUEUE_OFFSETS
from schemas.registry import TABLES
from schemas.runs import RUNS
from schemas.verdict_totals import VERDICT_TOTALS
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.small_cluster import At

pytestmark = pytest.mark.long

DAY = 86_400_000
LAST = int(datetime(2026, 11, 21, 2, tzinfo=UTC).timestamp()) * 1000
H1, H2 = "h1,16020,1795000000001", "h2,16020,1795000000002"
G1 = "h1%2C16020%2C1795000000001"
STUCK = LAST - 3 * DAY
GIB = 1 << 30


def wal(group: str, timestamp: int) -> str:
    return f"{group}.{timestamp}"


def verdict_rows(key: RunKey, night: int) -> list[Mapping[str, object]]:
    holder = ("2", H1, H1, wal(G1, STUCK), 443)

    def row(path: str, reason: str, **more: object) -> Mapping[str, object]:
        verdict = "HELD" if reason in {"PENDING", "TOO_YOUNG"} else "DELETABLE"
        base = {"cluster": key.cluster, "run_id": key.run_id, "run_date": key.run_date, "path": path, "reason": reason}
        base |= {"verdict": verdict, "hbase_verdict": "KEEP" if reason == "PENDING" else "DELETE", "length": GIB}
        return base | {"server": H1, "wal_group": G1, "blocking": [], "modification_time": night - DAY // 2} | more

    old = STUCK + 1
    return [
        row(
            f"oldWALs/{wal(G1, old)}", "PENDING", wal_timestamp=old, blocking=[holder],
            modification_time=LAST - int(1.5 * DAY),
        ),
        row(f"oldWALs/{wal(G1, STUCK)}", "PENDING", wal_timestamp=STUCK, blocking=[holder], length=5),
        row(f"oldWALs/{wal(G1, STUCK - 9)}", "REPLICATED", wal_timestamp=STUCK - 9),
        row(f"oldWALs/h1/{wal(G1, STUCK - 8)}", "REPLICATED", wal_timestamp=STUCK - 8),
        row(f"oldWALs/h2/{wal(G1, STUCK - 8)}", "REPLICATED", wal_timestamp=STUCK - 8),
        row("oldWALs/only-in-b.1", "TOO_YOUNG", server=H2) if key.cluster == "prod-b" else
        row("oldWALs/only-in-a.1", "TOO_YOUNG", server=H2),
    ]  # fmt: skip


def write_night(tables: DeltaTables, cluster: str, night: int, held: int, status: str = "DONE") -> RunKey:
    key = RunKey.of(cluster, f"night-{(night - LAST) // DAY + 9}", night)
    queue = QueueOffsetRow(
        "2", True, H1, H1, False, G1, wal(G1, STUCK), 443, STUCK, 2, held, 0, 0, STUCK, night - STUCK
    )
    done = QueueOffsetRow("1", True, H1, H1, False, G1, wal(G1, night), 7, night, 0, 0)
    placeholder = QueueOffsetRow("1", True, H2, H2, False, None, None, None, -1, 1, 1)
    peer = PinnedRow(
        "peer", "2", "DISABLED", None, None, None, 2, held, 0, 0, 2, held, STUCK, night - STUCK, "enable_peer '2'"
    )
    state = PeerRow("2", "DISABLED", LAST - 5 * DAY, 6, "ENABLED", *([None] * 5))
    queue_level = replace(peer, level="queue", owner=H1, source=H1)
    queues = [table_row(key, row) for row in (queue, done, placeholder)]
    totals = [
        VerdictTotal("HELD", "PENDING", "KEEP", 2, held, 1),
        VerdictTotal("DELETABLE", "REPLICATED", "DELETE", 3, 3 * GIB, 1),
    ]
    tables.replace(
        {
            WAL_VERDICTS.name: tables.rows(WAL_VERDICTS, verdict_rows(key, night)),
            QUEUE_OFFSETS.name: tables.rows(QUEUE_OFFSETS, queues),
            PINNED_BYTES.name: tables.rows(PINNED_BYTES, [table_row(key, row) for row in (peer, queue_level)]),
            PEERS.name: tables.rows(PEERS, [table_row(key, state)]),
            VERDICT_TOTALS.name: tables.rows(VERDICT_TOTALS, [table_row(key, row) for row in totals]),
        },
        [key],
    )
    run = {"cluster": cluster, "run_id": key.run_id, "run_date": key.run_date, "mode": "NIGHTLY"}
    started = run | {"status": "STARTED", "at": night + 1, "files_started_at": night}
    tables.append_rows(RUNS, [started, started | {"status": status, "at": night + 2, "reason": "because"}])
    return key


@pytest.fixture(scope="module")
def lake_uri(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    uri = str(tmp_path_factory.mktemp("lake") / "lake")
    tables = DeltaTables(spark, uri)
    tables.ensure(TABLES)
    for number, held in ((2, 1 * GIB), (1, 2 * GIB), (0, 3 * GIB)):
        write_night(tables, "prod-a", LAST - number * DAY, held)
    write_night(tables, "prod-b", LAST, 7)
    later = RunKey.of("prod-b", "later", LAST + DAY)
    refused = {
        "cluster": "prod-b",
        "run_id": "later",
        "run_date": later.run_date,
        "status": "REFUSED",
        "at": LAST + DAY,
    }
    tables.append_rows(RUNS, [refused | {"reason": "order of steps", "files_started_at": LAST + DAY}])
    return uri


@pytest.fixture
def deltalake(lake_uri: str) -> LakeReader:
    """A reader by deltalake alone."""
    return LakeReader(LakeQueries(lake_uri, DeltaRs.of(f"file:{lake_uri}", {}), None))


@pytest.fixture(params=["deltalake", "spark"])
def lake(request: pytest.FixtureRequest, deltalake: LakeReader, spark: SparkSession, lake_uri: str) -> LakeReader:
    """A reader by one engine alone: the other does not help out."""
    if request.param == "spark":
        return LakeReader(LakeQueries(lake_uri, None, SparkTables(spark, lake_uri)))
    return deltalake


def ask(
    lake: LakeReader, *paths: str, cluster: str | None = None, since: str | None = None, **more: str
) -> tuple[dict[str, Any], str]:
    compared = None if since is None else since_of(since)
    outcome = explain(ExplainRequest(cluster, paths, since=compared, **more), lake, At(LAST))
    assert outcome.exit_code == 0
    return json.loads(json.dumps(outcome.result)), outcome.text


HELD_PATH = f"oldWALs/{wal(G1, STUCK + 1)}"


@pytest.mark.promise("explain-answers", "every-file-is-explained")
def test_a_held_file_names_holder_since_when_and_the_way_out(lake: LakeReader) -> None:
    result, text = ask(lake, HELD_PATH, cluster="prod-a")
    (file,) = result["files"]
    (holder,) = file["holders"]
    assert (file["path"], file["verdict"], file["reason"], file["run_id"]) == (HELD_PATH, "HELD", "PENDING", "night-9")
    assert (holder["peer_id"], holder["peer_state"], holder["offset"]) == ("2", "DISABLED", 443)
    assert holder["since"] == "2026-11-20T02:00:00.000Z", "archived after the first night, needed on both since"
    assert holder["nights"] == 2
    assert holder["behind_ms"] == 3 * DAY
    assert (holder["pending_bytes"], holder["peer_frees_bytes"]) == (3 * GIB, 3 * GIB)
    assert "Held by peer 2 (DISABLED), queue of h1,16020,1795000000001, since 2026-11-20 02:00 UTC (2 nights)" in text
    assert "3 d 0 h behind" in text
    assert "What frees it: enable_peer '2'" in text


@pytest.mark.parametrize("name", [f"hdfs://ns1/hbase/{HELD_PATH}", wal(G1, STUCK + 1)])
def test_a_file_by_its_uri_or_its_name_alone(deltalake: LakeReader, name: str) -> None:
    assert ask(deltalake, name, cluster="prod-a") == ask(deltalake, HELD_PATH, cluster="prod-a")


def test_several_paths_and_clusters_in_one_answer(lake: LakeReader) -> None:
    result, text = ask(lake, "only-in-a.1", "only-in-b.1")
    assert [(file["cluster"], file["reason"]) for file in result["files"]] == [
        ("prod-a", "TOO_YOUNG"),
        ("prod-b", "TOO_YOUNG"),
    ]
    assert "wait until its TTL has passed" in text


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (ExplainRequest(None, (HELD_PATH,)), "ambiguous.*of prod-a.*of prod-b.*--cluster"),
        (ExplainRequest("prod-a", (wal(G1, STUCK - 8),)), "ambiguous: oldWALs/h1/.*oldWALs/h2/"),
        (ExplainRequest("prod-a", ("nothing.1",)), "nothing.1: not among the files.*prod-a of 2026-11-21"),
        (ExplainRequest("prod-x", ("nothing.1",)), "cluster prod-x.*knows prod-a, prod-b"),
        (ExplainRequest(None, (), peer="2"), "peer 2 is ambiguous: prod-a, prod-b"),
        (ExplainRequest("prod-a", (), peer="7"), "peer 7 neither holds.*peers with queues: 1, 2"),
        (ExplainRequest("prod-a", (), server="rs12"), "server rs12: no queue and no file.*any part of"),
        (
            ExplainRequest("prod-a", (), server="1602"),
            r"server 1602 \(2 fit\) is ambiguous: h1,16020,\d+ of.*, h2",
        ),
        (ExplainRequest(None, (), server="h1"), r"server h1 \(2 fit\) is ambiguous.*more of the name"),
        (ExplainRequest(), "the cluster is ambiguous: prod-a, prod-b; give --cluster"),
    ],
)
def test_unknown_and_ambiguous_questions_say_what_there_is(
    deltalake: LakeReader, request_: ExplainRequest, words: str
) -> None:
    with pytest.raises(UsageError, match=re.compile(words, re.DOTALL)):
        explain(request_, deltalake, At(LAST))


@pytest.mark.promise("explain-answers")
def test_a_peer_with_queues_next_wals_and_trend(lake: LakeReader) -> None:
    result, text = ask(lake, cluster="prod-a", peer="2")
    peer = result["peer"]
    assert (peer["bytes"], peer["frees_bytes"], peer["peer_state"]) == (3 * GIB, 3 * GIB, "DISABLED")
    assert [queue["owner"] for queue in peer["queues"]] == [H1]
    assert [one["path"] for one in peer["next_wals"]] == [f"oldWALs/{wal(G1, STUCK)}", HELD_PATH]
    assert [night["bytes"] for night in peer["trend"]] == [1 * GIB, 2 * GIB, 3 * GIB]
    assert "peer 2 (DISABLED)" in text
    assert (peer["state_since"], peer["state_nights"]) == ("2026-11-16T02:00:00.000Z", 6)
    assert "Disabled at least since 2026-11-16 02:00 UTC (6 nights)" in text


@pytest.mark.promise("explain-answers", "server-by-any-part")
def test_a_server_by_a_part_of_its_name(lake: LakeReader) -> None:
    result, text = ask(lake, cluster="prod-a", server="H1,16020")
    assert result["server"]["server"] == H1
    assert {row["reason"]: row["files"] for row in result["server"]["files"]} == {"PENDING": 2, "REPLICATED": 3}
    assert [row["peer_id"] for row in result["server"]["holders"]] == ["2"]
    assert f"server {H1}" in text


@pytest.mark.parametrize("name", [H1, "1,16020"])
def test_a_server_by_its_name_and_by_another_part_of_it(deltalake: LakeReader, name: str) -> None:
    assert ask(deltalake, cluster="prod-a", server=name) == ask(deltalake, cluster="prod-a", server="H1,16020")


@pytest.mark.promise("explain-state", "explain-since")
def test_state_and_changes(lake: LakeReader) -> None:
    state = ask(lake, cluster="prod-a")[0]["state"]
    assert [(one["verdict"], one["bytes"]) for one in state["verdicts"]] == [
        ("HELD", 3 * GIB),
        ("DELETABLE", 3 * GIB),
    ]
    assert (state["forecast"]["nights"], state["forecast"]["growth_per_day"]) == (3, GIB)
    assert [(one["server"], one["files"]) for one in state["servers"]] == [(H1, 2), (H2, 1)]
    assert state["changes"]["since_run_id"] == "night-8"
    (change,) = ask(lake, cluster="prod-a", since="2026-11-19")[0]["changes"]
    assert (change["since_run_id"], change["bytes"], change["verdicts"]) == ("night-7", 2 * GIB, [])
    (change,) = ask(lake, cluster="prod-a", peer="2", since="2026-11-19")[0]["changes"]
    assert (change["state"], change["verdicts"]) == ("DISABLED", [])


def test_a_newer_refused_run_is_said(lake: LakeReader) -> None:
    result, text = ask(lake, cluster="prod-b", peer="2")
    assert result["peer"]["run_id"] == "night-9"
    assert "! a newer run, later, was REFUSED: order of steps" in text
    last = text.splitlines()[-1]
    assert last.startswith("Clean-up is paused: the newest run of cluster prod-b, later, was REFUSED (order of steps)")


def test_what_deltalake_cannot_read_is_asked_of_spark(
    spark: SparkSession, lake_uri: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "runs").mkdir()
    no_delta_table = DeltaRs(str(tmp_path), {})
    lake = LakeReader(LakeQueries(lake_uri, no_delta_table, SparkTables(spark, lake_uri)))
    with caplog.at_level("INFO"):
        assert {run.cluster for run in lake.newest_runs(None)} == {"prod-a", "prod-b"}
    assert [record.message.partition(" (")[0] for record in caplog.records if "deltalake" in record.message] == [
        f"{lake_uri}/runs: deltalake cannot read it"
    ]


def test_curves_are_of_earlier_nights_only(lake: LakeReader) -> None:
    history = lake.histories({"prod-a": LAST, "prod-x": LAST}, 30)
    assert [(LAST - p.files_started_ms, p.bytes) for p in history["prod-a"].by_peer] == [(2 * DAY, GIB), (DAY, 2 * GIB)]
    assert {p.group for p in history["prod-a"].by_reason} == {"HELD PENDING", "DELETABLE REPLICATED"}
    assert history["prod-x"].by_peer == ()
    assert [p.bytes for p in lake.histories({"prod-a": LAST}, 1)["prod-a"].by_peer] == [2 * GIB]


def test_the_page_of_a_run_is_published(lake_uri: str, spark: SparkSession, tmp_path: Path) -> None:
    totals = (
        VerdictTotal("HELD", "PENDING", "KEEP", 2, 3 * GIB),
        VerdictTotal("DELETABLE", "REPLICATED", "DELETE", 3, 3 * GIB),
    )
    one = RunSummary("prod-a", "night-9", "DONE", "NIGHTLY", 0, None, LAST, totals, lake_uri=lake_uri)
    reports = ReconcileReports(JobContext("reconcile", spark=spark), lake_uri, str(tmp_path / "pages"))
    (page,) = reports.publish([one], {}).values()
    text = Path(page.uri.removeprefix("file:")).read_text(encoding="utf-8")
    assert page.uri.endswith("pages/prod-a/night-9.html")
    assert page.forecast is not None
    assert page.forecast.growth_per_day == GIB
    assert "prod-a: bytes held by night and peer" in text, "the curves come from the lake"
    assert f"<pre>{PROGRAM} explain --lake {lake_uri} --cluster prod-a" in text
    shown = tmp_path / "pages"
    assert 'url=night-9.html"' in (shown / "prod-a" / "latest.html").read_text(encoding="utf-8")
    index = (shown / "index.html").read_text(encoding="utf-8")
    assert 'href="prod-a/latest.html"' in index
    assert 'href="prod-a/night-9.html"' in index
    assert "Refused: order of steps" in index, "of the other cluster, which this run did not have"
    reports.publish([replace(one, run_id="night-7", files_started_ms=LAST - 2 * DAY)], {})
    assert 'url=night-9.html"' in (shown / "prod-a" / "latest.html").read_text(encoding="utf-8"), "a repeated old night"
    (shown / ".index.html.crc").write_text("of an older walsafe")
    pages = reports.publish([one, replace(one, cluster="prod-b", status="REFUSED", reason="order")], {})
    assert [one.uri.rpartition("/")[2] for one in pages.values()] == [
        "night-9.html#cluster-prod-a",
        "night-9.html#cluster-prod-b",
    ]
    assert 'url=../fleet/night-9.html#cluster-prod-a"' in (shown / "prod-a" / "latest.html").read_text(encoding="utf-8")
    names = {str(path.relative_to(shown)) for path in shown.rglob("*") if path.is_file()}
    assert names == {
        "index.html", ".index.html.crc", "findings.html", "prod-a/night-9.html", "prod-a/night-7.html",
        "prod-a/latest.html",
        "fleet/night-9.html",
    }, "of .crc files only that of an older walsafe"  # fmt: skip
    assert spark.read.text(f"file:{shown}/index.html").count() > 0


def test_every_cluster_of_a_fleet_leads_to_the_page_of_its_night(spark: SparkSession, tmp_path: Path) -> None:
    """By default, each cluster has a run id of its own; a snapshot that cannot be read has the same one every night."""
    reports, runs = HtmlReports(spark, f"file:{tmp_path}", PROGRAM), dict[tuple[str, str], RunRecord]()
    for night in (1, 2):
        at = LAST + night * DAY
        one = RunSummary("prod-a", f"a-{night}", "DONE", "NIGHTLY", 0, None, at)
        fleet = [
            one,
            replace(one, cluster="prod-b", run_id=f"b-{night}", files_started_ms=at + 1),
            replace(one, cluster="prod-c", run_id="unreadable-00000000", status="REFUSED", files_started_ms=at + 9),
        ]
        for each in fleet:
            name, run_id, started = each.cluster, each.run_id, each.files_started_ms
            runs[name, run_id] = RunRecord(
                name, run_id, each.key.run_date, each.status, "NIGHTLY", started, None, started, None, 0, None
            )
        reports.publish(fleet)
        newest_first = sorted(runs.values(), key=lambda run: run.order, reverse=True)
        reports.publish_index(fleet, newest_first, {}, at + 10)
    assert sorted(path.name for path in (tmp_path / "fleet").iterdir()) == ["b-1.html", "b-2.html"]
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert [index.count(f'href="fleet/b-{night}.html"') for night in (1, 2)] == [2, 3]
    (tmp_path / "fleet" / "b-1.html").unlink()  # an earlier page that cannot be read fails no night
    (tmp_path / "fleet" / "b-1.html").mkdir()
    reports.publish_index(fleet, newest_first, {}, at + 10)
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert [index.count(f'href="fleet/b-{night}.html"') for night in (1, 2)] == [0, 3]


def test_a_page_that_is_written_again_still_leads_to_its_data_docs(spark: SparkSession, tmp_path: Path) -> None:
    reports = HtmlReports(spark, f"file:{tmp_path}", PROGRAM)
    one = RunSummary("prod-a", "n", "DONE", "NIGHTLY", 0, None, LAST)
    link = '<a href="n.quality.html">'
    reports.publish([one])
    assert link not in (tmp_path / "prod-a" / "n.html").read_text(encoding="utf-8")
    (tmp_path / "prod-a" / "n.quality.html").write_text("of the first attempt", encoding="utf-8")
    reports.publish([one])
    assert link in (tmp_path / "prod-a" / "n.html").read_text(encoding="utf-8")


def test_job_answers_in_json_and_exits_with_2_when_unsure(
    spark: SparkSession, lake_uri: str, capsys: pytest.CaptureFixture[str]
) -> None:
    context = JobContext("explain", spark=spark)
    assert main(["explain", "--lake", lake_uri, "--output", "json", "only-in-a.1"], context=context) == 0
    assert json.loads(capsys.readouterr().out)["files"][0]["reason"] == "TOO_YOUNG"
    assert main(["explain", "--lake", lake_uri, "--peer", "2"], context=context) == 2
    assert "ambiguous" in capsys.readouterr().err
    assert main(["explain", "--lake", lake_uri, "--peer", "2", "a.1"], context=context) == 2
    assert main(["explain", "--lake", f"{lake_uri}/nothing", "--peer", "2"], context=context) == 2
    assert "check --lake" in capsys.readouterr().err
