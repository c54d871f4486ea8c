"""The job `inspect-wals` on queues in ZooKeeper."""

import shutil
from copy import copy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.hbase.server_names import ServerName
from tests.labs.inspected_wals import EDITS, MIDDLE, Inspected
from tests.labs.small_cluster import D1, H1, H2, edited, group, wal, with_files
from tests.labs.small_zookeeper import zookeeper_directory
from tests.labs.wal_files import ends, varint
from tests.strategies.zookeeper import Queues

WITHOUT, INSIDE = wal(H2, 3), MIDDLE + 1
"""A WAL that the listing does not have; a position inside of an entry."""


def position(offset: int) -> bytes:
    """As HBase writes it."""
    return b"PBUF\x08" + varint(offset)


QUEUES: Queues = {
    (str(H1), "1"): {wal(H1, 4): position(MIDDLE), wal(H1, 600): b""},
    (str(H1), "2"): {wal(H1, 2): position(INSIDE), wal(H1, 4): b"", wal(H1, 600): b""},
    (str(H1), f"1-{D1}"): {wal(D1, 2): position(MIDDLE), wal(D1, 3): b""},
    (str(H2), "1"): {WITHOUT: b"", wal(H2, 600): b""},
    (str(H2), "2"): {wal(H2, 2): b"", wal(H2, 600): position(ends(EDITS[0])[1])},
    (str(H2), "9"): {wal(H1, 1): b""},
}


@pytest.fixture(scope="module")
def znodes(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Inspected:
    made = Inspected(spark, tmp_path_factory.mktemp("znodes"))
    made.snapshot = zookeeper_directory(made.desk.root / "snapshot", made.made, QUEUES, QUEUES)
    return made


@pytest.mark.promise("jobs-know-queues-in-zookeeper")
def test_a_queue_in_zookeeper_reads_the_wals_that_it_names(znodes: Inspected) -> None:
    code, result = znodes.run()
    assert code == 5
    assert sorted((one["code"], one["peer_id"], one["server"]) for one in result["findings"]) == [
        ("HEADERLESS_WAL", "2", str(H2)),
        ("OFFSET_MID_ENTRY", "2", str(H1)),
    ]
    found = {(one["peer_id"], one["owner"], one["source"], one["wal_group"]): one for one in result["queues"]}

    def told(peer: str, owner: ServerName, source: ServerName, of: ServerName) -> tuple[object, ...]:
        one = found[peer, str(owner), str(source), group(of)]
        names = ("wal", "offset", "offset_status", "pending_files", "pending_entries", "wanted_entries")
        return tuple(one[name] for name in names)

    assert told("1", H1, H1, H1) == (wal(H1, 4), MIDDLE, "OK", 2, 2 + 1, 0 + 1)
    assert told("2", H1, H1, H1) == (wal(H1, 2), INSIDE, "MID_ENTRY", 3, 1 + 4 + 1, 1), "the third WAL is shipped"
    assert told("1", H1, D1, D1) == (wal(D1, 2), MIDDLE, "OK", 2, 2 + 4, 0 + 2)
    assert told("1", H2, H2, H2) == (WITHOUT, 0, "NOT_READ", 1, 1, 1)
    # the open one is not first, but has been read to its end
    assert told("2", H2, H2, H2) == (wal(H2, 2), 0, "NO_HEADER", 2, 0, 0)
    assert told("9", H2, H2, H1) == (wal(H1, 1), 0, "OK", 1, 4, 0), "a removed peer's, which wants nothing"
    assert len(found) == 6
    # each WAL once: 1, 2, 4 and the open one of H1; 2 and the open one of H2; 2 and 3 of D1
    assert result["files"] == 8


@pytest.mark.parametrize(
    ("options", "files"),
    [
        (("--server", str(H2), "--group", group(H1)), 1),
        (("--queue", f"{H1}/1-{D1}"), 2),
    ],
)
def test_a_run_on_znodes_can_be_restricted(znodes: Inspected, options: tuple[str, ...], files: int) -> None:
    assert znodes.run(*options)[1]["files"] == files


def test_a_znode_that_is_no_wal_by_its_name_ends_nothing(znodes: Inspected) -> None:
    """A queue may name anything, and a file may be called so; the other WALs are read all the same."""
    odd = copy(znodes)
    odd.snapshot = znodes.desk.root / "odd-name"
    named = {**QUEUES, (str(H2), "1"): {"notes.txt": b"", wal(H2, 600): b""}}
    zookeeper_directory(odd.snapshot, with_files(znodes.made, ArchivedFile("oldWALs/notes.txt", 7, 0)), named, named)
    code, result = odd.run()
    assert (code, result["files"]) == (5, 8), result


def test_znodes_that_hbase_3_has_taken_over_are_refused(znodes: Inspected, tmp_path: Path) -> None:
    upgraded = copy(znodes)
    upgraded.snapshot = tmp_path / "upgraded"
    shutil.copytree(znodes.snapshot, upgraded.snapshot)
    edited(upgraded.snapshot, lambda document: document.update(hbase_version="3.0.0"))
    code, result = upgraded.run()
    assert (code, "keeps its queues in hbase:replication" in result["error"]["message"]) == (3, True), result
