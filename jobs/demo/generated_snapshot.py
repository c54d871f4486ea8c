"""Writes a generated capture as a snapshot directory, with the writer of real captures."""

from pathlib import Path

from jobs.demo.cluster.model import GeneratedCapture
from jobs.demo.cluster.zookeeper import ZooKeeperCapture
from pipelines.files.file_batch import FileBatch


def write_snapshot(made: GeneratedCapture | ZooKeeperCapture, out: Path) -> None:
    """Write the capture to a directory that does not exist yet.

    Raises:
        UsageError: it exists.
    """
    from pipelines.snapshot.target import LocalTarget
    from pipelines.snapshot.writer import SnapshotWriter

    files = made.files
    batch = FileBatch(
        [file.path for file in files], [file.length for file in files], [file.modification_time for file in files]
    )
    with SnapshotWriter(LocalTarget(out)) as writer:
        writer.files([batch])
        if isinstance(made, ZooKeeperCapture):
            writer.znodes("queues-1.jsonl", made.znodes)
            writer.znodes("queues-2.jsonl", made.znodes)
        else:
            writer.cells("queues-1.jsonl", made.pass_1)
            writer.cells("queues-2.jsonl", made.pass_2)
        writer.finish(made.snapshot)
