"""HBase's own test cases and recorded verdicts of its ReplicationLogCleaner, for the transcription and for our rule.

`ours` is the verdict of `decide` on the same state, so the reader sees where walsafe is stricter, and why.
"""

from dataclasses import dataclass, field

import pytest

from pipelines.decide.rule.cleaner_rule import hbase_verdict
from pipelines.decide.rule.cluster_view import ClusterView, merge_passes
from pipelines.decide.rule.table_queue_storage import TABLE
from pipelines.decide.rule.verdict import ArchivedFile, decide
from pipelines.hbase.replication_queues import Cell, parse_queue_cells
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.model import Retention

S = "h1.example.org,16020,1664092120094"
E = "h1.example.org%2C16020%2C1664092120094"
W = f"{E}.1664096778778"
LATER, EARLIER = f"{E}.1664096778999", f"{E}.1664096778000"
OTHER = "h2.example.org,16020,1664092120000"


@dataclass(frozen=True)
class State:
    """A cluster around S: alive or not, with peers and rows `(row key, group, value)`."""

    online: bool = False
    crashing: bool = False
    peers: tuple[str, ...] = ("1",)
    rows: tuple[tuple[str, str, str], ...] = ()
    changes: dict[str, object] = field(default_factory=dict)

    def view(self) -> ClusterView:
        """The view; files are an hour older than every TTL."""
        cells = [Cell(row.encode(), b"queue", group.encode(), value.encode()) for row, group, value in self.rows]
        server = frozenset({ServerName.parse(S)})
        nobody: frozenset[ServerName] = frozenset()
        online, crashing = server if self.online else nobody, server if self.crashing else nobody
        values: dict[str, object] = {
            "cluster": "c",
            "peer_ids": self.peers,
            "rows": merge_passes([parse_queue_cells(cells)] * 2),
            "online": online,
            "crashing": crashing,
            "wal_directories": nobody,
            "hbase_not_fully_dead": online | crashing,
            "files_started": 1_790_000_000_000,
            "files_finished": 1_790_000_001_000,
            "retention": Retention(600_000, 600_000, 600_000),
            "storage": TABLE,
            **self.changes,
        }
        return ClusterView(**values)  # type: ignore[arg-type]


def row(offset: str, peer: str = "1", owner: str = S, group: str = E) -> tuple[str, str, str]:
    return (f"{peer}-{owner}", group, offset)


def claimed(offset: str, group: str = E) -> tuple[str, str, str]:
    return (f"1-{OTHER}/{S}", group, offset)


LIVE, DEAD = True, False
CASES = [
    # facts 12.1, TestReplicationLogCleaner
    ("NoPeer", "wal.1664096778778", State(peers=()), "DELETE", "DELETABLE NO_PEERS"),
    ("NotValidWalFile", "whatever", State(), "DELETE", "HELD INVALID_NAME"),
    ("MetaWalFile", "wal.1664096778778.meta", State(), "DELETE", "DELETABLE META_WAL"),
    ("LiveRegionServerNoQueues", W, State(LIVE), "KEEP", "HELD QUEUE_MISSING"),
    ("LiveWithSCPNoQueues", W, State(crashing=True), "KEEP", "HELD QUEUE_MISSING"),
    ("DeadNoQueues", W, State(), "DELETE", "DELETABLE DEAD_NO_QUEUE"),
    ("LiveMissingQueue", W, State(LIVE, peers=("1", "2"), rows=(row(f"{W}:-1"),)), "KEEP", "HELD QUEUE_MISSING"),
    ("LiveShouldNotDelete", W, State(LIVE, rows=(row(f"{W}:0"),)), "KEEP", "HELD PENDING"),
    (
        "LiveShouldNotDeleteTwoPeers",
        W,
        State(LIVE, peers=("1", "2"), rows=(row(f"{W}:-1"), row(f"{W}:0", "2"))),
        "KEEP",
        "HELD PENDING",
    ),
    ("LiveShouldDelete", W, State(LIVE, rows=(row(f"{W}:-1"),)), "DELETE", "DELETABLE REPLICATED"),
    (
        "LiveShouldDeleteTwoPeers",
        W,
        State(LIVE, peers=("1", "2"), rows=(row(f"{W}:-1"), row(f"{W}:-1", "2"))),
        "DELETE",
        "DELETABLE REPLICATED",
    ),
    ("DeadMissingQueue", W, State(peers=("1", "2"), rows=(row(f"{W}:-1"),)), "DELETE", "DELETABLE REPLICATED"),
    ("DeadShouldNotDelete", W, State(rows=(row(f"{W}:0"),)), "KEEP", "HELD PENDING"),
    (
        "DeadShouldNotDeleteTwoPeers",
        W,
        State(peers=("1", "2"), rows=(row(f"{W}:-1"), row(f"{W}:0", "2"))),
        "KEEP",
        "HELD PENDING",
    ),
    ("DeadShouldDelete", W, State(rows=(row(f"{W}:-1"),)), "DELETE", "DELETABLE REPLICATED"),
    # facts appendix A, recorded answers of the real class
    ("a table absent", W, State(LIVE, peers=(), changes={"queue_table_absent": True}), "DELETE", "DELETABLE NO_PEERS"),
    (
        "b barrier disabled",
        W,
        State(LIVE, rows=(row(f"{W}:-1"),), changes={"hbase_keeps_all": True, "add_peer_running": True}),
        "KEEP",
        "HELD ADD_PEER_RUNNING",
    ),
    ("3", W, State(LIVE, rows=(row(f"{W}:443"),)), "KEEP", "HELD PENDING"),
    ("4 offset in a later file", W, State(LIVE, rows=(row(f"{LATER}:0"),)), "DELETE", "DELETABLE REPLICATED"),
    ("5 -1 in an earlier file", W, State(LIVE, rows=(row(f"{EARLIER}:-1"),)), "KEEP", "HELD PENDING"),
    ("7", W, State(LIVE, peers=("1", "2"), rows=(row(f"{W}:-1"),)), "KEEP", "HELD QUEUE_MISSING"),
    ("8 another group", W, State(LIVE, rows=(row(f"{W}:-1", group=f"{E}.x"),)), "KEEP", "HELD QUEUE_MISSING"),
    ("9 placeholder", W, State(LIVE, rows=(row(":0", group=S),)), "KEEP", "HELD QUEUE_MISSING"),
    ("10 BEGIN", W, State(LIVE, rows=(row(":0"),)), "KEEP", "HELD PENDING"),
    ("11 meta", f"{E}.meta.1664096778778.meta", State(LIVE), "DELETE", "DELETABLE META_WAL"),
    (
        "12 .rep, live",
        f"{E}.rep.1664096778778",
        State(LIVE, rows=(row(f"{W}:-1"),)),
        "KEEP",
        "HELD REPLICATION_TABLE_WAL",
    ),
    ("13 .rep, dead, no row", f"{E}.rep.1664096778778", State(), "DELETE", "DELETABLE DEAD_NO_QUEUE"),
    ("14 .rep, claimed", f"{E}.rep.1664096778778", State(rows=(claimed(f"{W}:-1"),)), "KEEP", "HELD PENDING"),
    ("17", W, State(rows=(claimed(f"{LATER}:0"),)), "DELETE", "DELETABLE REPLICATED"),
    ("18", W, State(rows=(claimed(f"{W}:0"),)), "KEEP", "HELD PENDING"),
    ("20 dead, unclaimed", W, State(rows=(row(f"{W}:5"),)), "KEEP", "HELD PENDING"),
    ("21 removed peer, dead", W, State(rows=(row(f"{W}:0", "9"),)), "DELETE", "DELETABLE DEAD_NO_QUEUE"),
    ("22 removed peer, live", W, State(LIVE, rows=(row(f"{W}:-1", "9"),)), "KEEP", "HELD QUEUE_MISSING"),
    ("23 no peers, pending row", W, State(LIVE, peers=(), rows=(row(f"{W}:0"),)), "DELETE", "DELETABLE NO_PEERS"),
    (
        "24 two rows of one source: the smaller counts",
        W,
        State(rows=(row(f"{W}:-1"), claimed(f"{W}:0"))),
        "KEEP",
        "HELD PENDING",
    ),
    (
        "25 syncrep, group missing",
        f"{E}-1664096770000-1.1664096778778.syncrep",
        State(LIVE, rows=(row(f"{W}:-1"),)),
        "KEEP",
        "HELD QUEUE_MISSING",
    ),
    (
        "26 syncrep",
        f"{E}-1664096770000-1.1664096778778.syncrep",
        State(
            LIVE,
            rows=(row(f"{E}-1664096770000-1.1664096778778.syncrep:-1", group=f"{E}-1664096770000-1"),),
        ),
        "DELETE",
        "DELETABLE REPLICATED",
    ),
    ("28 master local", f"{W}$masterlocalwal$", State(LIVE), "DELETE", "DELETABLE MASTER_LOCAL_WAL"),
    ("29 procedure", "pv2-00000000000000000001.log", State(LIVE), "DELETE", "DELETABLE PROCEDURE_WAL"),
    ("31", "wal.123", State(LIVE), "THROWS", "HELD POISON_NAME"),
    ("32", "10.20.20.171%3A60020.1277499063250", State(LIVE), "THROWS", "HELD POISON_NAME"),
    ("33 .copy", f"{W}.copy", State(LIVE, rows=(row(f"{W}:-1"),)), "DELETE", "DELETABLE REPLICATED"),
    ("34 .1, live", f"{W}.1", State(LIVE, rows=(row(f"{W}:-1"),)), "KEEP", "HELD QUEUE_MISSING"),
    ("35 .1, dead", f"{W}.1", State(rows=(row(f"{W}:-1"),)), "KEEP", "HELD PENDING"),
    (
        "36 overflow, offset to compare",
        f"{E}.99999999999999999999",
        State(LIVE, rows=(row(f"{W}:-1"),)),
        "THROWS",
        "HELD POISON_NAME",
    ),
    ("36 overflow, dead, no row", f"{E}.99999999999999999999", State(), "DELETE", "HELD POISON_NAME"),
    ("36 overflow, live, no row", f"{E}.99999999999999999999", State(LIVE), "KEEP", "HELD POISON_NAME"),
    ("37 unknown server", "x%2C1%2C2.3", State(LIVE, rows=(row(f"{W}:-1"),)), "DELETE", "DELETABLE DEAD_NO_QUEUE"),
    (
        "38 another case",
        W.replace("h1", "H1"),
        State(LIVE, rows=(row(f"{W}:-1"),)),
        "KEEP",
        "HELD QUEUE_MISSING",
    ),
]


@pytest.mark.promise(
    "rule-asks-every-row",
    "either-pass-counts",
    "need-of-any-row-holds",
    "missing-row-proves-only-of-the-dead",
    "smaller-need-counts",
    "names-compare-as-in-hbase",
    "answers-hbases-own-cases",
)
@pytest.mark.parametrize(("name", "file", "state", "hbase", "ours"), CASES, ids=[case[0] for case in CASES])
def test_verdicts(name: str, file: str, state: State, hbase: str, ours: str) -> None:
    view = state.view()
    assert hbase_verdict(file, view).value == hbase, name
    decision = decide(ArchivedFile(f"oldWALs/{file}", 1, view.files_started - 3_600_000), view)
    assert f"{decision.verdict.value} {decision.reason.value}" == ours


@pytest.mark.promise("answers-hbases-own-cases")
def test_logs_cleaner_run() -> None:
    """TestLogsCleaner (facts 12.3): TTL 2,000 ms, procedure WALs 4,000 ms; 35 + 10 files, 6 + 5 left by HBase."""
    now = 1_790_000_000_000
    newest = now - 3
    state = State(LIVE, rows=(row(f"{E}.{newest}:0"),), changes={"retention": Retention(2_000, 4_000, 4_000)})
    view = state.view()
    old, young = now - 5_000, now - 500

    def left(path: str, modified: int) -> bool:
        return decide(ArchivedFile(path, 1, modified), view).verdict.value == "HELD"

    archived = [(f"oldWALs/{E}.{now - age}", old) for age in range(1, 31)]
    assert sum(left(path, modified) for path, modified in archived) == 3
    assert left(f"oldWALs/{E}.{now}", young)
    assert left(f"oldWALs/{E}.{now + 2_000}", now + 2_000)
    procedures = [(f"oldWALs/masterProcedureWALs/pv2-{number:020d}.log", old) for number in range(5)]
    procedures += [(f"oldWALs/masterProcedureWALs/pv2-{number:020d}.log", young) for number in range(5, 10)]
    assert sum(left(path, modified) for path, modified in procedures) == 5
    # HBase deletes these two at once; walsafe reports them and never lists them
    assert all(left(f"oldWALs/{name}", old) for name in ("a", f"{E}.a"))
