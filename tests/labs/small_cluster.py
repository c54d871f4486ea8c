"""A cluster small enough to be computed by hand, and what it takes to reconcile it with the technologies of production.

Lengths are powers of two, so that every sum of bytes names the files in it. Two peers (2 is disabled), two servers
online, a third one dead whose queue for peer 1 was claimed by the first:

| file            | bytes | needed by          | file    | bytes | needed by |
|-----------------|-------|--------------------|---------|-------|-----------|
| h1, first       | 1     | -                  | d1, 1st | 64    | -         |
| h1, second      | 2     | 2                  | d1, 2nd | 128   | 1         |
| h1, third       | 4     | 2                  | d1, 3rd | 256   | 1         |
| h1, fourth      | 8     | 1 and 2            | meta    | 512   | -         |
| h2, first       | 16    | -                  |         |       |           |
| h2, second      | 32    | 2                  |         |       |           |
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from jobs.cli.config.configuration import Config, parse_config
from jobs.cli.context import JobContext
from jobs.demo.cluster.model import GeneratedCapture
from jobs.demo.cluster.on_disk import write_snapshot
from jobs.demo.cluster.snapshots import healthy_snapshot, steps_at
from jobs.reconcile.wiring import OutputPlaces, run_reconcile
from pipelines.common.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from pipelines.common.job_result import JobResult
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import QUEUE_FAMILY, Cell
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.wal_names import encode_prefix
from pipelines.snapshot.model import Membership, WalDirectory
from tests.labs.lake_rows import lake_rows

NOW = 1_790_000_000_000
"""Start of step `files` of the first night; the other steps take a second each."""
DECIDED_AFTER_MS = 15_000
ROOT = "hdfs://ns1/hbase"
MASTER = "m1.example.org,16000,1789000000000"
H1, H2, D1 = (ServerName(f"{name}.example.org", 16020, 1_789_000_000_000) for name in ("h1", "h2", "d1"))
GIB = 1 << 30

Cells = tuple[Cell, ...]
Changed = Callable[[GeneratedCapture], GeneratedCapture]


class At:
    """A clock that always shows the same time."""

    def __init__(self, instant: int) -> None:
        self.instant = instant

    def now_ms(self) -> int:
        return self.instant


def group(server: ServerName) -> str:
    """Returns the WAL group of a server's only WAL writer."""
    return encode_prefix(str(server))


def timestamp(number: int) -> int:
    """Returns the time at which the WAL with this number of any server began, ms."""
    return NOW - 10 * HOUR_MS + number * MINUTE_MS


def wal(server: ServerName, number: int) -> str:
    """Returns the name of a server's WAL with this number."""
    return f"{group(server)}.{timestamp(number)}"


def archived(server: ServerName, number: int, length: int) -> ArchivedFile:
    """Returns a server's WAL with this number as a file below oldWALs."""
    return ArchivedFile(f"oldWALs/{wal(server, number)}", length, timestamp(number + 1))


def row(queue: str, group_: str, wal_: str, offset: int) -> Cell:
    """Returns one cell of `hbase:replication`."""
    return Cell(queue.encode(), QUEUE_FAMILY, group_.encode(), f"{wal_}:{offset}".encode())


def cells(night: int = 0) -> Cells:
    """Returns the cells of the queue table in scan order; enabled queues move a little every night."""
    return tuple(
        sorted(
            (
                row(f"1-{H1}", group(H1), wal(H1, 4), night),
                row(f"2-{H1}", group(H1), wal(H1, 2), 0),
                row(f"1-{H2}", group(H2), wal(H2, 2), -1),
                row(f"2-{H2}", group(H2), wal(H2, 1), -1),
                row(f"1-{H1}/{D1}", group(D1), wal(D1, 2), 7 + night),
            ),
            key=lambda cell: cell.row,
        )
    )


def small(cluster: str, night: int = 0) -> GeneratedCapture:
    """Returns the cluster's capture of a night, in which nothing is wrong."""
    at = NOW + night * DAY_MS
    files = [archived(H1, number, 1 << (number - 1)) for number in (1, 2, 3, 4)]
    files += [archived(H2, number, 16 << (number - 1)) for number in (1, 2)]
    files += [archived(D1, number, 64 << (number - 1)) for number in (1, 2, 3)]
    # HBase's own cleaner has not come by yet
    files.append(ArchivedFile(f"oldWALs/{group(H1)}.meta.{at - HOUR_MS}.meta", 512, at - 20 * MINUTE_MS))
    files += [ArchivedFile(f"WALs/{server}/{wal(server, 600)}", 0, timestamp(600)) for server in (H1, H2)]
    online = frozenset({H1, H2})
    first = Membership(MASTER, online, frozenset(), tuple(WalDirectory(server, 1, at - HOUR_MS) for server in (H1, H2)))
    peers = (Peer("1", "ENABLED"), Peer("2", "DISABLED"))
    snapshot = replace(
        healthy_snapshot(cluster, steps_at(at, SECOND_MS), peers, first, replace(first, wal_directories=())),
        wal_root=ROOT,
    )
    return GeneratedCapture(snapshot, tuple(sorted(files, key=lambda file: file.path)), cells(night), cells(night))


# changes


def with_snapshot(made: GeneratedCapture, **changes: object) -> GeneratedCapture:
    """Returns the capture with changed fields of snapshot.json."""
    return replace(made, snapshot=replace(made.snapshot, **changes))  # type: ignore[arg-type]


def with_files(made: GeneratedCapture, *files: ArchivedFile) -> GeneratedCapture:
    """Returns the capture with further files; a file with the same path replaces the old one."""
    paths = {file.path for file in files}
    return replace(made, files=(*(file for file in made.files if file.path not in paths), *files))


def with_cells(made: GeneratedCapture, *changed: Cell) -> GeneratedCapture:
    """Returns the capture with further cells in both passes.

    A cell with the same row and qualifier replaces the old one.
    """
    keys = {(cell.row, cell.qualifier) for cell in changed}

    def both(old: Cells) -> Cells:
        kept = (cell for cell in old if (cell.row, cell.qualifier) not in keys)
        return tuple(sorted((*kept, *changed), key=lambda cell: cell.row))

    return replace(made, pass_1=both(made.pass_1), pass_2=both(made.pass_2))


def edited(directory: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Edits snapshot.json in place."""
    path = directory / "snapshot.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def replaced_content(directory: Path, name: str, content: bytes) -> None:
    """Replaces a file of the snapshot, and changes snapshot.json so that it agrees."""
    (directory / name).write_bytes(content)

    def change(document: dict[str, Any]) -> None:
        document["contents"][name]["sha256"] = hashlib.sha256(content).hexdigest()

    edited(directory, change)


# runs


@dataclass(frozen=True)
class Desk:
    """A lake, a folder of lists, and a session with which to reconcile."""

    spark: SparkSession
    root: Path

    @property
    def lake(self) -> Path:
        return self.root / "lake"

    @property
    def lists(self) -> Path:
        return self.root / "lists"

    @property
    def places(self) -> OutputPlaces:
        return OutputPlaces(f"file:{self.lake}", f"file:{self.lists}")

    def snapshot(self, made: GeneratedCapture, name: str | None = None) -> Path:
        """Writes a snapshot directory with the sink of production."""
        out = self.root / "snapshots" / (name or made.snapshot.cluster)
        out.parent.mkdir(parents=True, exist_ok=True)
        write_snapshot(made, out)
        return out

    def reconcile(
        self,
        *snapshots: Path,
        fleet: Path | None = None,
        now: int = NOW + DECIDED_AFTER_MS,
        run_id: str | None = None,
        config: Config | None = None,
        accept: Mapping[str, str] | None = None,
        context: JobContext | None = None,
    ) -> JobResult:
        """Runs reconcile once, at `now` or by the clock of the context."""
        return run_reconcile(
            context or JobContext("reconcile", At(now), self.spark),
            config or parse_config("quality: {share_from: 0MiB}", "test.yaml"),
            self.places,
            [f"file:{snapshot}" for snapshot in snapshots],
            fleet=f"file:{fleet}" if fleet else None,
            run_id=run_id,
            acceptances=accept or {},
        )

    def rows(self, table: str, condition: str = "true") -> list[dict[str, Any]]:
        """Returns the rows of a table of the lake."""
        return lake_rows(f"{self.lake}/{table}", condition)

    def run_rows(self, cluster: str, run_id: str | None = None) -> list[dict[str, Any]]:
        """Returns the rows of `runs`, the oldest first; a terminal row comes after its STARTED row."""
        rows = self.rows("runs", f"cluster = '{cluster}'" + (f" AND run_id = '{run_id}'" if run_id else ""))
        return sorted(rows, key=lambda one: (one["at"], one["status"] != "STARTED"))

    def list_files(self, cluster: str) -> dict[str, bytes]:
        """Returns everything below a cluster's lists that a reader would look at, by path."""
        folder = self.lists / cluster
        return {
            str(file.relative_to(folder)): file.read_bytes()
            for file in sorted(folder.rglob("*"))
            if file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts)
        }

    def lines(self, cluster: str, run_id: str) -> list[str]:
        """Returns the lines of a list, after checking them against its manifest."""
        folder = self.lists / cluster / run_id
        manifest = json.loads((folder / "manifest.json").read_text())
        lines: list[str] = []
        for part in manifest["parts"]:
            content = (folder / part["name"]).read_bytes()
            assert hashlib.sha256(content).hexdigest() == part["sha256"]
            assert content.endswith(b"\n")
            assert content.count(b"\n") == part["lines"]
            lines += content.decode().splitlines()
        assert len(lines) == manifest["files"]
        return lines


def clusters_of(outcome: JobResult) -> dict[str, dict[str, Any]]:
    """Returns the clusters of a result by name."""
    found: Any = outcome.result["clusters"]
    return {one["cluster"]: one for one in found}


def paths(files: Sequence[ArchivedFile]) -> Iterator[str]:
    """Yields the paths of the files as lines of a list."""
    return (f"{ROOT}/{file.path}" for file in files)
