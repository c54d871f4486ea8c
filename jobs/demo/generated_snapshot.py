"""Writes a generated capture as a snapshot directory, with the writer of real captures."""

from pathlib import Path

from jobs.demo.cluster.model import GeneratedCapture
from pipelines.files.file_batch import FileBatch


def write_snapshot(made: GeneratedCapture, out: Path) -> None:
    """Write the capture to a directory that does not exist yet.

    Raises:
        UsageError: it exists.
    """
    from pipelines.snapshot.target import LocalTarget
    from pipelines.snapshot.writer import SnapshotWriter

    with SnapshotWriter(LocalTarget(out)) as writer:
        writer.files([_batch(made)])
        writer.cells("queues-1.jsonl", made.pass_1)
        writer.cells("queues-2.jsonl", made.pass_2)
        writer.finish(made.snapshot)


def _batch(made: GeneratedCapture) -> FileBatch:
    return FileBatch(
        [file.path for file in made.files],
        [file.length for file in made.files],
        [file.modification_time for file in made.files],
    )
