"""What reads the parts of an export, with whole samples: see `parsers`."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from pipelines.capture.sources.export_parts import ExportDirectory
from pipelines.capture.sources.exported_state import ExportedState
from pipelines.capture.sources.exported_znodes import ExportedZnodes
from pipelines.capture.sources.saved_scans import ExportedQueues
from pipelines.files.saved_text import LocalCopies
from tests.fuzz.parser import Parser
from tests.fuzz.samples import CELLS, LS_LINES, PROCEDURES, ROOT, SERVER, SNAPSHOT, cell_line
from tests.labs.exported_cluster import counted
from tests.strategies.clusters import MASTER
from tests.strategies.zookeeper import BASE, znodes


def _export(step: str, read: Callable[[ExportDirectory], object], **others: bytes) -> Callable[[bytes], object]:
    """A parser of one part of an export; `others` are whole."""

    def parse(raw: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder:
            for name, part in {**others, step: raw}.items():
                Path(folder, f"{name}.txt").write_bytes(part)
            return read(ExportDirectory(folder, LocalCopies()))

    return parse


def _part(step: str, *lines: str) -> bytes:
    first = f"# walsafe-export 1 {step} started 2026-11-21T02:00:00.000Z host edge1 zone Europe/Vienna"
    last = f"# walsafe-export end {step} finished 2026-11-21T02:00:01.000Z status 0"
    return "".join(f"{line}\n" for line in (first, *lines, last)).encode()


def _state(read: Callable[[ExportedState], object]) -> Callable[[ExportDirectory], object]:
    return lambda export: read(ExportedState(export, ROOT))


_SETTINGS = json.dumps(
    {
        "cluster_id": None,
        "hbase_version": "3.0.0",
        "retention": {"wal_ttl_ms": 1, "procedure_wal_ttl_ms": 2, "master_local_wal_ttl_ms": 3},
        "log_cleaner_plugins": "a.B, c.D",
        "backup_enabled": False,
    }
)
_ZNODE_SETTINGS = _part(
    "settings",
    json.dumps({**json.loads(_SETTINGS), "queue_storage": "zookeeper", "replication": BASE, "hbaseid": "UEJVRgoBYQ=="}),
)
_MASTER = {"active_master": MASTER, "named_first": True}
EXPORT_PARSERS: dict[str, Parser] = {
    "export_queues": Parser(
        _export("queues-1", lambda export: list(ExportedQueues(export).cells("queues-1"))),
        (_part("queues-1", cell_line(CELLS[-1]), "1 row(s)"),),
    ),
    "export_znodes": Parser(
        _export("queues-1", lambda export: ExportedZnodes(export).znodes("queues-1"), settings=_ZNODE_SETTINGS),
        (_part("queues-1", *counted(znodes({(SERVER, "1"): {"w.1": b""}}))),),
    ),
    "export_directories": Parser(
        _export("wal_directories", _state(lambda state: state.wal_directories())),
        (_part("wal_directories", *LS_LINES[:2]),),
    ),
    "export_settings": Parser(
        _export("settings", _state(lambda state: state.settings())), (_part("settings", _SETTINGS),)
    ),
    "export_online": Parser(
        _export("online", _state(lambda state: (state.servers("online"), state.active_master("online")))),
        (_part("online", json.dumps({**_MASTER, "servers": [SERVER], "dead": [SERVER]})),),
    ),
    "export_crashing": Parser(
        _export("crashing", _state(lambda state: state.crashing("crashing"))),
        (_part("crashing", json.dumps({"procedures": json.dumps(PROCEDURES), **_MASTER})),),
    ),
    "export_peers": Parser(
        _export("peers", _state(lambda state: (state.peers(), state.flags("peers")))),
        (_part("peers", json.dumps({"peers": SNAPSHOT["peers"], "flags": SNAPSHOT["flags"]})),),
    ),
}
