"""Each refusal of the clean-up has the name that programs ask for."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from pipelines.cleanup.audit_ports import DecidedRun, SecondLookResult
from pipelines.cleanup.deletions import CleanupAction
from pipelines.cleanup.list_checks import check_age, check_begun, check_manifest, check_once
from pipelines.cleanup.paths import refuse_outside
from pipelines.cleanup.request import check_second_look, decided_run
from pipelines.common.conditions import Condition
from pipelines.common.errors import EXIT_USAGE, RefusedError, UsageError
from pipelines.reconcile.delete_list import Manifest
from tests.labs.cleanup.memory import Process
from tests.labs.cleanup.world import World
from tests.unit.cleanup.test_machine import N1, world_before

QUIET = SecondLookResult(None, None, "id", ("1",), "a" * 64, ())


@pytest.fixture
def world() -> World:
    return world_before("clean")


def manifest_of(world: World) -> Manifest:
    return world.edges(Process())[1].lists.manifest("prod", N1)


def refused(act: Callable[[], object]) -> Condition:
    with pytest.raises(RefusedError) as error:
        act()
    return error.value.condition


@pytest.mark.parametrize(
    ("looked", "condition"),
    [
        (replace(QUIET, cluster_id="other"), Condition.ANOTHER_CLUSTER),
        (replace(QUIET, refused="no master", condition=Condition.MASTER_CHANGED), Condition.MASTER_CHANGED),
        (replace(QUIET, add_peer_running=True), Condition.ADD_PEER_RUNNING),
        (replace(QUIET, peer_ids=("1", "2")), Condition.PEER_ADDED),
        (replace(QUIET, restless="a server left"), Condition.CLUSTER_NOT_QUIET),
    ],
)
def test_of_the_second_look(looked: SecondLookResult, condition: Condition) -> None:
    check_second_look(QUIET, ("1",), "id")
    assert refused(lambda: check_second_look(looked, ("1",), "id")) is condition


@pytest.mark.parametrize(
    ("manifest", "decided", "condition"),
    [
        ({"run_id": "x"}, {}, Condition.LIST_OF_ANOTHER_RUN),
        ({"snapshot_sha256": "b" * 64}, {}, Condition.LIST_OF_ANOTHER_RUN),
        ({"cluster_id": None}, {}, Condition.LIST_WITHOUT_PROOF),
        ({}, {"peer_ids": None}, Condition.LIST_WITHOUT_PROOF),
        ({}, {"cluster_id": "other"}, Condition.ANOTHER_CLUSTER),
    ],
)
def test_of_a_list(
    world: World, manifest: dict[str, str | None], decided: dict[str, str | None], condition: Condition
) -> None:
    place, _ = world.edges(Process())
    good = world.lake.decided[N1]
    check_manifest(manifest_of(world), good, place)
    one: DecidedRun = replace(good, **decided)  # type: ignore[arg-type]
    other = replace(manifest_of(world), **manifest)  # type: ignore[arg-type]
    assert refused(lambda: check_manifest(other, one, place)) is condition


def test_of_a_run_and_its_age(world: World) -> None:
    place, ports = world.edges(Process())
    assert refused(lambda: decided_run(ports, place, "x")) is Condition.RUN_UNKNOWN
    old = replace(manifest_of(world), not_after=ports.clock.now_ms() - 1)
    assert refused(lambda: check_age(old, ports)) is Condition.LIST_EXPIRED


def test_a_list_that_was_begun_has_another_name_than_one_that_is_over() -> None:
    cleaned, over = frozenset({CleanupAction.CLEAN}), frozenset({CleanupAction.CLEAN, CleanupAction.PURGE})
    check_once(cleaned, N1, anew=False)
    assert refused(lambda: check_once(cleaned, N1, anew=True)) is Condition.LIST_ALREADY_CLEANED
    assert refused(lambda: check_once(over, N1, anew=False)) is Condition.LIST_RESTORED_OR_PURGED


def test_a_list_of_which_no_file_was_begun_is_begun_and_not_resumed() -> None:
    check_once(frozenset(), N1, anew=True)
    with pytest.raises(UsageError, match=rf"no clean-up of run {N1} has begun .*; start it with --execute") as nothing:
        check_begun(frozenset(), N1)
    assert (nothing.value.exit_code, nothing.value.condition) == (EXIT_USAGE, Condition.USAGE)
    check_begun(frozenset({CleanupAction.CLEAN}), N1)


def test_of_a_path() -> None:
    assert refused(lambda: refuse_outside("hdfs://ns1/data/a", ("hdfs://ns1/hbase",))) is Condition.OUTSIDE_WAL_ROOT
    assert refused(lambda: refuse_outside("hdfs://ns1/hbase/../a", ("hdfs://ns1/hbase",))) is Condition.PATH_MALFORMED
