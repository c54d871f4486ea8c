"""Hypothesis strategies: small clusters full of the traps of HBase's names, rows, offsets and times.

`cluster_cases()` draws one consistent `ClusterCase`. Files are biased to hit the groups of the queue rows, one
millisecond before, at and after an offset's WAL, and the edges of every time to live; the pools of servers, peers and
groups are small, so that rows, files and memberships meet.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from pipelines.domain.capture_order import CAPTURE_ORDER
from pipelines.domain.replication_queues import QUEUE_FAMILY, Cell
from pipelines.domain.server_names import MAX_LONG, ServerName
from pipelines.domain.settings import DAY_MS, Release, Settings
from pipelines.domain.snapshot import (
    Backup,
    Flags,
    Membership,
    Peer,
    Retention,
    Snapshot,
    Step,
    WalDirectory,
)
from pipelines.domain.verdict import ArchivedFile
from pipelines.domain.wal_names import encode_prefix

NOW = 1_790_000_000_000
"""Start of step `files`, ms; the other steps follow, 100 ms each."""
STEP_MS = 100
TIMESTAMP = 1_664_096_778_778
RETENTION = Retention(wal_ttl_ms=600_000, procedure_wal_ttl_ms=7 * DAY_MS, master_local_wal_ttl_ms=6 * DAY_MS)
DEFAULT_PLUGINS = (
    "org.apache.hadoop.hbase.master.cleaner.TimeToLiveLogCleaner",
    "org.apache.hadoop.hbase.master.cleaner.TimeToLiveProcedureWALCleaner",
    "org.apache.hadoop.hbase.master.cleaner.TimeToLiveMasterLocalStoreWALCleaner",
)
SERVERS = tuple(
    ServerName.parse(text)
    for text in (
        "h1.example.org,16020,1664092120094",
        "h1.example.org,16020,16640921200941",  # a startcode that begins with another one
        "h1.example.org,1602,1664092120094",
        "h1.example.org,16020,1664092999999",  # the same address, a later life
        "ip-10-0-0-1.ec2.internal,16020,5",
        "2001:db8::1,16020,5",
        "rep,16020,166",
        "a b,1,2",  # a host that URL-encodes to "a+b"
        "h1,0,0",
    )
)
MASTER = "m1,16000,1664092000000"
PEER_IDS = ("1", "2", "10", "peer_0", "1x")
REMOVED_PEER_IDS = ("9", "")
TIMESTAMPS = (0, 1, 5, 999_999_999_999, TIMESTAMP - 1, TIMESTAMP, TIMESTAMP + 1, 10_000_000_000_000, MAX_LONG)
OFFSETS = (-1, 0, 443, -7, MAX_LONG)
GOOD_SUFFIXES = ("", "", ".syncrep", ".copy")
NAME_SUFFIXES = (".meta", ".1", ".1664096778778", ".syncrep.ren", ".a.b", ".", " ")
ODD_NAMES = (
    # valid names in which HBase finds no server, or which it cannot parse
    "wal.1234567890123",
    "10.20.20.171%3A60020.1277499063250",
    "1.1.1.1,60020.1234",
    "hbase:meta.12",
    "h1%ZZ.123",
    "h1%2C16020%2C166%.1664096778778",
    "h1%2C16020%2C166%2.1664096778778",
    "h1%2C99999%2C5.1664096778778",
    "h1%2C16020%2C99999999999999999999.1664096778778",
    "h%C3%A91%2C16020%2C5.1664096778778",
    "%2C16020%2C5.1664096778778",
    "h1%2C16020%2C.1664096778778",
    "+%2C1%2C2.3",
    "h1%00%2C16020%2C5.1664096778778",
    "%FF%2C16020%2C5.1664096778778",
    # not WALs: HBase deletes these, or has another cleaner for them
    "whatever",
    "0000000000000016310",
    ".123",
    "x.\u0661\u0662",
    "x\u2028.123",
    "\U0001f600.12",
    "\ufb00.12",
    "h1%2C16020%2C166. 1664096778778",
    "h1%2C16020%2C166.-5",
    "h1%2C16020%2C166.+1664096778778",
    "h1%2C16020%2C166.1664096778778$masterlocalwal$",
    "h1%2C16000%2C1664092120094.1664096778778.$masterlocalwal$",
    "$masterlocalwal$",
    "pv2-00000000000000000001.log",
    "h1-pv2-00000000000000000001.log",
    "pv2-00000000000000000001xlog",
    "pv2-1.log",
    "pv2-00000000000000000001.log.5",
    # ends like a pv2 or master-local file, yet is a WAL
    "h1%2C0%2C0.pv2-00000000000000000001.1664096778778",
    "a%2Bb%2C1%2C2.3",
    "hbase.meta.1.meta",
    "wal.99999999999999999999.meta",
)
CONTROL_CHARACTER_NAMES = ("x\n.123", "x.123\n", "x\r.123", "x\x85.123", "x\t.123", "x\x00.123", "x\x7f.123")
MALFORMED_CELLS = (
    Cell(b"1", QUEUE_FAMILY, b"g", b"g.1:0"),
    Cell(b"1-", QUEUE_FAMILY, b"g", b"g.1:0"),
    Cell(b"1-h1", QUEUE_FAMILY, b"g", b"g.1:0"),
    Cell(b"1-h1,16020,5/", QUEUE_FAMILY, b"g", b"g.1:0"),
    Cell(b"1-h1,16020,5-h2,16020,6", QUEUE_FAMILY, b"g", b"g.1:0"),
    Cell(b"1-h1,16020,5\th2,16020,6", QUEUE_FAMILY, b"g", b"g.1:0"),
    Cell(b"1-h1,16020,5/h2,16020,6/h3,16020,7", QUEUE_FAMILY, b"g", b"g.1:0"),
    Cell(b"1-h1,16020,5", QUEUE_FAMILY, b"g", b"g.1"),
    Cell(b"1-h1,16020,5", QUEUE_FAMILY, b"g", b""),
    Cell(b"1-h1,16020,5", QUEUE_FAMILY, b"g", b"g.1:"),
    Cell(b"1-h1,16020,5", QUEUE_FAMILY, b"g", b"g.1:1x"),
    Cell(b"1-h1,16020,5", QUEUE_FAMILY, b"g", b"g.99999999999999999999:0"),
    Cell(b"1-h1,16020,5", QUEUE_FAMILY, b"g", b"g.1:9223372036854775808"),
    Cell(b"1-\xff,16020,5", QUEUE_FAMILY, b"g", b"g.1:0"),
)
OTHER_FAMILIES = (
    Cell(b"1", b"sid", b"d41d8cd98f00b204e9800998ecf8427e", bytes.fromhex("0000000000000384")),
    Cell(b"1", b"hfileref", b"testHFile1", b""),
)


@dataclass(frozen=True)
class ClusterCase:
    """One generated cluster: everything that `reconcile` reads.

    Attributes:
        snapshot: without `contents`, which the writer of a snapshot directory computes.
        files: under oldWALs; paths are distinct.
        live_files: under WALs/ and remoteWALs/; never decided.
        pass_1: cells of queues-1 in scan order, all families.
        pass_2: cells of queues-2.
        settings: with opt-ins.
    """

    snapshot: Snapshot
    files: tuple[ArchivedFile, ...]
    live_files: tuple[ArchivedFile, ...]
    pass_1: tuple[Cell, ...]
    pass_2: tuple[Cell, ...]
    settings: Settings

    @property
    def all_files(self) -> tuple[ArchivedFile, ...]:
        """What step `files` saw."""
        return self.files + self.live_files


def encodings(server: ServerName) -> tuple[str, ...]:
    """How a server may stand at the start of a file name: HBase's own form first, then what decodes to the same."""
    standard = encode_prefix(str(server))
    host, port, startcode = encode_prefix(server.host), server.port, server.startcode
    return (
        standard,
        standard,
        standard,
        standard.upper() if "%" not in host else standard,
        f"{host.upper() if '%' not in host else host}%2C{port}%2C{startcode}",
        standard.replace("%2C", "%2c"),
        standard.replace("%2C", ","),
        f"{host}%2C0{port}%2C{startcode}",
        f"{host}%2C{port}%2C00{startcode}",
        f"%{ord(server.host[0]):02X}{encode_prefix(server.host[1:])}%2C{port}%2C{startcode}",
    )


def groups_of(encoded: str) -> tuple[str, ...]:
    """The WAL groups of one server: every provider, and what only looks like one."""
    return (
        encoded,
        encoded,
        encoded,
        f"{encoded}.{encoded}.regiongroup-0",
        f"{encoded}.{encoded}.regiongroup-1",
        f"{encoded}.{encoded}.default",
        f"{encoded}.{encoded}.rep",  # a user namespace called rep: tracked
        f"{encoded}.rep",
        f"{encoded}.{encoded}.rep.regiongroup-0",
        f"{encoded}.{encoded}.rep.default",
        f"{encoded}.{encoded.upper()}.rep.regiongroup-0",
        f"{encoded}.REP",
        f"{encoded}.x.rep",
        f"{encoded}.meta",
        f"{encoded}.d41d8cd98f00b204e9800998ecf8427e",
        f"{encoded}-1664096770000-1",
        f"{encoded}-1664096770001-1",
        f"{encoded}.default",
        f"{encoded}.null.default",
        f"{encoded}.{TIMESTAMP}",  # the timestamp is the extra suffix of `<name>.<ts>.1`
        f"{encoded}1",  # a digit more: another startcode
        f"{encoded}\u00e9\U0001f600",
    )


server_names = st.sampled_from(SERVERS)


@st.composite
def group_names(draw: st.DrawFn, servers: st.SearchStrategy[ServerName] = server_names) -> str:
    """A WAL group, still URL-encoded."""
    return draw(st.sampled_from(groups_of(draw(st.sampled_from(encodings(draw(servers)))))))


@st.composite
def timestamp_texts(draw: st.DrawFn, anchor: int | None = None) -> str:
    """Digits of a timestamp: around `anchor`, with leading zeros, at and over the limits of 64 bits."""
    if anchor is None:
        value = draw(st.sampled_from(TIMESTAMPS))
    else:
        value = min(max(anchor + draw(st.sampled_from((-1, 0, 0, 1))), 0), MAX_LONG + 1)
    shape = draw(st.integers(0, 11))
    if shape == 0:
        return f"{value:020d}"
    if shape == 1:
        return f"00{value}"
    return str(draw(st.sampled_from((MAX_LONG + 1, 10**20)))) if shape == 2 and anchor is None else str(value)


@st.composite
def wal_file_names(
    draw: st.DrawFn,
    anchors: Sequence[tuple[str, int]] = (),
    servers: st.SearchStrategy[ServerName] = server_names,
    control_characters: bool = False,
) -> str:
    """A file name of oldWALs: mostly WALs of the anchors' groups, each trap now and then.

    Args:
        anchors: (group, timestamp) pairs to come close to.
        servers: whose groups to draw elsewhere.
        control_characters: names with line ends and other control characters too.
    """
    odd = ODD_NAMES + (CONTROL_CHARACTER_NAMES if control_characters else ())
    kind = draw(st.integers(0, 11))
    if kind == 11:
        return draw(st.sampled_from(odd))
    if anchors and kind <= 8:
        group, near = draw(st.sampled_from(tuple(anchors)))
        digits = draw(timestamp_texts(near))
    else:
        group, digits = draw(group_names(servers)), draw(timestamp_texts())
    return f"{group}.{digits}{draw(st.sampled_from(GOOD_SUFFIXES if draw(st.integers(0, 7)) else NAME_SUFFIXES))}"


@st.composite
def modification_times(draw: st.DrawFn, retention: Retention = RETENTION) -> int:
    """Ms, mostly old enough; else within a millisecond of a TTL edge, of now, or of the end of step `files`."""
    if draw(st.integers(0, 3)) > 0:
        return NOW - 30 * DAY_MS
    edges = (
        NOW - retention.wal_ttl_ms,
        NOW - retention.procedure_wal_ttl_ms,
        NOW - retention.master_local_wal_ttl_ms,
        NOW,
        NOW + STEP_MS,
        NOW + DAY_MS,
        1,
    )
    return draw(st.sampled_from(edges)) + draw(st.sampled_from((-1, 0, 1)))


def _row_key(peer_id: str, owner: ServerName, source: ServerName | None) -> str:
    return f"{peer_id}-{owner}" + (f"/{source}" if source else "")


@st.composite
def queue_rows(
    draw: st.DrawFn, peer_ids: Sequence[str], servers: Sequence[ServerName]
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """One row key of `hbase:replication` with its (qualifier, value) pairs, parsable by HBase."""
    some_server = st.sampled_from(tuple(servers))
    owner = draw(some_server)
    source = draw(st.one_of(st.none(), some_server))
    wals_of = source or owner
    cells: dict[str, str] = {}
    for _ in range(draw(st.integers(1, 3))):
        shape = draw(st.integers(0, 11))
        if shape == 0:
            cells[str(wals_of)] = ":0"  # the placeholder: the raw server name
            continue
        theirs = shape == 1
        group = draw(group_names(some_server if theirs else st.just(wals_of)))
        digits = draw(st.sampled_from(TIMESTAMPS))
        suffix = draw(st.sampled_from(("", "", "", "", ".syncrep", ".copy")))
        wal = f"{group}.{digits}{suffix}" if shape > 3 else draw(st.sampled_from((f"{group}.{digits}", "", "x", "x.7")))
        cells[group] = f"{wal}:{draw(st.sampled_from(OFFSETS))}"
    return _row_key(draw(st.sampled_from(tuple(peer_ids))), owner, source), tuple(cells.items())


Rows = dict[str, dict[str, str]]


@st.composite
def both_passes(draw: st.DrawFn, peer_ids: Sequence[str], servers: Sequence[ServerName]) -> tuple[Rows, Rows]:
    """The rows of both passes: the second is the first after claims, progress, rows that came and went."""
    first: Rows = {}
    for key, cells in draw(st.lists(queue_rows(peer_ids, servers), min_size=2, max_size=8)):
        first.setdefault(key, {}).update(cells)
    second = {key: dict(cells) for key, cells in first.items()}
    if draw(st.integers(0, 3)) < 3:
        return first, second
    for key in sorted(first):
        change = draw(st.integers(0, 6))
        if change == 0:
            del second[key]
        elif change == 1:
            peer_id, _, rest = key.partition("-")
            owner, _, source = rest.partition("/")
            claimed = f"{peer_id}-{draw(st.sampled_from(tuple(servers)))}/{source or owner}"
            second.setdefault(claimed, {}).update(second.pop(key))
        elif change == 2:
            group = draw(st.sampled_from(sorted(second[key])))
            second[key][group] = f"{group}.{draw(st.sampled_from(TIMESTAMPS))}:{draw(st.sampled_from(OFFSETS))}"
        elif change == 3 and len(second[key]) > 1:
            del second[key][draw(st.sampled_from(sorted(second[key])))]
    for key, cells in draw(st.lists(queue_rows(peer_ids, servers), max_size=1)):
        second.setdefault(key, {}).update(cells)
    return first, second


def cells_of(rows: Rows) -> tuple[Cell, ...]:
    """Cells in the order of a scan."""
    return tuple(
        sorted(
            (
                Cell(key.encode(), QUEUE_FAMILY, group.encode(), value.encode())
                for key, groups in rows.items()
                for group, value in groups.items()
            ),
            key=lambda cell: (cell.row, cell.family, cell.qualifier),
        )
    )


@st.composite
def memberships(draw: st.DrawFn, servers: Sequence[ServerName]) -> tuple[Membership, Membership]:
    """Both readings of who is alive, for a pool of servers; the master is the same one."""
    online, crashing, directories = set[ServerName](), set[ServerName](), []
    for server in servers:
        state = draw(st.integers(0, 9))
        if state <= 2:
            online.add(server)
        if state in (3, 4):
            crashing.add(server)
        if state in (1, 3, 5):  # from 6 on: fully dead
            entries = draw(st.sampled_from((0, 0, 3)))
            age = draw(st.sampled_from((0, DAY_MS - 1, DAY_MS, DAY_MS + 1, 9 * DAY_MS)))
            directories.append(WalDirectory(server, entries, NOW - age))
    first = Membership(MASTER, frozenset(online), frozenset(crashing), tuple(directories))
    for server in servers:
        if draw(st.integers(0, 31)) == 31:
            draw(st.sampled_from((online, crashing))).symmetric_difference_update({server})
    return first, Membership(MASTER, frozenset(online), frozenset(crashing))


def steps(started_at: int = NOW) -> tuple[Step, ...]:
    """The nine steps in capture order, `STEP_MS` each, without a gap."""
    return tuple(
        Step(name, started_at + number * STEP_MS, started_at + (number + 1) * STEP_MS)
        for number, name in enumerate(CAPTURE_ORDER)
    )


SAFE_FLAGS = Flags(queue_table_exists=True, add_peer_running=False, migration_pending=False, zk_queue_data=False)


@st.composite
def flag_values(draw: st.DrawFn) -> Flags:
    """Mostly safe; else one flag unsafe or unknown."""
    if draw(st.integers(0, 39)) < 39:
        return SAFE_FLAGS
    name = draw(st.sampled_from(("queue_table_exists", "add_peer_running", "migration_pending", "zk_queue_data")))
    return replace(SAFE_FLAGS, **{name: draw(st.sampled_from((name != "queue_table_exists", None)))})


@st.composite
def backups(draw: st.DrawFn, servers: Sequence[ServerName]) -> Backup | None:
    """Mostly off; else boundaries near the timestamps in use, or unknown."""
    shape = draw(st.integers(0, 29))
    if shape < 28:
        return Backup(enabled=False)
    if shape == 28:
        return None
    chosen = draw(st.lists(st.sampled_from(tuple(servers)), max_size=4))
    return Backup(enabled=True, boundaries={server.address: draw(st.sampled_from(TIMESTAMPS)) for server in chosen})


@st.composite
def release_choices(draw: st.DrawFn, orphan_queues: bool = False) -> Release:
    """Opt-ins, mostly none; `orphan_queues` mostly where the caller wants rows without peers believed."""
    rarely = st.integers(0, 3).map(lambda number: number == 3)
    return Release(draw(rarely), draw(rarely) != orphan_queues, draw(rarely))


@st.composite
def cluster_cases(
    draw: st.DrawFn,
    cluster: str = "prod-a",
    max_files: int = 25,
    malformed: bool = False,
    control_characters: bool = False,
) -> ClusterCase:
    """One cluster as captured.

    Args:
        cluster: its name; draw several for a fleet.
        max_files: files under oldWALs, at most.
        malformed: now and then a row that HBase's own parser throws on.
        control_characters: now and then a file name with a line end or other control character.
    """
    servers = draw(st.lists(server_names, min_size=1, max_size=5, unique=True))
    peer_ids = draw(
        st.lists(st.sampled_from(PEER_IDS), min_size=draw(st.sampled_from((1, 1, 1, 1, 0))), max_size=3, unique=True)
    )
    row_peers = (*peer_ids, *peer_ids, *peer_ids, draw(st.sampled_from(REMOVED_PEER_IDS)))
    no_rows = draw(st.integers(0, 19)) == 19
    rows_1, rows_2 = ({}, {}) if no_rows else draw(both_passes(row_peers, servers))
    first, second = draw(memberships(servers))
    in_use = st.sampled_from(tuple(servers))
    anchors = _anchors(rows_1) + _anchors(rows_2)
    names = wal_file_names(anchors, in_use, control_characters)
    files = draw(st.lists(_archived_files(names, servers), max_size=max_files, unique_by=lambda file: file.path))
    live_files = draw(st.lists(_live_files(names, servers), max_size=3, unique_by=lambda file: file.path))
    flags = draw(flag_values())
    plugins = draw(st.sampled_from((*((DEFAULT_PLUGINS,) * 20), None, (*DEFAULT_PLUGINS, "org.example.Cleaner"))))
    snapshot = Snapshot(
        cluster=cluster,
        cluster_id="4f0d3b0e-4f43-4f0e-9d6a-0c5ad9b1a001",
        hbase_version="3.0.0",
        queue_storage="table",
        wal_root="hdfs://ns1/hbase",
        clock_host="edge1",
        steps=steps(),
        contents={},
        peers=tuple(Peer(peer, draw(st.sampled_from(("ENABLED", "DISABLED")))) for peer in sorted(peer_ids)),
        membership=first,
        membership_2=second,
        flags=flags,
        flags_2=draw(st.sampled_from((flags, flags, flags, SAFE_FLAGS))),
        retention=RETENTION,
        log_cleaner_plugins=plugins,
        backup=draw(backups(servers)),
        extras=(),
    )
    settings = Settings(
        release=draw(release_choices(orphan_queues=not peer_ids)),
        harmless_cleaners=draw(st.sampled_from(((), (), ("org.example.Cleaner",)))),
        log_cleaner_plugins=draw(st.sampled_from((None, DEFAULT_PLUGINS))),
        backup_enabled=draw(st.sampled_from((None, False))),
    )
    extra = draw(st.lists(st.sampled_from(OTHER_FAMILIES), max_size=2, unique=True))
    broken = draw(st.lists(st.sampled_from(MALFORMED_CELLS), max_size=1)) if malformed else []
    return ClusterCase(
        snapshot=snapshot,
        files=tuple(files),
        live_files=tuple(live_files),
        pass_1=(*extra, *cells_of(rows_1)),
        pass_2=(*extra, *cells_of(rows_2), *broken),
        settings=settings,
    )


def _anchors(rows: Rows) -> tuple[tuple[str, int], ...]:
    found = []
    for cells in rows.values():
        for group, value in cells.items():
            digits = value.rpartition(":")[0].removeprefix(f"{group}.").partition(".")[0]
            if digits.isdigit():
                found.append((group, int(digits)))
    return tuple(found)


@st.composite
def _archived_files(draw: st.DrawFn, names: st.SearchStrategy[str], servers: Sequence[ServerName]) -> ArchivedFile:
    folders = ("", "", "", f"{servers[0]}/", "masterProcedureWALs/", "odd.1664096778778/x.5/")
    path = f"oldWALs/{draw(st.sampled_from(folders))}{draw(names)}"
    return ArchivedFile(path, draw(st.sampled_from((0, 85, 1 << 27, 1 << 40))), draw(modification_times()))


@st.composite
def _live_files(draw: st.DrawFn, names: st.SearchStrategy[str], servers: Sequence[ServerName]) -> ArchivedFile:
    server = draw(st.sampled_from(tuple(servers)))
    folder = draw(st.sampled_from((f"WALs/{server}", f"WALs/{server}-splitting", "remoteWALs/1")))
    return ArchivedFile(f"{folder}/{draw(names)}", draw(st.sampled_from((0, 85, 1 << 27))), NOW - 1)
