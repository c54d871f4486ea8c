"""Makes a small Pegasus table on disk for split-run: its replicas, its rows, and its output opened again."""

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from jobs.cli.entry import main
from pipelines.pegasus.domain.keys import key_hash
from tests.labs.pegasus import private_logs as made
from tests.labs.pegasus.private_logs import Entry
from tests.labs.pegasus.replicas import (
    EXPIRED,
    FLUSHED,
    NOW_S,
    footer_version,
    keys,
    rows_of,
    stored,
    write_db,
    write_infos,
    write_log,
)

APP, OLD, TARGET = 2, 4, 7
MALFORMED = b"\0"


@dataclass
class Clock:
    def now_ms(self) -> int:
        return NOW_S * 1000


class Table:
    """A table of four partitions with its rows.

    The values of some may have data version 0; each partition may have a key that Pegasus does not write.
    """

    def __init__(
        self,
        spark: SparkSession,
        root: Path,
        old: int = OLD,
        *,
        version_0: Collection[int] = frozenset(),
        malformed: bool = False,
    ) -> None:
        self.malformed = {MALFORMED: stored(b"no key")} if malformed else {}
        self.spark, self.root, self.old, self.version_0 = spark, root, old, version_0
        self.live: dict[bytes, bytes] = {}
        self.expired: set[bytes] = set()
        self.reps = root / "n1" / "replica" / "reps"
        for partition in range(old):
            self._replica(partition)

    def _replica(self, partition: int) -> None:
        mine = keys(partition, self.old, 60)
        # copies that a split left: the partition that owns them has them as they are
        copies = keys((partition + self.old // 2) % self.old, self.old, 60)[45:48] if self.old % 2 == 0 else []
        first = {key: stored(b"old") for key in (*mine, *copies)} | {b"": b"\0" * 12}
        over: dict[bytes, bytes | None] = {key: stored(b"new") for key in mine[10:20]}
        over |= dict.fromkeys(mine[20:25])
        over |= {mine[30]: stored(b"gone", EXPIRED), **self.malformed}
        folder = self.reps / f"{APP}.{partition}.pegasus"
        layers: list[dict[bytes, bytes | None]] = [{**first}, over]
        version = 0 if partition in self.version_0 else 1
        if version == 0:
            layers = [{key: value and value[:4] + value[12:] for key, value in layer.items()} for layer in layers]
        write_db(folder / "data" / "rdb", layers, version=version)
        added = keys(partition, self.old, 3, "logged")
        log = [
            Entry(FLUSHED, (made.put(mine[0], b"already flushed"),)),
            Entry(FLUSHED + 1, (made.put(added[0], b"lower ballot"),), ballot=3),
            Entry(FLUSHED + 1, (made.put(added[0], b"a"), made.put(mine[40], b"b", 5)), ballot=4),
            Entry(FLUSHED + 2, (made.remove(mine[41]),), ballot=4),
            Entry(FLUSHED + 3, ballot=4),
            Entry(FLUSHED + 4, (made.put(added[1], b"prepared"),), ballot=4),
        ]
        write_log(folder / "plog", APP, partition, log)
        write_infos(folder, APP, self.old)
        rows = {key: stored(b"old") for key in mine} | {
            key: value for key, value in over.items() if value and key in mine
        }
        for key in (*mine[20:25], mine[41]):
            del rows[key]
        time = 1_600_000_000_000_000
        rows |= {added[0]: stored(b"a", 0, time), mine[40]: stored(b"b", 5, time)}
        rows[added[1]] = stored(b"prepared", 0, time)
        self.live |= {key: self.as_version_1(partition, value) for key, value in rows.items()}
        self.expired |= {mine[30], mine[40]}

    def as_version_1(self, partition: int, value: bytes) -> bytes:
        """Returns a value of version 1 as it comes out of a partition: version 0 has no time tag."""
        return value[:4] + bytes(8) + value[12:] if partition in self.version_0 else value

    def run(self, *options: str, new: int = 16, out: str = "out") -> tuple[int, dict[str, Any]]:
        arguments = ["split-run", "--app-id", str(APP), "--app", "temp", "--cluster", "onebox", "--from", str(self.old)]
        arguments += ["--to", str(new), "--out", f"{self.root}/{out}", "--result", f"{self.root}/result.json"]
        arguments += ["--target-id", str(TARGET)]
        if not {"--replicas", "--backup", "--rows"} & {*options}:
            arguments += ["--replicas", str(self.root / "n1")]
        code = main([*arguments, *options], context=JobContext("split-run", clock=Clock(), spark=self.spark))
        return code, json.loads((self.root / "result.json").read_text())

    def export(self, *options: str, out: str = "export") -> tuple[int, dict[str, Any]]:
        arguments = ["split-export", "--app-id", str(APP), "--app", "temp", "--cluster", "onebox"]
        arguments += ["--partitions", str(self.old), "--out", f"{self.root}/{out}"]
        arguments += ["--result", f"{self.root}/result.json"]
        if not {"--replicas", "--backup"} & {*options}:
            arguments += ["--replicas", str(self.root / "n1")]
        code = main([*arguments, *options], context=JobContext("split-export", clock=Clock(), spark=self.spark))
        return code, json.loads((self.root / "result.json").read_text())

    def backup(self) -> Path:
        """Makes a cold backup of the data, which moves them, and returns the table's directory in it."""
        backup = self.root / "backup" / "1700000000000" / f"temp_{APP}"
        for partition in range(self.old):
            checkpoint = backup / str(partition) / "chkpt_10.0.0.1_34801"
            checkpoint.parent.mkdir(parents=True)
            (self.reps / f"{APP}.{partition}.pegasus" / "data" / "rdb").rename(checkpoint)
            (checkpoint.parent / "current_checkpoint").write_text(checkpoint.name)
            files = sorted(checkpoint.iterdir())
            listed = [{"name": path.name, "size": path.stat().st_size, "md5": md5(path)} for path in files]
            metadata = {"checkpoint_decree": FLUSHED, "checkpoint_timestamp": 1, "files": listed,
                        "checkpoint_total_size": sum(path.stat().st_size for path in files)}  # fmt: skip
            (checkpoint / "backup_metadata").write_text(json.dumps(metadata))
        (backup / "meta").mkdir()
        (backup / "meta" / "app_backup_status").write_text("{}")
        told = {"app_id": APP, "app_name": "temp", "partition_count": self.old, "init_partition_count": -1}
        (backup / "meta" / "app_metadata").write_text(json.dumps(told))
        return backup

    def output(self, out: str = "out") -> Path:
        return self.root / out / "onebox" / "temp"

    def inputs(self) -> dict[str, tuple[str, int]]:
        return {
            str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
            for path in sorted(self.reps.rglob("*"))
            if path.is_file()
        }


def reopened(table: Table, new: int, out: str = "out") -> dict[bytes, bytes]:
    """Returns all rows of a bulk-load directory after checking its metadata and the owner of each row."""
    found: dict[bytes, bytes] = {}
    assert json.loads((table.output(out) / "bulk_load_info").read_text()) == {
        "app_id": TARGET, "app_name": "temp", "partition_count": new,
    }  # fmt: skip
    for partition in range(new):
        folder = table.output(out) / str(partition)
        metadata = json.loads((folder / "bulk_load_metadata").read_text())
        files = [folder / one["name"] for one in metadata["files"]]
        assert sorted(folder.glob("*.sst")) == sorted(files)
        assert metadata["file_total_size"] == sum(path.stat().st_size for path in files)
        for path, said in zip(files, metadata["files"], strict=True):
            assert (said["size"], said["md5"]) == (path.stat().st_size, md5(path))
            assert footer_version(path) == 5
        assert metadata["file_total_size"] > 0, "replica_bulk_loader::parse_bulk_load_metadata refuses 0"
        rows = rows_of(files, table.root / f"opened-{out}-{partition}")
        rows.pop(b"", None)  # the record of an empty write
        assert {key_hash(key) & (new - 1) for key in rows} <= {partition}
        assert not rows.keys() & found.keys()
        found |= rows
    return found


def acknowledging(root: Path, found: Iterable[str]) -> tuple[str, str]:
    """Returns the options that overrule findings by their keys."""
    lines = [f"  - {{key: '{key}', reason: seen, until: 2090-01-01}}" for key in found]
    path = root / "walsafe.yaml"
    path.write_text("\n".join(["findings:", "  acknowledged:", *lines, ""]))
    return "--config", str(path)


def md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
