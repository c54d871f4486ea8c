"""Which sources can be combined: the configuration refuses exactly those that no capture can take in order."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from jobs.cli.config.configuration import parse_config
from pipelines.capture.capture import CaptureTarget
from pipelines.capture.capture_zookeeper import ZooKeeperSources, capture_zookeeper
from pipelines.capture.timeline import RetryPolicy
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UsageError
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.tree import Znode
from pipelines.snapshot.capture_clocks import FILE_SYSTEM, StepStamp
from pipelines.snapshot.capture_order import CAPTURE_ORDER
from pipelines.snapshot.model import CaptureStep
from tests.labs.capture_world import H1, World
from tests.strategies.zookeeper import znodes

TIMES = {"started_at": "2026-11-21T02:00:00Z", "finished_at": "2026-11-21T02:01:00Z"}
ZONE = {"time_zone": "UTC"}
QUORUM = "zk1:2181"
FILES: dict[str, dict[str, Any]] = {
    "hadoop": {},
    "webhdfs": {"urls": ["http://nn1:9870"]},
    "fsimage": {"path": "x", **ZONE, "transaction_time": "2026-11-21T02:00:00Z"},
    "ls": {},
}
QUEUES: dict[str, dict[str, Any]] = {
    "thrift": {"host": "thrift1"},
    "hbase": {},
    "cells": {"passes": [{"path": name, **TIMES} for name in "xy"], "clock_host": "edge"},
    "export": {},
}
SAVED = {"fsimage", "ls", "cells", "export"}
RIGHT_TIMES = {name: CaptureStep(name, 10 * number, 10 * number + 5) for number, name in enumerate(CAPTURE_ORDER)}
"""As one run of the export script would stamp them; they are older than everything that is read now."""


@dataclass
class BesideZooKeeper(World):
    """The same with queues in ZooKeeper."""

    def znodes(self, _name: str, found: Sequence[Znode] | None = None) -> object:
        return znodes({}) if found is None else len(found)

    def cluster_id(self) -> str | None:
        return None

    def online(self, _step: str) -> frozenset[ServerName]:
        return frozenset({H1})

    def take(self) -> None:
        sources = ZooKeeperSources(self, self, self, self)  # type: ignore[arg-type]
        patience = RetryPolicy(1, 1, 0, self.slept.append)
        capture_zookeeper(CaptureTarget("c", "hdfs://n/h", "edge"), sources, self, clock=self, patience=patience)  # type: ignore[arg-type]


def stamps(files: str, queues: str, state: str) -> dict[str, StepStamp]:
    """What the saved ones of these sources say about their steps."""
    source_of = {"files": files, "queues-1": queues, "queues-2": queues}
    return {
        name: StepStamp(step, FILE_SYSTEM if source_of.get(name) == "fsimage" else "edge")
        for name, step in RIGHT_TIMES.items()
        if source_of.get(name, state) in SAVED
    }


def is_in_order(world: World) -> bool:
    try:
        world.take() if isinstance(world, BesideZooKeeper) else world.capture()
    except RefusedError as refused:
        return refused.condition is not Condition.SNAPSHOT_OUT_OF_ORDER
    return True


def refusal(files: str, queues: dict[str, Any], state: dict[str, Any]) -> str | None:
    """What the configuration says against it."""
    capture = {
        "files": {"source": files, **FILES[files]},
        "queues": queues,
        "state": state,
        "hbase": {"site": "/s.xml"},
        "export": {"path": "/e"},
    }
    text = json.dumps({"cluster": "c", "wal_root": "hdfs://ns1/hbase", "capture": capture})
    try:
        parse_config(text, "c.yaml")
    except UsageError as error:
        return str(error)
    return None


@pytest.mark.promise("only-sources-in-order")
@pytest.mark.parametrize(("files", "queues", "state"), list(product(FILES, QUEUES, ("hbase", "export"))))
def test_queues_in_the_table(files: str, queues: str, state: str) -> None:
    told = refusal(files, {"source": queues, **QUEUES[queues]}, {"source": state})
    assert (told is None) == is_in_order(World(stamps=stamps(files, queues, state)))
    if told is not None:
        assert "never in the capture order" in told
        assert f"state.source {state}" in told
        assert "ive " in told, "it names the way out"


@pytest.mark.promise("only-sources-in-order")
@pytest.mark.parametrize(
    ("files", "queues", "state"),
    [*product(FILES, ["zookeeper"], ["hbase", "zookeeper"]), *product(FILES, ["export"], ["export"])],
)
def test_queues_in_zookeeper(files: str, queues: str, state: str) -> None:
    source = {"zookeeper": {"quorum": QUORUM}, "export": {"storage": "zookeeper"}}[queues]
    told = refusal(files, {"source": queues, **source}, {"source": state})
    assert (told is None) == is_in_order(BesideZooKeeper(stamps=stamps(files, queues, state)))


@pytest.mark.promise("only-sources-in-order")
@pytest.mark.parametrize("queues", ["cells", "export"])
@pytest.mark.parametrize("files", ["hadoop", "webhdfs"])
def test_of_a_cluster_that_is_down_the_queues_may_be_saved(files: str, queues: str) -> None:
    state = {"source": "offline", "quorum": QUORUM}
    assert refusal(files, {"source": queues, **QUEUES[queues]}, state) is None
