"""States that the real cleaner can be asked about: one reading of a cluster, and files."""

import base64
import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from hypothesis import strategies as st

from jobs.demo.cluster.snapshots import SAFE_FLAGS
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.settings import ReconcileSettings, Release
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.model import Membership, WalDirectory
from tests.strategies import ClusterCase, cluster_cases, generated_cases, view_of
from tests.strategies.clusters import MASTER, NOW, snapshot_of
from tests.strategies.garbage import edited_bytes

JsonValue: TypeAlias = Any


@dataclass(frozen=True)
class JudgedState:
    """One state.

    Attributes:
        first: whom HBase would count as not fully dead: online and crashing. The directories are ours alone.
        second: our second look.
        barrier: AddPeer holds the cleaner's barrier.
        cells: the whole of hbase:replication, in scan order; both of our passes read it.
        files: under oldWALs.
    """

    peer_ids: tuple[str, ...]
    first: Membership
    second: Membership
    barrier: bool
    cells: tuple[Cell, ...]
    files: tuple[ArchivedFile, ...]
    release: Release

    @property
    def live(self) -> tuple[str, ...]:
        """What the cleaner is told to be not fully dead."""
        return tuple(map(str, sorted(self.first.online | self.first.crashing)))

    @cached_property
    def view(self) -> ClusterView:
        """As reconcile would build it."""
        flags = replace(SAFE_FLAGS, add_peer_running=self.barrier)
        snapshot = replace(snapshot_of(self.peer_ids, self.first, self.second), flags=flags, flags_2=flags)
        return view_of(
            ClusterCase(snapshot, self.files, (), self.cells, self.cells, ReconcileSettings(release=self.release))
        )


def _state_of(case: ClusterCase, garbage: tuple[Cell, ...]) -> JudgedState:
    first, second, flags = case.snapshot.membership, case.snapshot.membership_2, case.snapshot.flags
    assert first is not None
    assert second is not None
    assert flags is not None
    # HBase keeps one value for each column
    cells = {(cell.row, cell.family, cell.qualifier): cell for cell in (*case.pass_2, *garbage)}
    return JudgedState(
        peer_ids=tuple(sorted(peer.peer_id for peer in case.snapshot.peers)),
        # a master that changes is no matter of the cleaner's
        first=replace(first, active_master=MASTER),
        second=replace(second, active_master=MASTER),
        barrier=flags.add_peer_running is True,
        cells=tuple(cells[key] for key in sorted(cells)),
        files=case.files,
        release=case.settings.release,
    )


@st.composite
def judged_states(draw: st.DrawFn) -> JudgedState:
    """Clusters full of traps, or true to life, with one reading of the table; now and then a cell of it is garbage."""
    malformed = draw(st.integers(0, 9)) == 9
    traps = cluster_cases(min_files=12, max_files=40, malformed=malformed, control_characters=True)
    case = draw(generated_cases() if draw(st.integers(0, 4)) == 4 else traps)
    queue_cells = [cell for cell in case.pass_2 if cell.family == b"queue"]
    garbage: tuple[Cell, ...] = ()
    if queue_cells and draw(st.integers(0, 9)) == 9:
        cell = draw(st.sampled_from(queue_cells))
        part = draw(st.sampled_from(("row", "qualifier", "value")))
        broken = replace(cell, **{part: draw(edited_bytes(st.just(getattr(cell, part))))})
        garbage = (broken,) if broken.row else ()
    return _state_of(case, garbage)


# the form in which states are kept


def state_document(state: JudgedState) -> dict[str, JsonValue]:
    """JSON of a state; ages count from the start of step `files`."""
    return {
        "peers": list(state.peer_ids),
        "online": sorted(map(str, state.first.online)),
        "crashing": sorted(map(str, state.first.crashing)),
        "directories": [
            {"server": str(one.server), "entries": one.entries, "age_ms": NOW - one.modification_time}
            for one in state.first.wal_directories
        ],
        "online_2": sorted(map(str, state.second.online)),
        "crashing_2": sorted(map(str, state.second.crashing)),
        "barrier": state.barrier,
        "release": asdict(state.release),
        "cells": [[_text(part) for part in (c.row, c.family, c.qualifier, c.value)] for c in state.cells],
        "files": [[file.path, file.length, NOW - file.modification_time] for file in state.files],
    }


def parse_state(document: dict[str, JsonValue]) -> JudgedState:
    """The inverse of `state_document`."""
    directories = tuple(
        WalDirectory(ServerName.parse(one["server"]), one["entries"], NOW - one["age_ms"])
        for one in document["directories"]
    )
    return JudgedState(
        peer_ids=tuple(document["peers"]),
        first=Membership(MASTER, _servers(document["online"]), _servers(document["crashing"]), directories),
        second=Membership(MASTER, _servers(document["online_2"]), _servers(document["crashing_2"])),
        barrier=document["barrier"],
        cells=tuple(Cell(*map(_bytes, cell)) for cell in document["cells"]),
        files=tuple(ArchivedFile(path, length, NOW - age) for path, length, age in document["files"]),
        release=Release(**document["release"]),
    )


def one_line_each(document: dict[str, JsonValue]) -> str:
    """JSON with a line for each key, and for each entry of what is long."""
    lines = []
    for key, value in document.items():
        text = json.dumps(value)
        if isinstance(value, list) and value and isinstance(value[0], list):
            text = "[\n    " + ",\n    ".join(map(json.dumps, value)) + "\n  ]"
        elif isinstance(value, dict) and len(value) > 3:
            entries = (f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in value.items())
            text = "{\n    " + ",\n    ".join(entries) + "\n  }"
        lines.append(f"  {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _servers(names: list[str]) -> frozenset[ServerName]:
    return frozenset(map(ServerName.parse, names))


def _text(part: bytes) -> JsonValue:
    try:
        return part.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(part).decode("ascii")}


def _bytes(value: JsonValue) -> bytes:
    return value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])
