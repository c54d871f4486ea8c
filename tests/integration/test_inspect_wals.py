"""inspect-wals on WALs that a real HBase wrote, entry by entry.

Beside it stand replication's own reader and filters, and WALPrettyPrinter.
"""

import io
import json
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from jobs.capture import capture_cluster
from jobs.cli.config.configuration import parse_config
from jobs.cli.context import JobContext
from pipelines.hbase.peers import Peer
from pipelines.hbase.wal_format.reader import WalEnd, WalEntry, WalReader
from pipelines.queues.wals.pending import is_wanted
from pipelines.queues.wals.tally import EntryShare, tally_wal
from pipelines.snapshot.snapshot_json import parse_snapshot
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.hdfs import HdfsCluster
from tests.labs.cluster.jvm import Jvm
from tests.labs.cluster.wals import HBaseCell, HBaseEntry, HBaseWals, PrintedCell, PrintedEntry
from tests.labs.job_answer import job_answer
from tests.labs.places import TESTS
from tests.labs.wal_files import STATES, damaged, recorded_endings

pytestmark = [pytest.mark.realhbase, pytest.mark.long]

GOLDEN = TESTS / "golden" / "hbase" / "wals"
COMPRESSED = {"hbase.regionserver.wal.enablecompression": "true"}
TAGS, VALUES = "hbase.regionserver.wal.tags.enablecompression", "hbase.regionserver.wal.value.enablecompression"
FORMS = {
    "plain": {"hbase.regionserver.wal.enablecompression": "false"},
    "dictionary": {**COMPRESSED, TAGS: "false", VALUES: "false"},
    "tags": {**COMPRESSED, TAGS: "true", VALUES: "false"},
    "gz": {**COMPRESSED, TAGS: "true", VALUES: "true"},
}
ENTRIES = 500
ALL, SOME = "inspect_all", "inspect_some"
SENT, LOCAL = "inspected", "inspected_local"
TYPES = {4: "Put", 8: "Delete", 10: "DeleteFamilyVersion", 12: "DeleteColumn", 14: "DeleteFamily"}
"""Names of `Cell.Type` by `KeyValue.Type`."""
SHOWN = {one: f"\\x{one:02X}" for one in range(256) if not " " <= chr(one) <= "~" or chr(one) == "\\"}
"""What HBase shows for the bytes that are not shown as they are."""


@pytest.fixture(scope="module")
def writers(hbase_jvm: Jvm) -> HBaseWals:
    """The classes alone: files need no cluster."""
    return HBaseWals(hbase_jvm)


@pytest.fixture(scope="module")
def wals(hbase_jvm: Jvm, hbase_cluster: HBaseCluster) -> HBaseWals:
    return HBaseWals(hbase_jvm, hbase_cluster)


@pytest.fixture(scope="module")
def peers(hbase_cluster: HBaseCluster, peer_cluster: HBaseCluster, wals: HBaseWals) -> Iterator[None]:
    """Two disabled peers: one takes all but one family and a namespace, one takes a table and a namespace."""
    for peer in (ALL, SOME):
        hbase_cluster.add_peer(peer, peer_cluster.cluster_key, enabled=False)
    wals.set_rule(ALL, replicate_all=True, namespaces=["ns"], tables={"u": ["f"], "t": ["g"]})
    wals.set_rule(SOME, replicate_all=False, namespaces=["ns"], tables={SENT: [], "u": ["f", "h"], "hbase:acl": []})
    yield
    for peer in (ALL, SOME):
        hbase_cluster.remove_peer(peer)


def spelled(entry: WalEntry, cells: list[HBaseCell]) -> HBaseEntry:
    """An entry of ours as the harness spells HBase's."""
    scopes = {family.decode(): scope for family, scope in sorted(entry.key.scopes.items())}
    key = entry.key
    return HBaseEntry(
        entry.end, key.region.decode(), key.table, key.sequence_id, key.write_time, scopes, key.cells, key.clusters,
        tuple(cells), is_sent=False,
    )  # fmt: skip


def read(data: bytes) -> tuple[list[HBaseEntry], WalReader]:
    cells: list[HBaseCell] = []
    found: list[HBaseEntry] = []

    def visit(row: bytes, family: bytes, qualifier: bytes, stamp: bytes, length: int, value: bytes | None) -> None:
        assert value is not None
        cells.append(HBaseCell(row, family, qualifier, *struct.unpack(">qb", stamp), length, zlib.crc32(value)))

    reader = WalReader(io.BytesIO(data).read, values=True)
    for entry in reader.entries(visit):
        found.append(spelled(entry, cells))
        cells.clear()
    return found, reader


def as_printed(data: bytes) -> list[PrintedEntry]:
    """Entries of ours as WALPrettyPrinter shows them; it passes over those without a cell."""
    cells: list[PrintedCell] = []
    found: list[PrintedEntry] = []

    def visit(row: bytes, family: bytes, qualifier: bytes, stamp: bytes, length: int, value: bytes | None) -> None:
        assert value is not None
        timestamp, kind = struct.unpack(">qb", stamp)
        named = [shown_bytes(one) for one in (row, family, qualifier)]
        cells.append(PrintedCell(*named, timestamp, TYPES[kind], length, shown_bytes(value)))

    for entry in WalReader(io.BytesIO(data).read, values=True).entries(visit):
        if cells:
            key = entry.key
            found.append(PrintedEntry(entry.end, key.region.decode(), key.table, key.sequence_id, tuple(cells)))
        cells.clear()
    return found


def shown_bytes(data: bytes) -> str:
    """HBase's `Bytes.toStringBinary`."""
    return data.decode("latin-1").translate(SHOWN)


@pytest.mark.parametrize("form", FORMS)
def test_every_cell_of_a_file_of_hbases_own_writer(form: str, writers: HBaseWals, tmp_path: Path) -> None:
    file = tmp_path / "written.1"
    writers.write(f"file:{file}", FORMS[form], ENTRIES, seed=len(form))
    expected, state = writers.read(f"file:{file}", cells=True)
    found, reader = read(file.read_bytes())
    assert len(expected) == ENTRIES
    assert found == expected
    printed = writers.printed(f"file:{file}")
    assert len(printed) == sum(entry.cell_count > 0 for entry in expected)
    assert as_printed(file.read_bytes()) == printed
    assert reader.ending in STATES[state]
    assert reader.header is not None
    said = (reader.header.compressed, reader.header.compressed_tags, reader.header.value_algorithm)
    assert said == (form != "plain", form in {"tags", "gz"}, "GZ" if form == "gz" else None)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["plain.1", "comp.1", "comp-notag.1", "compval.1"])
def test_replications_reader_still_says_what_was_recorded_of_every_truncation(
    name: str, writers: HBaseWals, tmp_path: Path
) -> None:
    """The contract test of golden WALs compares our reader with what was recorded."""
    answers = writers.truncations(f"file:{GOLDEN / name}", f"file:{tmp_path / 'cut.1'}")
    assert answers == recorded_endings(name)


def test_a_damaged_length_is_for_replication_an_end(writers: HBaseWals, tmp_path: Path) -> None:
    """Of the header, or of the region in the key of the third entry: HBase says so of a file that has all its edits."""
    data, file = (GOLDEN / "plain.1").read_bytes(), tmp_path / "damaged.1"
    ends = [entry.end for entry in read(data)[0]]
    header, key = data.index(b"ProtobufLogWriter") - 1, ends[1] + 2
    for place, wrong, state, ending in (
        (header, (0xF0,), "NO_HEADER", WalEnd.NO_HEADER),
        (key, (0x7F,), "EOF_AND_RESET", WalEnd.CORRUPT),
    ):
        file.write_bytes(damaged(data, place, *wrong))
        found, said = writers.read(f"file:{file}")
        entries, reader = read(file.read_bytes())
        assert (said, reader.ending) == (state, ending)
        assert len(found) == len(entries)
        assert reader.header_damaged == (place == header)


@pytest.mark.parametrize("form", FORMS)
def test_what_peers_are_sent_is_what_hbases_filters_let_through(
    form: str, wals: HBaseWals, captured: Path, tmp_path: Path
) -> None:
    file = tmp_path / "sent.1"
    wals.write(f"file:{file}", FORMS[form], ENTRIES, seed=17)
    middle = wals.read(f"file:{file}")[0][ENTRIES // 2].end
    contents = tally_wal(io.BytesIO(file.read_bytes()).read, [middle])
    assert middle in contents.boundaries
    known = {peer.peer_id: peer for peer in peers_of(captured)}
    for peer in (ALL, SOME):
        for start in (-1, middle):
            sent = sum(entry.is_sent for entry in wals.read(f"file:{file}", start=start, peer=peer)[0])
            shares: list[EntryShare] = [share for share in contents.shares if share.cut >= start]
            assert 0 < sent < sum(share.entries for share in shares)
            assert sum(share.entries for share in shares if is_wanted(known[peer], share)) == sent, (peer, start)


# the job


@pytest.fixture(scope="module")
def captured(
    hbase_cluster: HBaseCluster,
    peers: None,
    hbase_spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A snapshot of the cluster with edits in two tables, in archived, rolled and open WALs."""
    _ = peers
    hbase_cluster.create_table(SENT)
    hbase_cluster.create_table(LOCAL, scope=0)
    for value in ("a", "b" * 3_000, "c"):
        hbase_cluster.put(SENT, value=value)
        hbase_cluster.put(LOCAL, value=value)
        if value != "c":
            hbase_cluster.archive_wals(SENT, LOCAL)
    work = tmp_path_factory.mktemp("inspected")
    site = hbase_cluster.write_conf(work / "conf") / "hbase-site.xml"
    section = {
        "files": {"source": "hadoop"},
        "queues": {"source": "hbase"},
        "state": {"source": "hbase"},
        "hbase": {"site": str(site), "timeout": "5m"},
        "quiet_attempts": 3,
        "pause": "1s",
    }
    document = {"cluster": "inspected", "wal_root": hbase_cluster.wal_root, "capture": section}
    config = parse_config(json.dumps(document), "test.yaml")
    assert config.capture is not None
    out = work / "snapshot"
    context = JobContext("capture", spark=hbase_spark)
    capture_cluster("inspected", hbase_cluster.wal_root, config.capture, f"file:{out}", context)
    return out


def peers_of(snapshot: Path) -> tuple[Peer, ...]:
    return parse_snapshot(json.loads((snapshot / "snapshot.json").read_text())).peers


def inspected(spark: SparkSession, snapshot: Path, *options: str) -> tuple[int, dict[str, Any]]:
    context = JobContext("inspect-wals", spark=spark)
    return job_answer(context, snapshot.parent, "--snapshot", f"file:{snapshot}", *options)


@dataclass(frozen=True)
class Answer:
    """One run of the job, and HBase's reader on the same files."""

    code: int
    result: dict[str, Any]
    root: str
    wals: HBaseWals

    def entries(self, one: Mapping[str, Any], *, start: int = -1, peer: str = "") -> list[HBaseEntry]:
        """HBase's entries as far as the job has read: a live server may have written more since."""
        found, state = self.wals.read(f"{self.root}/{one['path']}", start=start, peer=peer)
        assert WalEnd(one["ending"]) in STATES[state]
        return [entry for entry in found if entry.end <= one["good_end"]]


@pytest.fixture(scope="module")
def answer(captured: Path, hbase_spark: SparkSession, wals: HBaseWals) -> Answer:
    root = json.loads((captured / "snapshot.json").read_text())["wal_root"]
    return Answer(*inspected(hbase_spark, captured), root, wals)


def test_files_of_a_real_cluster(answer: Answer) -> None:
    result = answer.result
    assert (answer.code, result["findings"]) == (0, [])
    assert result["endings"].get("CLOSED", 0) > 0
    assert set(result["endings"]) <= {"CLOSED", "OPEN"}
    for one in result["wals"]:
        entries = answer.entries(one)
        assert (one["entries"], one["cells"]) == (len(entries), sum(entry.cell_count for entry in entries)), one["path"]
        tables = {row["table"]: row["entries"] for row in one["tables"]}
        assert tables == Counter(entry.table for entry in entries)
        if entries:
            first, last = entries[0], entries[-1]
            assert (one["first_sequence_id"], one["first_write_time"]) == (first.sequence_id, first.write_time)
            assert (one["last_sequence_id"], one["last_write_time"]) == (last.sequence_id, last.write_time)
            assert one["good_end"] == last.end
    assert {SENT, LOCAL} <= {row["table"] for row in result["tables"]}
    local = next(row for row in result["tables"] if row["table"] == LOCAL)
    assert (local["global_entries"], local["entries"] > 0) == (0, True)


def copied(hdfs: HdfsCluster, root: str, path: str, local: Path) -> str:
    """Copies a WAL and returns the place where it was found: a live server may have archived it in the meantime."""
    place, archived = f"{root}/{path}", f"{root}/oldWALs/{path.rpartition('/')[2]}"
    files, target = hdfs.file_system(), hdfs.path(f"file:{local}")
    try:
        files.copyToLocalFile(False, hdfs.path(place), target, True)
    except Py4JJavaError as error:
        if "FileNotFoundException" not in str(error):
            raise
        place = archived
        files.copyToLocalFile(False, hdfs.path(place), target, True)
    return place


@pytest.mark.promise("inspect-wals-looks-inside")
def test_every_entry_is_what_wal_pretty_printer_shows(
    answer: Answer, hdfs_cluster: HdfsCluster, tmp_path: Path
) -> None:
    """Of every WAL that the cluster wrote; what its servers have written since the job has read is left out."""
    local = tmp_path / "copy"
    tables = set()
    for one in answer.result["wals"]:
        place = copied(hdfs_cluster, answer.root, one["path"], local)
        printed = [entry for entry in answer.wals.printed(place) if entry.end <= one["good_end"]]
        assert [entry for entry in as_printed(local.read_bytes()) if entry.end <= one["good_end"]] == printed
        assert (one["entries"], one["cells"]) == (len(printed), sum(len(entry.cells) for entry in printed))
        assert {row["table"]: row["entries"] for row in one["tables"]} == Counter(entry.table for entry in printed)
        if printed:
            ids = (printed[0].sequence_id, printed[-1].sequence_id, printed[-1].end)
            assert (one["first_sequence_id"], one["last_sequence_id"], one["good_end"]) == ids
        tables |= {entry.table for entry in printed}
    assert {SENT, LOCAL} <= tables


def test_what_is_pending_and_wanted_on_a_real_cluster(answer: Answer) -> None:
    files = {one["path"].rpartition("/")[2]: one for one in answer.result["wals"]}
    seen = [one for one in answer.result["queues"] if one["peer_id"] in {ALL, SOME}]
    assert {one["peer_id"] for one in seen} == {ALL, SOME}
    for one in seen:
        assert one["rule_known"]
        assert one["offset_status"] in {"OK", "AT_END", "FINISHED", "NONE"}, one
        entries: list[HBaseEntry] = []
        for name, file in files.items():
            if name.rpartition(".")[0] == one["wal_group"] and name >= (one["wal"] or ""):
                at_offset = name == one["wal"]
                if not at_offset or one["offset"] >= 0:
                    start = one["offset"] or -1 if at_offset else -1
                    entries += answer.entries(file, start=start, peer=one["peer_id"])
        sent = sum(entry.is_sent for entry in entries)
        assert (one["pending_entries"], one["wanted_entries"]) == (len(entries), sent), one
    assert sum(one["wanted_entries"] for one in seen) > 0


def test_a_file_that_hdfs_cannot_give_is_no_short_file(
    captured: Path, answer: Answer, hbase_spark: SparkSession, hdfs_cluster: HdfsCluster
) -> None:
    """Its name is in the listing, but it is gone: the stream ends at once, which must not look like an empty WAL."""
    victim = next(one["path"] for one in answer.result["wals"] if one["path"].startswith("oldWALs/"))
    files = hdfs_cluster.file_system()
    there, away = (hdfs_cluster.path(f"{answer.root}/{path}") for path in (victim, "inspect-away"))
    files.rename(there, away)
    try:
        code, result = inspected(hbase_spark, captured, "--path", victim)
    finally:
        files.rename(away, there)
    assert (code, [one["ending"] for one in result["wals"]]) == (0, ["GONE"])
