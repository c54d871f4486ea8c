"""Both readings of the queues, as an opened snapshot has them."""

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.sql import SparkSession

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError, UsageError
from pipelines.files.file_batch import FileBatch
from pipelines.hbase.replication_queues import Cell, QueueCell, RowLayout, parse_queue_cells
from pipelines.snapshot import reader
from pipelines.snapshot.model import Membership, Snapshot, SnapshotFile
from pipelines.snapshot.reader import SnapshotDirectories
from pipelines.snapshot.target import LocalTarget
from pipelines.snapshot.writer import SnapshotWriter
from tests.labs.cluster.oracle import queue_cell
from tests.strategies.clusters import MASTER, NOW, snapshot_of

WITHOUT_SPARK = cast("SparkSession", None)
"""A small snapshot on the local disk is read without a session."""
EARLIER, LATER = (queue_cell("1-h1,16020,5", "h1%2C16020%2C5", "h1%2C16020%2C5.7", offset) for offset in (10, 20))


@pytest.mark.parametrize(
    ("text", "lines"), [("", []), ("a\n", ["a"]), ("a\n\n", ["a", ""]), ("a\u2028\x85b\nc\n", ["a\u2028\x85b", "c"])]
)
def test_only_a_line_feed_ends_a_line(text: str, lines: list[str]) -> None:
    """JSON does not escape Unicode's other line ends, which a znode's name may contain."""
    snapshot = SimpleNamespace(contents={"queues-1.jsonl": SnapshotFile(len(lines), "0" * 64)})
    contents = {snapshot.contents["queues-1.jsonl"]: text.encode()}
    found = reader._lines(contents, "file:/s", "queues-1.jsonl", cast("Snapshot", snapshot))
    assert [line.decode() for line, _ in found] == lines


def test_a_name_that_is_not_utf8_is_refused() -> None:
    """Else it would be taken for another one, of which there is no file."""
    snapshot = SimpleNamespace(contents={"queues-1.jsonl": SnapshotFile(1, "0" * 64)})
    znode = b'{"path":"/hbase/replication/rs/h1,1,1/1/h1%2C1%2C1.\xff","data":"","cversion":0}\n'
    contents = {snapshot.contents["queues-1.jsonl"]: znode}
    with pytest.raises(SnapshotError, match=r"queues-1\.jsonl, line 1: truncated or not JSON"):
        reader._tree(contents, "file:/s", "queues-1.jsonl", cast("Snapshot", snapshot))


@pytest.mark.parametrize(("second", "parsed"), [(EARLIER, 1), (LATER, 2)])
def test_a_reading_that_equals_the_first_is_not_parsed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: Cell, parsed: int
) -> None:
    nobody = Membership(MASTER, frozenset(), frozenset())
    with SnapshotWriter(LocalTarget(tmp_path / "out")) as writer:
        writer.files([FileBatch(["oldWALs/h1%2C16020%2C5.6"], [1], [NOW])])
        writer.cells("queues-1.jsonl", [EARLIER])
        writer.cells("queues-2.jsonl", [second])
        writer.finish(snapshot_of((), nobody, nobody))
    calls: list[RowLayout] = []

    def counted(cells: Iterable[Cell], layout: RowLayout) -> tuple[QueueCell, ...]:
        calls.append(layout)
        return parse_queue_cells(cells, layout)

    monkeypatch.setattr(reader, "parse_queue_cells", counted)
    (opened,) = SnapshotDirectories(WITHOUT_SPARK).open([(tmp_path / "out").as_uri()])
    offsets = [[cell.offset.offset for cell in reading] for reading in opened.passes]
    assert (opened.fault, offsets) == (None, [[10], [10 if second is EARLIER else 20]])
    assert len(calls) == parsed


@pytest.mark.parametrize("name", ["a%20b", "a#1", "a?b", "a b"])
def test_a_snapshot_is_read_where_its_name_says(tmp_path: Path, name: str) -> None:
    """Nothing in a name is decoded, neither when the snapshot is written nor when a job reads it again."""
    nobody = Membership(MASTER, frozenset(), frozenset())
    with SnapshotWriter(LocalTarget(tmp_path / name)) as writer:
        writer.files([FileBatch(["oldWALs/h1%2C16020%2C5.6"], [1], [NOW])])
        writer.cells("queues-1.jsonl", [EARLIER])
        writer.cells("queues-2.jsonl", [LATER])
        uri = writer.finish(snapshot_of((), nobody, nobody))
    assert uri == f"file://{tmp_path}/{name}"
    directories = SnapshotDirectories(WITHOUT_SPARK)
    (opened,) = directories.open([uri])
    assert (opened.fault, opened.uri) == (None, uri)
    assert [cell.value for cell in directories.cells(opened)] == [LATER.value]


@pytest.mark.parametrize(
    ("below", "words"),
    [
        (["20261121T020000Z", ".20261122T020000Z.0f.making"], "it has 20261121T020000Z[.]"),
        (["d", "a", "c", "b", "e"], "it has a, b, c and 2 more[.]"),
        ([], "it is empty[.]"),
    ],
)
def test_a_folder_of_snapshots_is_not_taken_for_an_unfinished_one(tmp_path: Path, below: list[str], words: str) -> None:
    cluster = tmp_path / "prod-a"
    cluster.mkdir()
    for name in below:
        (cluster / name).mkdir()
    directories = SnapshotDirectories(WITHOUT_SPARK)
    for places in ([cluster.as_uri()], directories.of_fleet(tmp_path.as_uri())):
        with pytest.raises(UsageError, match=f"prod-a is not a snapshot: {words}.*has snapshot.json"):
            directories.open(places)


def test_a_directory_without_parts_does_not_stop_the_snapshots_beside_it(tmp_path: Path) -> None:
    (tmp_path / "prod-a").mkdir()
    (tmp_path / "prod-b" / "files").mkdir(parents=True)
    directories = SnapshotDirectories(WITHOUT_SPARK)
    opened = directories.open(directories.of_fleet(tmp_path.as_uri()))
    assert [one.fault_condition for one in opened] == [Condition.SNAPSHOT_INCOMPLETE] * 2


@pytest.mark.parametrize("part", ["files", "queues-1.jsonl", "queues-2.jsonl", "extras"])
def test_a_part_of_a_snapshot_without_snapshot_json_is_an_unfinished_one(tmp_path: Path, part: str) -> None:
    (tmp_path / "prod-a" / part).mkdir(parents=True)
    directories = SnapshotDirectories(WITHOUT_SPARK)
    (opened,) = directories.open(directories.of_fleet(tmp_path.as_uri()))
    assert opened.fault_condition is Condition.SNAPSHOT_INCOMPLETE
