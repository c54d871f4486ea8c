"""Compares what Spark says of the files of drawn clusters with what the rule says of each."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from pipelines.common.instants import DAY_MS, is_instant
from pipelines.common.spark.local_frames import local_frame
from pipelines.decide.rule.cleaner_rule import hbase_2_verdict, hbase_verdict
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.decision_table import DecisionTable
from pipelines.decide.rule.verdict import ArchivedFile, Reason, Verdict, decide, time_to_live
from pipelines.decide.spark.decision_frames import decision_frames
from pipelines.decide.spark.summary import decision_totals
from pipelines.decide.spark.verdicts import looked_up, with_answers
from pipelines.hbase.wal_names import FileKind, file_kind, parse_wal_name
from tests.strategies.clusters import NOW

FILES = StructType(
    [
        StructField("cluster", StringType()),
        StructField("path", StringType()),
        StructField("length", LongType()),
        StructField("modification_time", TimestampType()),
    ]
)
LIVE = "WALs/rs.example.org,16020,1/rs.example.org%2C16020%2C1.1"
INTERVAL_MS = 2 * DAY_MS - 200_000
"""Of HBase's cleaner. Three of them are how far a WAL of six days ago, as some are drawn, is past its TTL."""
BARRED = ("BACKUP", "FOREIGN_CLEANER", "ADD_PEER_RUNNING", "SNAPSHOT_UNTRUSTED")
"""Reasons for which HBase, too, may have kept a file."""
Answer = tuple[object, ...]
ViewAndFiles = tuple[ClusterView, Sequence[ArchivedFile]]
Case = TypeVar("Case")


@dataclass(frozen=True)
class Clusters:
    """Clusters with their files, and what the rule says of each file.

    Attributes:
        tables: each cluster's view and decision table.
        rows: of `FILES`; each cluster has one file that is not in oldWALs.
        answers: of the files in oldWALs, by cluster and path.
    """

    tables: Sequence[tuple[ClusterView, DecisionTable]]
    rows: Sequence[tuple[str, str, int, datetime]]
    answers: Mapping[tuple[str, str], Answer]


def clusters_of(drawn_clusters: Iterable[ViewAndFiles]) -> Clusters:
    """Gives each cluster its own name, builds its decision table, and asks the rule about each of its files."""
    tables: list[tuple[ClusterView, DecisionTable]] = []
    rows: list[tuple[str, str, int, datetime]] = []
    answers: dict[tuple[str, str], Answer] = {}
    for number, (drawn_view, files) in enumerate(drawn_clusters):
        view = replace(drawn_view, cluster=f"c{number}")
        tables.append((view, view.storage.decision_table(view, tables[-1][1].next_bucket if tables else 0)))
        rows.append((view.cluster, LIVE, 0, instant(NOW)))
        for file in files:
            rows.append((view.cluster, file.path, file.length, instant(file.modification_time)))
            answers[view.cluster, file.path] = answer_of_the_rule(file, view)
    return Clusters(tables, rows, answers)


def instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms // 1000, UTC) + timedelta(milliseconds=ms % 1000)


def answer_of_the_rule(file: ArchivedFile, view: ClusterView) -> Answer:
    decision = decide(file, view)
    by_name = not view.storage.asks_peers
    hbase = hbase_2_verdict(file.name, file.modification_time, view) if by_name else hbase_verdict(file.name, view)
    wal = parse_wal_name(file.name)
    queues = view.queued.queues_of.get(file.name)
    server = wal.server if wal and wal.server else queues[0][0].wals_of if queues else None
    return (
        decision.verdict.value,
        decision.reason.value,
        hbase.value,
        None if server is None else str(server),
        wal.group if wal else None,
        wal.timestamp if wal else None,
        [
            (one.peer_id, str(one.owner) if one.owner else None, str(one.source), one.wal, one.offset)
            for one in decision.blocking
        ],
        eligible_at(file, view),
    )


def eligible_at(file: ArchivedFile, view: ClusterView) -> datetime | None:
    """The first start of a listing at which the rule finds a file DELETABLE that it finds TOO_YOUNG now."""
    if decide(file, view).reason is not Reason.TOO_YOUNG:
        return None
    first = file.modification_time + time_to_live(view, file_kind(file.name)) + 1
    assert decide(file, replace(view, files_started=first - 1)).reason is Reason.TOO_YOUNG
    free = decide(file, replace(view, files_started=first)).verdict is Verdict.DELETABLE
    return instant(first) if free and is_instant(first) else None


def agree(spark: SparkSession, clusters: Clusters) -> None:
    """Asserts that Spark, in one plan, gives the answers of the rule for the files of all these clusters."""
    frames = decision_frames(spark, clusters.tables)
    answers = with_answers(looked_up(local_frame(spark, clusters.rows, FILES), frames), frames).collect()
    assert len(answers) == len(clusters.rows)
    found = {(row["cluster"], row["path"]): row for row in answers}
    views = {view.cluster: view for view, _ in clusters.tables}
    for cluster, view in views.items():
        assert not found[cluster, LIVE]["archived"], view
    for (cluster, path), expected in clusters.answers.items():
        row = found[cluster, path]
        assert row["archived"]
        assert {char for char in path if not char.isprintable()} <= set(row["unproven"]), path
        answer = (
            row["verdict"],
            row["reason"],
            row["hbase_verdict"],
            row["server"],
            row["wal_group"],
            row["wal_timestamp"],
            [tuple(holder) for holder in row["blocking"]],
            _utc(row["eligible_at"]),
        )
        assert answer == expected, (path, views[cluster])


def _utc(found: datetime | None) -> datetime | None:
    return None if found is None else found.astimezone(UTC)


def drawn(
    count: int,
    source: st.SearchStrategy[Case],
    *,
    derandomize: bool = False,
    by: Callable[[Callable[[], None]], Callable[[], None]] = lambda collect: collect,
) -> list[Case]:
    """Clusters drawn one by one: a list of them in one draw is soon too large for hypothesis to finish.

    They are compared afterwards, many in one plan, so none is shrunk; the one named in a message is small already.
    `by` may say from which seed.
    """
    cases: list[Case] = []

    @given(source)
    @settings(
        max_examples=count,
        deadline=None,
        derandomize=derandomize,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def collect(case: Case) -> None:
        cases.append(case)

    by(collect)()
    return cases


def totals_agree(session: SparkSession, fleet: Clusters) -> None:
    """Asserts that Spark counts as many files of each answer as the rule gives, and as many that are overdue."""
    frames = decision_frames(session, fleet.tables)
    rows = decision_totals(looked_up(local_frame(session, fleet.rows, FILES), frames), frames, INTERVAL_MS).collect()
    found, expected = Counter[Answer](), Counter[Answer]()
    for row in rows:
        if row["archived"]:
            answer = row["cluster"], row["verdict"], row["reason"], row["hbase_verdict"]
            found[answer] += row["files"]
            found[*answer, "overdue"] += row["overdue_files"]
            found[*answer, "overdue bytes"] += row["overdue_bytes"] or 0
    views = {view.cluster: view for view, _ in fleet.tables}
    for cluster, path, length, modified in fleet.rows:
        if (cluster, path) in fleet.answers:
            answer = cluster, *fleet.answers[cluster, path][:3]
            expected[answer] += 1
            if answer[3] == "DELETE" and answer[2] not in BARRED and is_overdue(path, modified, views[cluster]):
                expected[*answer, "overdue"] += 1
                expected[*answer, "overdue bytes"] += length
    assert found == expected


def is_overdue(path: str, modified: datetime, view: ClusterView) -> bool:
    """Whether the file is older than its TTL by more than three intervals of HBase's cleaner."""
    kind = file_kind(path.rpartition("/")[2])
    ttl = 0 if kind is FileKind.INVALID else time_to_live(view, kind)
    return view.files_started - round(modified.timestamp() * 1000) - ttl > 3 * INTERVAL_MS
