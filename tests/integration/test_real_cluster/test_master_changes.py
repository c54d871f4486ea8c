"""The master of a real HBase 3 changes while it is read."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from jobs.capture.wiring import capture_sources
from jobs.cli.context import JobContext
from pipelines.capture.capture import CaptureSources, CaptureTarget, capture
from pipelines.capture.ports import QueueSource
from pipelines.capture.timeline import RetryPolicy
from pipelines.common.errors import RefusedError
from pipelines.hbase.replication_queues import Cell
from pipelines.snapshot.target import LocalTarget
from pipelines.snapshot.writer import SnapshotWriter
from tests.labs.cluster.hbase import WalFile
from tests.labs.cluster.oracle import Oracle
from tests.labs.cluster_life import Story, read_back

pytestmark = pytest.mark.realhbase


@dataclass
class Interrupted:
    """A queue source during whose second pass something happens."""

    inner: QueueSource
    event: Callable[[], object]

    def stamp(self, step: str) -> None:
        assert self.inner.stamp(step) is None

    def cells(self, step: str) -> Iterator[Cell]:
        if step == "queues-2":
            self.event()
        return self.inner.cells(step)


@pytest.mark.promise("another-master-is-refused")
def test_a_master_that_changes_during_a_capture_refuses_it(story: Story, tmp_path: Path) -> None:
    config = story.config("story", story.sources[0])
    assert config.capture is not None
    subject = CaptureTarget("story", story.cluster.wal_root, "localhost")
    patience = RetryPolicy(1, 1, 100, lambda ms: time.sleep(ms / 1000))
    out = tmp_path / "snapshot"
    with (
        capture_sources("story", story.cluster.wal_root, config.capture, story.spark) as sources,
        SnapshotWriter(LocalTarget(out)) as writer,
    ):
        moved = Interrupted(sources.queues, story.cluster.fail_over_master)
        read = CaptureSources(sources.files, sources.directories, moved, sources.state)
        clock = JobContext("capture").clock
        with pytest.raises(RefusedError, match="active master changed"):
            capture(subject, read, writer, clock=clock, patience=patience)
    assert list(tmp_path.iterdir()) == []
    # and the next one works, on the new master
    snapshot, files, _ = read_back(story.capture("story", story.sources[0], tmp_path / "next"))
    assert snapshot.membership is not None
    assert snapshot.membership.active_master == story.cluster.active_master()
    archived = [WalFile(path, length, 0) for path, length in files.items() if path.startswith("oldWALs/")]
    assert set(Oracle(story.cluster).verdicts(archived)) == {"DELETE"}
