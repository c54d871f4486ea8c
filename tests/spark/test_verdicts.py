"""The Spark form gives the answers of the specification, field by field, over generated clusters with all the traps."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from hypothesis import seed
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipelines.common.instants import DAY_MS, NO_INSTANT
from pipelines.common.spark.few_rows import for_few_rows
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.verdict import ArchivedFile, Reason, decide
from pipelines.decide.spark.lookup import DecisionFrames
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.server_names import MAX_LONG, ServerName
from pipelines.snapshot.model import Backup, Membership, WalDirectory
from tests.labs.cluster.oracle import queue_cell
from tests.labs.deep_seeds import SEED, Say
from tests.labs.spark.rule_answers import Clusters, ViewAndFiles, agree, clusters_of, drawn, totals_agree
from tests.strategies import ClusterCase, cluster_cases, generated_cases, view_of
from tests.strategies.clusters import MASTER, NOW, snapshot_of
from tests.suite.sizes import examples

MALFORMED = cluster_cases(min_files=10, malformed=True, control_characters=True)
HERE = ServerName.parse("h1,16020,5")
THERE = ServerName.parse("h2,16020,5")
GROUP, GROUP_THERE = "h1%2C16020%2C5", "h2%2C16020%2C5"
QUEUE_HERE = [queue_cell("1-h1,16020,5", GROUP, f"{GROUP}.1700000000000", 0)]
OTHERS = (None, 6)
LINE_ENDS = ("\n", "\r", "\x85", "\u2028", "\u2029")


def with_tables(cases: Iterable[ClusterCase]) -> Clusters:
    """Clusters whose queues are in `hbase:replication`."""
    return clusters_of(map(view_and_files, cases))


def view_and_files(case: ClusterCase) -> ViewAndFiles:
    return view_of(case), case.files


def trusted(names: Iterable[str], cells: Iterable[Cell], servers: Iterable[ServerName] = (HERE,)) -> ClusterCase:
    """A cluster that can be trusted, with one peer; its servers are online, and its files are old enough."""
    directories = tuple(WalDirectory(server, 1, NOW) for server in servers)
    alive = Membership(MASTER, frozenset(one.server for one in directories), frozenset(), directories)
    files = tuple(ArchivedFile(f"oldWALs/{name}", 1, NOW - 30 * DAY_MS) for name in names)
    case = ClusterCase(snapshot_of(("1",), alive, alive), files, (), *[tuple(cells)] * 2, ReconcileSettings())
    assert view_of(case).untrusted is None
    return case


def answered(case: ClusterCase, reasons: Sequence[Reason]) -> ClusterCase:
    """Returns the cluster, after checking the rule's answer for each of its files."""
    assert [decide(file, view_of(case)).reason for file in case.files] == reasons
    return case


@pytest.fixture(scope="session")
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
def test_totals_are_those_of_the_answers(spark: SparkSession, fleets: list[Clusters]) -> None:
    totals_agree(for_few_rows(spark), fleets[0])


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


@pytest.fixture(scope="session")
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


def a_backup_without_a_peer(others: int | None) -> ClusterCase:
    """A backup holds its WALs also where there is no peer: it is asked for first.

    Args:
        others: the boundary of the servers that it does not name, ms; None = it may need all of their WALs.
    """
    alive = Membership(MASTER, frozenset({HERE}), frozenset(), (WalDirectory(HERE, 1, NOW),))
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
    return case


def test_a_backup_holds_its_wals_where_there_is_no_peer(either: SparkSession) -> None:
    for others in OTHERS:
        agree(either, with_tables([a_backup_without_a_peer(others)]))


@pytest.fixture(scope="session")
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


# clusters made by hand


def test_two_clusters_may_have_groups_of_one_name(spark: SparkSession) -> None:
    """And one of them may still need what the other has shipped."""
    names, behind = [f"{GROUP}.1600000000000"], queue_cell("1-h1,16020,5", GROUP, f"{GROUP}.1500000000000", 0)
    shipped = answered(trusted(names, QUEUE_HERE), [Reason.REPLICATED])
    agree(spark, with_tables([shipped, answered(trusted(names, [behind]), [Reason.PENDING])]))


def the_last_timestamp_of_64_bits() -> ClusterCase:
    """Found with garbage: it was looked up among the answers of the next group, which may free what is needed."""
    groups = [f"{GROUP}.{name}" for name in ("a", "b", "c")]
    cells = [
        *(queue_cell("1-h1,16020,5", group, "x", 0) for group in groups[:1]),
        *(queue_cell("1-h1,16020,5", group, f"{group}.7", 0) for group in groups[1:]),
        *(queue_cell("1-h2,16020,5/h1,16020,5", group, f"{group}.9", 0) for group in groups),
    ]
    timestamps = (0, 6, 7, 8, 9, MAX_LONG - 1, MAX_LONG)
    return trusted([f"{group}.{timestamp}" for group in groups for timestamp in timestamps], cells)


def names_that_only_look_like_those_of_wals() -> ClusterCase:
    """Line ends, where Java's `.` stops; blanks, which a cast would trim; digits too few, or with zeros before them."""
    odd = [
        *(f"{place.format(end)}.1700000000000" for end in LINE_ENDS for place in (f"{GROUP}{{}}", f"{GROUP}.a{{}}b")),
        *(f"{GROUP}.{digits}{end}" for digits in ("1700000000000", "7") for end in (" ", "\t", *LINE_ENDS)),
        *(f"{GROUP}.{digits}" for digits in ("999999999999 ", " 999999999999", "99999 9999999", "-999999999999")),
        *(f"{GROUP}.{digits}" for digits in ("0999999999999", "0000000000007", "9999999999999", "999999999999", "")),
        *(f"{GROUP}{tail}" for tail in ("1700000000000", ".1700000000000.", ".1700000000000.meta.meta", "..7")),
        *(f".{digits}" for digits in ("1700000000000", "7")),
        f"{GROUP}.\u0661700000000000",
    ]
    return trusted(dict.fromkeys(odd), QUEUE_HERE)


def servers_at_the_edge_of_what_hbase_reads() -> ClusterCase:
    """Ports and start codes that are too large, zeros before them, hosts and escapes that no writer makes."""
    servers = [
        *(f"h1%2C{port}%2C5" for port in ("0", "65535", "65536", "99999999999", "016020", "-1")),
        *(f"h1%2C16020%2C{code}" for code in (MAX_LONG, MAX_LONG + 1, "05", "")),
        *(f"h1%2C16020%2C5{tail}" for tail in ("%zz", "%+1", "%", "%2", "%2F", "+", "%E9", "%00")),
        *(f"{host}%2C16020%2C5" for host in ("%48%31", "H1", "h_1", "%5B::1%5D", "::1", "h1:2", "", "h%C3%A9")),
    ]
    return trusted([f"{server}.170000000000{digit}" for server in servers for digit in "12"], QUEUE_HERE)


def a_group_with_a_slash() -> ClusterCase:
    """A queue row may name one, and a path below oldWALs may contain it; a file's group is what follows the slash."""
    cells = [
        queue_cell("1-h1,16020,5", f"{GROUP}/x", f"{GROUP}/x.1700000000009", 0),
        queue_cell("1-h2,16020,5", GROUP_THERE, f"{GROUP_THERE}.1700000000009", 0),
    ]
    case = trusted([f"{name}.1700000000001" for name in (f"{GROUP}/x", f"{GROUP_THERE}/x", GROUP)], cells)
    return answered(case, [Reason.POISON_NAME, Reason.POISON_NAME, Reason.QUEUE_MISSING])


def groups_of_the_replication_table_and_others() -> ClusterCase:
    """The server may be written in upper case. No group here has a queue row."""
    upper = "H1%2C16020%2C5"
    real = [f"{one}{tail}" for one in (GROUP, upper) for tail in (".rep", f".{one}.rep.", f".{one}.rep.x")]
    others = [f"{GROUP}.{tail}" for tail in ("rep.x", "repx", f"{GROUP}.rep", f"{GROUP}.repx", f"{upper}.rep.x")]
    others += ["h1,16020,5.abc.rep", "h1,16020,5.rep"]
    case = trusted([f"{group}.1700000000000" for group in (*real, *others)], QUEUE_HERE)
    return answered(case, [Reason.REPLICATION_TABLE_WAL] * len(real) + [Reason.QUEUE_MISSING] * len(others))


def groups_of_the_replication_table_at_another_server() -> ClusterCase:
    """A server may have no row of a group that another server has."""
    groups = [f"{GROUP}.rep", f"{GROUP}.{GROUP}.rep.x", f"{GROUP}.a"]
    cells = [queue_cell("1-h1,16020,5", group, f"{group}.1700000000009", 0) for group in groups]
    cells.append(queue_cell("1-h2,16020,5", GROUP_THERE, f"{GROUP_THERE}.1700000000009", 0))
    names = [f"{group.replace(GROUP, GROUP_THERE)}.1700000000001" for group in groups]
    case = trusted(names, cells, (HERE, THERE))
    return answered(case, [Reason.REPLICATION_TABLE_WAL, Reason.REPLICATION_TABLE_WAL, Reason.QUEUE_MISSING])


def a_group_that_names_its_server_in_two_spellings() -> ClusterCase:
    """The form of this group at h2 still names h1 as its server: such a file gets the answer of h1."""
    first = "H1%2C16020%2C5"
    group = f"{first}.{GROUP}.a"
    cells = [queue_cell("1-h1,16020,5", group, f"{group}.1700000000009", 0)]
    return trusted([f"{group}.1700000000001", f"{first}.{GROUP_THERE}.a.1700000000001"], cells, (HERE, THERE))


def a_server_that_nothing_names() -> ViewAndFiles:
    """It is the source of its only holder, in a cluster that did not rest."""
    case = trusted([f"h{number}%2C1%2C2.7" for number in (8, 9)], [queue_cell("1-h1,16020,5", GROUP, f"{GROUP}.7", 0)])
    view = replace(view_of(case), restless="a server came")
    holders = [decide(file, view).blocking for file in case.files]
    assert [[str(holder.source) for holder in of_file] for of_file in holders] == [["h8,1,2"], ["h9,1,2"]]
    return view, case.files


def times_to_live_longer_than_any_age() -> ClusterCase:
    """HBase accepts 64 bits, for "never by its age"; that of a procedure WAL ends with the year 2999, to the ms."""
    case = trusted(
        [f"{GROUP}.1700000000000", "pv2-00000000000000000001.log", "m1%2C1%2C1.1700000000000$masterlocalwal$"],
        QUEUE_HERE,
    )
    kept = replace(
        case.snapshot.retention,
        wal_ttl_ms=MAX_LONG,
        procedure_wal_ttl_ms=NO_INSTANT - 2,
        master_local_wal_ttl_ms=500 * 365 * DAY_MS,
    )
    files = tuple(
        replace(file, path=f"{folder}{file.name}", modification_time=at)
        for folder, at in (("oldWALs/", 1), ("oldWALs/now/", NOW + 50))
        for file in case.files
    )
    return answered(replace(case, files=files, snapshot=replace(case.snapshot, retention=kept)), [Reason.TOO_YOUNG] * 6)


BY_HAND = (
    the_last_timestamp_of_64_bits,
    names_that_only_look_like_those_of_wals,
    servers_at_the_edge_of_what_hbase_reads,
    a_group_with_a_slash,
    groups_of_the_replication_table_and_others,
    groups_of_the_replication_table_at_another_server,
    a_group_that_names_its_server_in_two_spellings,
    times_to_live_longer_than_any_age,
)


def made_by_hand() -> list[ViewAndFiles]:
    return [*(view_and_files(make()) for make in BY_HAND), a_server_that_nothing_names()]


@pytest.mark.parametrize("backup", [False, True])
def test_spark_says_what_the_rule_says_of_clusters_made_by_hand(either: SparkSession, *, backup: bool) -> None:
    """All in one plan, since a plan takes longer than its files; with a backup in one cluster, the plan is another."""
    clusters = made_by_hand()
    if backup:
        clusters += [view_and_files(a_backup_without_a_peer(others)) for others in OTHERS]
    agree(either, clusters_of(clusters))


@pytest.mark.long
def test_spark_says_what_the_rule_says_of_each_cluster_made_by_hand(spark: SparkSession) -> None:
    """Of a single cluster the scalars are literals."""
    for one in made_by_hand():
        agree(for_few_rows(spark), clusters_of([one]))


@pytest.mark.deep
def test_spark_says_what_the_rule_says_of_thousands_of_clusters(either: SparkSession, record_property: Say) -> None:
    today = seed(SEED)
    cases = drawn(3_000, MALFORMED, by=today) + drawn(1_000, generated_cases(), by=today)
    record_property("seed", SEED)
    record_property("clusters", len(cases))
    for start in range(0, len(cases), 150):
        agree(either, with_tables(cases[start : start + 150]))
