"""The benchmark's generator keeps the shares that it promises, and gives HBase's own cleaner nothing to throw on."""

import json
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipelines.decide.rule.cleaner_rule import HBaseVerdict, hbase_verdict
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.table_queue_storage import table_view
from pipelines.decide.rule.verdict import ArchivedFile, Reason, decide
from pipelines.hbase.replication_queues import parse_queue_cells
from pipelines.hbase.wal_names import FileKind, file_kind, parse_wal_name
from tests.labs.places import PROJECT
from tests.models.capture.trust import distrust_reason
from tests.models.large import Shape, file_batches, fleet, queue_cells, snapshot

FILES = 30_000
SHAPE = Shape("bench", FILES, 60, 4, 4, 1, 1_790_000_000_000)
GENERATE = PROJECT / "benchmarks" / "generate.py"


@cache
def listing() -> tuple[ArchivedFile, ...]:
    return tuple(
        ArchivedFile(path, length, modified)
        for batch in file_batches(SHAPE)
        for path, length, modified in zip(batch.paths, batch.lengths, batch.modification_times, strict=True)
    )


@cache
def view() -> ClusterView:
    cells = parse_queue_cells(queue_cells(SHAPE))
    untrusted = distrust_reason(snapshot(SHAPE), [cells, cells], ReconcileSettings().release)
    return table_view(snapshot(SHAPE), [cells, cells], ReconcileSettings(), untrusted, unparsable=False)


def kind(name: str) -> str:
    if file_kind(name) is FileKind.INVALID:
        return "invalid"
    if name.endswith(".meta"):
        return "meta"
    return "regular" if re.search(r"\.[0-9]{13}$", name) else "odd"


def test_the_shares_of_issue_3() -> None:
    counts = Counter(kind(file.name) for file in listing())
    assert sum(counts.values()) == FILES
    assert counts["meta"] / FILES == pytest.approx(0.025, rel=0.05)
    assert counts["odd"] / FILES == pytest.approx(0.005, rel=0.1)
    assert counts["invalid"] / FILES == pytest.approx(0.0025, rel=0.1)


def test_paths_are_distinct_and_in_the_order_of_a_listing() -> None:
    paths = [file.path for file in listing()]
    assert len(set(paths)) == FILES
    assert paths == sorted(paths)


def test_about_one_group_in_twenty_has_no_offset() -> None:
    with_offset = {group for row in view().rows for group in row.offsets}
    alive = set(view().online)
    groups = {
        wal.group
        for file in listing()
        if (wal := parse_wal_name(file.name)) and wal.server in alive and kind(file.name) == "regular"
    }
    assert 0.01 < len(groups - with_offset) / len(groups) < 0.12


@pytest.mark.long
def test_hbases_cleaner_never_throws_and_every_common_reason_is_there() -> None:
    reasons = Counter(decide(file, view()).reason for file in listing())
    assert HBaseVerdict.THROWS not in {hbase_verdict(file.name, view()) for file in listing()}
    common = {Reason.PENDING, Reason.REPLICATED, Reason.DEAD_NO_QUEUE, Reason.QUEUE_MISSING, Reason.META_WAL}
    assert set(reasons) == common | {Reason.INVALID_NAME}
    assert min(reasons[reason] for reason in common) > FILES / 100


def test_the_same_arguments_give_the_same_files() -> None:
    first = next(file_batches(SHAPE))
    assert first == next(file_batches(SHAPE))
    assert queue_cells(SHAPE) == queue_cells(SHAPE)


def test_a_fleet_shares_the_files_with_skew() -> None:
    shapes = list(fleet(SHAPE, 50))
    assert len({shape.cluster for shape in shapes}) == 50
    assert sum(shape.files for shape in shapes) == pytest.approx(FILES, rel=0.01)
    assert shapes[0].files > 40 * shapes[-1].files
    assert all(shape.servers <= SHAPE.servers for shape in shapes)


def test_one_cluster_of_a_fleet_may_have_most_of_it() -> None:
    shapes = list(fleet(SHAPE, 50, largest=0.6))
    assert shapes[0].files / FILES == pytest.approx(0.6, rel=0.01)
    assert sum(shape.files for shape in shapes) == pytest.approx(FILES, rel=0.01)
    assert shapes[1].files > 10 * shapes[-1].files


def test_the_command_writes_a_snapshot_directory_and_the_bare_names(tmp_path: Path) -> None:
    out, names = tmp_path / "snapshot", tmp_path / "names.txt"
    subprocess.run(
        [sys.executable, GENERATE, "--files", "3000", "--servers", "10", "--out", out, "--names", names], check=True
    )
    contents = json.loads((out / "snapshot.json").read_text())["contents"]
    assert contents["files/part-00000.parquet"]["rows"] == 3000
    table = pq.read_table(out / "files/part-00000.parquet")
    assert [f"oldWALs/{name}" for name in names.read_text().splitlines()] == table["path"].to_pylist()
