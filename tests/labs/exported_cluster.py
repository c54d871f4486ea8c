"""Writes a generated cluster as `conf/export/walsafe-export.sh` would save it, and as other saved scans."""

import json
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobs.demo.cluster.model import GeneratedCapture
from pipelines.common.instants import format_instant
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.zookeeper.tree import Znode
from pipelines.snapshot.model import MasterFlags, Membership
from pipelines.snapshot.queue_lines import cell_document, znode_document

EDGE = "edge1"
"""The host that ran the script."""


def cell_lines(cells: Iterable[Cell]) -> list[str]:
    """Returns the cells of a scan, one a line."""
    return [json.dumps(cell_document(cell)) for cell in cells]


def closed(cells: Sequence[Cell]) -> list[str]:
    """Returns the cells of a scan, one a line, and the closing count."""
    return [*cell_lines(cells), f"{len({cell.row for cell in cells})} row(s)"]


def text_of(lines: Iterable[str]) -> str:
    """Joins lines to the text of a file."""
    return "".join(f"{line}\n" for line in lines)


def ls_lines(wal_root: str, files: Iterable[ArchivedFile], membership: Membership) -> list[str]:
    """Returns the lines of `hdfs dfs -ls -R` of WALs, remoteWALs and oldWALs, in UTC.

    Files that are in no directory of a server come first.
    """

    def line(kind: str, length: int, time: int, path: str) -> str:
        minute = datetime.fromtimestamp(time // 1000, UTC).strftime("%Y-%m-%d %H:%M")
        return f"{kind}rw-r--r--   3 hbase hbase {length:>10} {minute} {wal_root}/{path}"

    live = {f"WALs/{one.server}": one.modification_time for one in membership.wal_directories}
    lines = []
    for directory, time in sorted(live.items()):
        lines.append(line("d", 0, time, directory))
        lines += [
            line("-", file.length, file.modification_time, file.path)
            for file in files
            if file.path.startswith(f"{directory}/")
        ]
    archived = [file for file in files if file.path.startswith("oldWALs/")]
    return [*lines, *(line("-", file.length, file.modification_time, file.path) for file in archived)]


@dataclass
class Exported:
    """One export directory; a test changes `hosts`, `times` or `parts` and writes it.

    Attributes:
        made: the cluster.
        hosts: the hosts that stamped parts, where it is another host than `EDGE`.
        parts: the lines between the stamps, by part.
        times: when each part began and ended, ms.
    """

    made: GeneratedCapture
    hosts: dict[str, str] = field(default_factory=dict)
    parts: dict[str, list[str]] = field(default_factory=dict)
    times: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        snapshot = self.made.snapshot
        first, second = snapshot.membership, snapshot.membership_2
        flags, flags_2 = snapshot.flags, snapshot.flags_2
        assert first is not None
        assert second is not None
        assert flags is not None
        assert flags_2 is not None
        listing = ls_lines(snapshot.wal_root, self.made.files, first)
        documents: dict[str, Any] = {
            "online": _servers(first),
            "crashing": {**_master(first), "procedures": _procedures(first)},
            "peers": {"peers": [_peer(one.peer_id, one.state) for one in snapshot.peers], "flags": _flags(flags)},
            "online-2": _servers(second),
            "settings": {
                "cluster_id": snapshot.cluster_id,
                "hbase_version": snapshot.hbase_version,
                "retention": {name: getattr(snapshot.retention, name) for name in snapshot.retention.__slots__},
                "log_cleaner_plugins": ",".join(snapshot.log_cleaner_plugins or ()),
                "backup_enabled": False,
                "backup_stated": True,
            },
            "crashing-2": {**_master(second), "procedures": _procedures(second), "flags": _flags(flags_2)},
        }
        self.parts = {
            "files": listing,
            "wal_directories": [line for line in listing if f"{snapshot.wal_root}/WALs/" in line],
            **{name: [json.dumps(document)] for name, document in documents.items()},
            "queues-1": closed(self.made.pass_1),
            "queues-2": closed(self.made.pass_2),
        }
        self.times = {step.step: (step.started_at, step.finished_at) for step in snapshot.steps}
        self.times["settings"] = self.times["crashing-2"]

    def text(self, name: str) -> str:
        """Returns the text of one part with its stamps."""
        started, finished = map(format_instant, self.times[name])
        begin = f"# walsafe-export 1 {name} started {started} host {self.hosts.get(name, EDGE)} zone UTC"
        return text_of([begin, *self.parts[name], f"# walsafe-export end {name} finished {finished} status 0"])

    def write(self, directory: Path) -> Path:
        """Writes all parts, and returns the directory."""
        directory.mkdir(parents=True, exist_ok=True)
        for name in self.parts:
            (directory / f"{name}.txt").write_text(self.text(name), encoding="utf-8")
        return directory


REPLICATION = "/hbase/replication"
PEER = bytes.fromhex("ff0000000177") + b"PBUF" + bytes.fromhex("0a0f") + b"zk1:2181:/hbase"
"""What HBase writes into the znode of a peer."""
HBASEID = b"PBUF" + bytes.fromhex("0a0161")


def counted(znodes: Sequence[Znode]) -> list[str]:
    """Returns znodes, one a line, and the closing count."""
    return [*(json.dumps(znode_document(znode)) for znode in znodes), f"{len(znodes)} znode(s)"]


def zookeeper_export(made: GeneratedCapture, reading: Sequence[Znode]) -> Exported:
    """Returns the export of a cluster whose queues are in ZooKeeper, with a peer `1`, while nothing moves."""
    exported = Exported(made)
    assert made.snapshot.membership is not None
    servers = json.dumps({"servers": sorted(map(str, made.snapshot.membership.online))})
    peers = [Znode(f"{REPLICATION}/peers/1", PEER, 0), Znode(f"{REPLICATION}/peers/1/peer-state", b"PBUF\x08\x00", 0)]
    settings = json.loads(exported.parts["settings"][0])
    settings |= {
        "hbase_version": None,
        "queue_storage": "zookeeper",
        "replication": REPLICATION,
        "hbaseid": b64encode(HBASEID).decode(),
    }
    exported.parts = {
        "files": exported.parts["files"],
        "online": [servers],
        "peers": counted(peers),
        "queues-1": counted(reading),
        "queues-2": counted(reading),
        "online-2": [servers],
        "peers-2": counted(peers),
        "settings": [json.dumps(settings)],
    }
    exported.times["peers-2"] = exported.times["settings"]
    return exported


def _master(membership: Membership) -> dict[str, Any]:
    return {"active_master": membership.active_master, "named_first": True}


def _servers(membership: Membership) -> dict[str, list[str]]:
    return {"dead": [], "servers": sorted(map(str, membership.online))}


def _procedures(membership: Membership) -> str:
    names = [{"hostName": one.host, "port": one.port, "startCode": one.startcode} for one in membership.crashing]
    return json.dumps(
        [
            {"className": "a.ServerCrashProcedure", "state": "RUNNABLE", "stateMessage": [{"serverName": name}]}
            for name in names
        ]
    )


def _peer(peer_id: str, state: str) -> dict[str, Any]:
    unknown = dict.fromkeys(
        ("cluster_key", "endpoint", "serial", "replicate_all", "sync_replication_state", "remote_wal_dir")
    )
    return {"peer_id": peer_id, "state": state, "config": {}, **unknown}


def _flags(flags: MasterFlags) -> dict[str, bool | None]:
    return {name: getattr(flags, name) for name in flags.__slots__}
