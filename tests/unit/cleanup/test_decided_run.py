"""What a clean-up says of a run on which it cannot act."""

import pytest

from pipelines.cleanup.request import decided_run
from pipelines.common.errors import RefusedError
from pipelines.lake.run_summary import REFUSED
from tests.labs.cleanup.memory import Process
from tests.labs.cleanup.world import World


def refusal(world: World, run_id: str) -> str:
    place, ports = world.edges(Process())
    with pytest.raises(RefusedError) as refused:
        decided_run(ports, place, run_id)
    return str(refused.value)


def test_a_run_that_never_ended_here_is_answered_with_the_newest_one() -> None:
    said = refusal(World(), "n9")
    assert said.startswith("run n9 of cluster prod never ended in this lake")
    assert said.endswith("--cluster and --lake; its newest run there is newest")


def test_a_run_that_was_refused_says_so() -> None:
    world = World()
    world.decided.status = REFUSED
    assert refusal(world, "newest") == "run newest of cluster prod was REFUSED (why): capture and reconcile again"
    assert refusal(world, "n9").endswith("; its newest run there is older")


def test_a_lake_without_runs_names_none() -> None:
    world = World()
    world.decided.status = None
    assert refusal(world, "n9").endswith("check --run-id, --cluster and --lake")
