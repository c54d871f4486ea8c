"""The Spark form gives the answers of the specification, field by field, over generated clusters with all the traps."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from pipelines.common.instants import DAY_MS
from pipelines.common.spark.few_rows import for_few_rows
from pipelines.common.spark.local_frames import local_frame
from pipelines.decide.rule.cleaner_rule import hbase_2_verdict, hbase_verdict
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.decision_table import DecisionTable
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.verdict import ArchivedFile, Reason, Verdict, decide, time_to_live
from pipelines.decide.spark.decision_frames import decision_frames
from pipelines.decide.spark.lookup import DecisionFrames
from pipelines.decide.spark.summary import decision_totals
from pipelines.decide.spark.verdicts import looked_up, with_answers
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.server_names import MAX_LONG, ServerName
from pipelines.hbase.wal_names import file_kind, parse_wal_name
from pipelines.snapshot.model import Backup, Membership, WalDirectory
from tests.labs.deep_seeds import SEED, Say
from tests.labs.spark.evaluation import COMPILED
from tests.strategies import ClusterCase, cluster_cases, generated_cases, view_of
from tests.strategies.clusters import MASTER, NOW, snapshot_of
from tests.strategies.zookeeper import ZooKeeperCase, view_of_zookeeper, znodes, zookeeper_cases, zookeeper_snapshot
from tests.suite.sizes import examples

FILES = StructType(
    [
        StructField("cluster", StringType()),
        StructField("path", StringType()),
        StructField("length", LongType()),
        StructField("modification_time", TimestampType()),
    ]
)
MALFORMED = cluster_cases(min_files=10, malformed=True, control_characters=True)
LIVE = "WALs/rs.example.org,16020,1/rs.example.org%2C16020%2C1.1"
LINE_ENDS = ("\n", "\r", "\x85", "\u2028", "\u2029")
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
    return datetime.fromtimestamp(ms / 1000, UTC)


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
    return instant(first) if free else None


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


@pytest.fixture(
    scope="module",
    params=[pytest.param("compiled", marks=pytest.mark.slow("Spark compiles every decision")), "as it stands"],
)
def either(spark: SparkSession, request: pytest.FixtureRequest) -> SparkSession:
    """Spark's two ways to evaluate an expression: that of large listings, and that of small ones."""
    if request.param == "as it stands":
        return for_few_rows(spark)
    session = spark.newSession()
    for name, value in COMPILED.items():
        session.conf.set(name, value)
    # else the optimizer evaluates what is asked of rows of the driver, and compiles nothing
    local = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
    session.conf.set("spark.sql.optimizer.excludedRules", local)
    return session


def with_tables(cases: Iterable[ClusterCase]) -> Clusters:
    """Clusters whose queues are in `hbase:replication`."""
    return clusters_of((view_of(case), case.files) for case in cases)


@pytest.fixture(scope="module")
def fleets() -> list[Clusters]:
    """Two fleets of drawn clusters."""
    cases = drawn(examples(250), cluster_cases(), derandomize=True)
    cases += drawn(examples(80), generated_cases(), derandomize=True)
    return [with_tables(cases[::2]), with_tables(cases[1::2])]


@pytest.mark.promise("null-is-held", "fast-form-equals-the-rule")
def test_spark_says_what_the_rule_says(either: SparkSession, fleets: list[Clusters]) -> None:
    for fleet in fleets:
        agree(either, fleet)


@pytest.mark.long
def test_totals_are_those_of_the_answers(
    spark: SparkSession, fleets: list[Clusters], from_zookeeper: list[ViewAndFiles]
) -> None:
    session = for_few_rows(spark)
    others = [(view_of(case), case.files) for case in drawn(3, cluster_cases(), derandomize=True)]
    for fleet in (fleets[0], clusters_of([*from_zookeeper, *others])):
        totals_agree(session, fleet)


def totals_agree(session: SparkSession, fleet: Clusters) -> None:
    frames = decision_frames(session, fleet.tables)
    rows = decision_totals(looked_up(local_frame(session, fleet.rows, FILES), frames), frames, DAY_MS).collect()
    found, expected = Counter[Answer](), Counter[Answer]()
    for row in rows:
        if row["archived"]:
            found[row["cluster"], row["verdict"], row["reason"], row["hbase_verdict"]] += row["files"]
    for (cluster, _), (verdict, reason, hbase, *_rest) in fleet.answers.items():
        expected[cluster, verdict, reason, hbase] += 1
    assert found == expected


def one_by_one(cases: list[ClusterCase]) -> list[Clusters]:
    """Each cluster for a plan of its own, in which its scalars are literals: as it was drawn, or with a backup."""
    return [
        with_tables([case if number % 2 else with_backup(case, (None, NOW - DAY_MS, MAX_LONG)[number % 3])])
        for number, case in enumerate(cases)
    ]


def with_backup(case: ClusterCase, others: int | None) -> ClusterCase:
    """The cluster with a backup of every other server."""
    membership = case.snapshot.membership
    assert membership is not None
    addresses = sorted(server.address for server in membership.online | membership.crashing)[::2]
    snapshot = replace(case.snapshot, backup=Backup(True, dict.fromkeys(addresses, NOW - DAY_MS), others))
    return replace(case, snapshot=snapshot, settings=replace(case.settings, backup_enabled=None))


@pytest.fixture(scope="module")
def single_clusters() -> list[Clusters]:
    """A few drawn clusters, one by one."""
    return one_by_one(drawn(8, cluster_cases(min_files=10), derandomize=True))


@pytest.mark.long
def test_spark_says_what_the_rule_says_of_a_single_cluster(
    either: SparkSession, single_clusters: list[Clusters]
) -> None:
    for cluster in single_clusters:
        agree(either, cluster)


@pytest.mark.deep
def test_spark_says_what_the_rule_says_of_many_single_clusters(either: SparkSession, record_property: Say) -> None:
    record_property("seed", SEED)
    for cluster in one_by_one(drawn(120, MALFORMED, by=seed(SEED))):
        agree(either, cluster)


def test_the_last_timestamp_of_64_bits_is_not_past_the_last_stretch(either: SparkSession) -> None:
    """Found with garbage: it was looked up among the answers of the next group, which may free what is needed."""
    server = ServerName.parse("h1,16020,5")
    groups = [f"h1%2C16020%2C5.{name}" for name in ("a", "b", "c")]
    cells = [
        *(Cell(b"1-h1,16020,5", b"queue", group.encode(), b"x:0") for group in groups[:1]),
        *(Cell(b"1-h1,16020,5", b"queue", group.encode(), f"{group}.7:0".encode()) for group in groups[1:]),
        *(Cell(b"1-h2,16020,5/h1,16020,5", b"queue", group.encode(), f"{group}.9:0".encode()) for group in groups),
    ]
    alive = Membership(MASTER, frozenset({server}), frozenset())
    files = tuple(
        ArchivedFile(f"oldWALs/{group}.{timestamp}", 1, NOW - 30 * DAY_MS)
        for group in groups
        for timestamp in (0, 6, 7, 8, 9, MAX_LONG - 1, MAX_LONG)
    )
    snapshot = snapshot_of(("1",), alive, alive)
    case = ClusterCase(snapshot, files, (), tuple(cells), tuple(cells), ReconcileSettings())
    agree(either, with_tables([case]))


@pytest.mark.parametrize("clusters", [1, 2])
def test_a_backup_holds_its_wals_where_there_is_no_peer(either: SparkSession, clusters: int) -> None:
    """Also those of servers that it does not know: backups are asked for before peers are."""
    server = ServerName.parse("h1,16020,5")
    alive = Membership(MASTER, frozenset({server}), frozenset(), (WalDirectory(server, 1, NOW),))
    for others in (None, 6):
        snapshot = replace(snapshot_of((), alive, alive), backup=Backup(True, {"h1:16020": 6}, others))
        oldest_young = view_of(ClusterCase(snapshot, (), (), (), (), ReconcileSettings())).files_started
        oldest_young -= snapshot.retention.wal_ttl_ms
        files = tuple(
            ArchivedFile(f"oldWALs/{folder}{host}%2C16020%2C5.{name}", 1, modification_time)
            for folder, modification_time in (
                ("", NOW - 30 * DAY_MS),
                ("ttl/", oldest_young),
                ("old/", oldest_young - 1),
            )
            for host in ("h1", "h2")
            for name in ("6", "7", "6.meta", "7.meta", "g.6", "g.7")
        )
        case = ClusterCase(snapshot, files, (), (), (), ReconcileSettings())
        reasons = {file.path: decide(file, view_of(case)).reason for file in files}
        for path, reason in reasons.items():
            assert (reason is Reason.TOO_YOUNG) == ("/ttl/" in path), path
        assert set(reasons.values()) == {Reason.BACKUP, Reason.NO_PEERS, Reason.TOO_YOUNG}
        agree(either, with_tables([case] * clusters))


@pytest.fixture(scope="module")
def with_several_cells() -> list[ClusterCase]:
    """Drawn clusters with more than two cells in `hbase:replication`."""
    return [
        case
        for case in drawn(40, cluster_cases(min_files=5), derandomize=True)
        if len({*case.pass_1, *case.pass_2}) > 2
    ]


@pytest.mark.parametrize("clusters", [1, pytest.param(4, marks=pytest.mark.long)])
def test_groups_of_one_hash_are_told_apart_by_name(
    either: SparkSession, clusters: int, with_several_cells: list[ClusterCase], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DecisionFrames, "key", lambda _frames, _group: F.lit(0).cast("bigint"))
    agree(either, with_tables(with_several_cells[:clusters]))


@pytest.fixture(scope="module")
def from_zookeeper() -> list[ViewAndFiles]:
    """Drawn clusters whose queues are in ZooKeeper."""
    cases = drawn(examples(140), zookeeper_cases(), derandomize=True)
    return [(view_of_zookeeper(case), case.files) for case in cases]


@pytest.mark.promise("fast-form-equals-the-rule")
@pytest.mark.parametrize("tables", [pytest.param(0, marks=pytest.mark.long), 3])
def test_spark_says_what_the_rule_says_of_queues_in_zookeeper(
    either: SparkSession, tables: int, from_zookeeper: list[ViewAndFiles]
) -> None:
    """Alone, and in one fleet with clusters whose queues are in tables."""
    others = [(view_of(case), case.files) for case in drawn(3, cluster_cases(), derandomize=True)[:tables]]
    agree(either, clusters_of([*from_zookeeper, *others]))


@pytest.mark.slow("two plans, each over two clusters")
def test_a_wal_of_the_master_that_a_queue_lists_is_pending(either: SparkSession) -> None:
    """Without a queue, its name alone makes it deletable."""
    queued, other = (
        (f"pv2-{number:020d}.log", f"m%2C1%2C2.{number}$masterlocalwal$", f"m%2C1%2C2.{number}") for number in (7, 8)
    )
    queues = znodes({("m,1,2", "1"): dict.fromkeys(queued, b"")})
    files = tuple(ArchivedFile(f"oldWALs/{name}", 1, NOW - 30 * DAY_MS) for name in (*queued, *other))
    known = zookeeper_snapshot(("1",))
    for snapshot in (known, replace(known, backup=Backup(True, {"m:1": 9}, None))):
        view = view_of_zookeeper(ZooKeeperCase(snapshot, files, queues, queues, ReconcileSettings()))
        assert [decide(file, view).reason for file in files] == [
            *[Reason.PENDING] * 3,
            *(Reason.PROCEDURE_WAL, Reason.MASTER_LOCAL_WAL, Reason.NOT_QUEUED),
        ]
        young = [replace(file, modification_time=view.files_started) for file in files]
        assert {decide(file, view).reason for file in young} == {Reason.TOO_YOUNG}
        agree(either, clusters_of([(view, files), (view, young)]))


def test_what_is_archived_after_the_first_reading_began_may_have_been_in_a_queue(either: SparkSession) -> None:
    known = zookeeper_snapshot(("1",))
    snapshot = replace(known, retention=replace(known.retention, wal_ttl_ms=0))
    queues = znodes({("m,1,2", "1"): {"m%2C1%2C2.9": b""}})
    view = view_of_zookeeper(ZooKeeperCase(snapshot, (), queues, queues, ReconcileSettings()))
    start = view.files_started - 10
    view = replace(view, queued=replace(view.queued, read_from=start))
    files = tuple(ArchivedFile(f"oldWALs/m%2C1%2C2.{at}", 1, start + at - 2) for at in (1, 2, 3))
    reasons = [decide(file, view).reason for file in files]
    assert reasons == [Reason.NOT_QUEUED, Reason.QUEUE_READ_TOO_OLD, Reason.QUEUE_READ_TOO_OLD]
    agree(either, clusters_of([(view, files)]))


def test_names_that_only_look_like_those_of_wals(either: SparkSession) -> None:
    """Line ends, where Java's `.` stops; blanks, which a cast would trim; digits too few, or with zeros before them."""
    server = ServerName.parse("h1,16020,5")
    group = "h1%2C16020%2C5"
    odd = [
        *(f"{place.format(end)}.1700000000000" for end in LINE_ENDS for place in (f"{group}{{}}", f"{group}.a{{}}b")),
        *(f"{group}.{digits}{end}" for digits in ("1700000000000", "7") for end in (" ", "\t", *LINE_ENDS)),
        *(f"{group}.{digits}" for digits in ("999999999999 ", " 999999999999", "99999 9999999", "-999999999999")),
        *(f"{group}.{digits}" for digits in ("0999999999999", "0000000000007", "9999999999999", "999999999999", "")),
        *(f"{group}{tail}" for tail in ("1700000000000", ".1700000000000.", ".1700000000000.meta.meta", "..7")),
        *(f".{digits}" for digits in ("1700000000000", "7")),
        f"{group}.\u0661700000000000",
    ]
    alive = Membership(MASTER, frozenset({server}), frozenset())
    cells = (Cell(b"1-h1,16020,5", b"queue", group.encode(), f"{group}.1700000000000:0".encode()),)
    files = tuple(ArchivedFile(f"oldWALs/{name}", 1, NOW - 30 * DAY_MS) for name in dict.fromkeys(odd))
    case = ClusterCase(snapshot_of(("1",), alive, alive), files, (), cells, cells, ReconcileSettings())
    agree(either, with_tables([case]))


@pytest.mark.deep
def test_spark_says_what_the_rule_says_of_thousands_of_clusters(either: SparkSession, record_property: Say) -> None:
    today = seed(SEED)
    cases = drawn(3_000, MALFORMED, by=today) + drawn(1_000, generated_cases(), by=today)
    record_property("seed", SEED)
    record_property("clusters", len(cases))
    for start in range(0, len(cases), 150):
        agree(either, with_tables(cases[start : start + 150]))
