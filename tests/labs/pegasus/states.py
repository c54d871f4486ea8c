"""States of a small Pegasus cluster: a table that is split from 4 to 8, well; tests spoil them."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

NODES = ("10.0.0.1:34801", "10.0.0.2:34801", "10.0.0.3:34801")
ENV = "replica.split.validate_partition_hash"
DISK = {"node": NODES[0], "disk": "/data1", "capacity": 1000, "used": 600, "apps": {"2": 90}}
States = list[dict[str, Any]]


def node(partition: int, ballot: int) -> dict[str, Any]:
    primary = NODES[partition % 3]
    return {
        "pid": f"2.{partition}",
        "ballot": ballot,
        "max_replica_count": 3,
        "primary": primary,
        "secondaries": [one for one in NODES if one != primary],
        "last_drops": [],
        "last_committed_decree": 0,
        "partition_flags": 0,
    }


def state(minute: int, count: int, registered: int, ballot: int = 3, **more: object) -> dict[str, Any]:
    """Returns a state: parents have `ballot`, the first `registered` children have a ballot one higher."""
    partitions = {str(index): node(index, ballot) for index in range(4)}
    for index in range(4, 4 + registered):
        partitions[str(index)] = {**node(index - 4, ballot + 1), "pid": f"2.{index}"}
    table: dict[str, Any] = {
        "app_info": {
            "status": "app_status::AS_AVAILABLE",
            "app_type": "pegasus",
            "app_name": "temp",
            "app_id": 2,
            "partition_count": count,
            "envs": {ENV: "true"} if count == 8 else {},
            "is_stateful": True,
            "max_replica_count": 3,
            "expire_second": 0,
            "duplicating": False,
            "init_partition_count": 4,
            "is_bulk_loading": False,
        },
        "partitions": partitions,
        **more,
    }
    return {
        "format": 1,
        "cluster": "onebox",
        "observed_at": f"2026-11-21T{2 + minute // 60:02}:{minute % 60:02}:00.000Z",
        "meta_leader": "10.0.0.9:34601",
        "apps": [table],
    }


def series() -> list[dict[str, Any]]:
    """Returns four states: before the split, begun, half of the children registered, all registered."""
    return copy.deepcopy(
        [
            state(0, 4, 0),
            state(5, 8, 0, split_states=dict.fromkeys("0123", "SPLITTING")),
            state(10, 8, 2, split_states=dict.fromkeys("23", "SPLITTING")),
            state(15, 8, 4, split_states={}),
        ]
    )


def written(root: Path, states: list[dict[str, Any]]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    for place, one in enumerate(states):
        (root / f"{place}.json").write_text(json.dumps(one))
    return root


SHELL = {
    "parameters": {"app_name": "temp", "detailed": "true"},
    "general": {"app_name": "temp", "app_id": "2", "partition_count": "4", "max_replica_count": "3"},
    "replicas": {
        str(index): {
            "pidx": str(index),
            "ballot": "3",
            "replica_count": "3/3",
            "primary": NODES[0],
            "secondaries": f"[{NODES[1]},{NODES[2]}]",
        }
        for index in range(4)
    },
    "nodes": {},
    "summary": {"total_unhealthy_partition_count": "0"},
}


def table(states: States, place: int = -1) -> dict[str, Any]:
    """Returns the only table of one of the states."""
    found: dict[str, Any] = states[place]["apps"][0]
    return found


def spoil(path: str, value: object, place: int = -1) -> Callable[[States], None]:
    """Returns a change that sets a value of the table, by its path."""

    def change(states: States) -> None:
        target: Any = table(states, place)
        *way, last = path.split("/")
        for key in way:
            target = target[key]
        target[last] = value

    return change


def drop(partition: str, place: int = -1) -> Callable[[States], None]:
    """Returns a change that takes a partition out of the table."""
    return lambda states: table(states, place)["partitions"].pop(partition)


def all_of(*changes: Callable[[States], None]) -> Callable[[States], None]:
    """Returns a change that makes several changes."""

    def change(states: States) -> None:
        for one in changes:
            one(states)

    return change


def disks(**first: object) -> Callable[[States], None]:
    """Returns a change that gives every node a disk, and the first one what else is said."""
    found = [{**DISK, "node": node} for node in NODES]
    return lambda states: states[0].update(disks=[{**found[0], **first}, *found[1:]])


def ready() -> dict[str, Any]:
    """Returns a state whose table may be split."""
    document = state(0, 4, 0)
    disks()([document])
    return document
