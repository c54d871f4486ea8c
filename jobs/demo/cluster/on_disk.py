"""A generated cluster on disk: as a live one, for capture and the clean-up, or as the snapshot of a capture."""

import json
import os
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from jobs.demo.cluster.model import GeneratedCapture
from jobs.demo.cluster.zookeeper import ZooKeeperCapture
from pipelines.files.file_batch import FileBatch
from pipelines.snapshot.queue_lines import cell_document
from pipelines.snapshot.snapshot_json import snapshot_document

ROOT = "hbase"


def write_cluster_files(made: GeneratedCapture, directory: Path) -> None:
    """Write a generated cluster: WALs as sparse files with length and time, and the answers of a simulated HBase.

    Args:
        made: the cluster.
        directory: the target; files that exist in it are kept.
    """
    root = directory / ROOT
    membership = made.snapshot.membership
    folders = {"WALs", "oldWALs", *(file.path.rpartition("/")[0] for file in made.files)}
    folders |= {f"WALs/{one.server}" for one in (membership.wal_directories if membership else ())}
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
    for file in made.files:
        place = root / file.path
        with suppress(FileExistsError), place.open("xb", buffering=0) as out:
            out.truncate(file.length)
        os.utime(place, ns=(file.modification_time * 1_000_000,) * 2)
    write_answers(made, directory)


def write_answers(made: GeneratedCapture, directory: Path) -> None:
    """Write what HBase would answer alone: the cluster went on, its files stayed."""
    document = snapshot_document(made.snapshot) | {"wal_root": f"file://{(directory / ROOT).resolve()}"}
    _replace(directory / "state.json", json.dumps(document, indent=1) + "\n")
    rows = sum(1 for _ in groupby(made.pass_2, key=lambda cell: cell.row))
    lines = [*(json.dumps(cell_document(cell)) for cell in made.pass_2), f"{rows} row(s)"]
    _replace(directory / "queues.jsonl", "".join(f"{line}\n" for line in lines))


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


def _replace(file: Path, text: str) -> None:
    """A reader sees the old text or the new one."""
    making = file.with_name(f".{file.name}.making")
    making.write_text(text, encoding="utf-8")
    making.rename(file)
