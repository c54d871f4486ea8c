"""Provides the small cluster with its queues in ZooKeeper."""

from dataclasses import replace
from pathlib import Path

from jobs.demo.cluster.model import GeneratedCapture
from pipelines.files.file_batch import FileBatch
from pipelines.snapshot.extras import extra_file
from pipelines.snapshot.syncup_facts import EXTRA, SyncUpFacts, fact_documents
from pipelines.snapshot.target import LocalTarget
from pipelines.snapshot.writer import SnapshotWriter
from tests.strategies.zookeeper import Queues, znodes, zookeeper_snapshot


def zookeeper_directory(
    out: Path, made: GeneratedCapture, first: Queues, second: Queues, after: int = 7, down: SyncUpFacts | None = None
) -> Path:
    """Writes a snapshot as `capture` would: files, peers and times of a cluster, but other queues; returns its path.

    Args:
        out: the directory of the snapshot.
        made: the small cluster, or one like it.
        first: the first reading of the queues.
        second: the second reading of the queues.
        after: the cversion of `rs` at the end; 7 = nothing moved.
        down: the extra of a cluster that is down.
    """
    snapshot = replace(
        zookeeper_snapshot(["1", "2"]),
        cluster=made.snapshot.cluster,
        wal_root=made.snapshot.wal_root,
        steps=tuple(step for step in made.snapshot.steps if step.step in ("files", "peers", "queues-1", "queues-2")),
        peers=made.snapshot.peers,
        retention=made.snapshot.retention,
        log_cleaner_plugins=made.snapshot.log_cleaner_plugins,
        extras=() if down is None else (EXTRA,),
    )
    files = made.files
    with SnapshotWriter(LocalTarget(out)) as writer:
        paths, lengths = [file.path for file in files], [file.length for file in files]
        writer.files([FileBatch(paths, lengths, [file.modification_time for file in files])])
        writer.znodes("queues-1.jsonl", znodes(first))
        writer.znodes("queues-2.jsonl", znodes(second, 7, after))
        if down is not None:
            writer.documents(extra_file(EXTRA), fact_documents(down))
        writer.finish(snapshot)
    return out
