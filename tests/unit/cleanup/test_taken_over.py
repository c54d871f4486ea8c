"""A job that another has taken over, and that other still works on the run: it touches no file and writes no row."""

import pytest

from pipelines.cleanup.holder import LeaseHolder
from pipelines.common.errors import UnavailableError
from tests.labs.cleanup.memory import Entry, MemoryStore, Process
from tests.labs.cleanup.world import LEASE_MS, PLACE, START, Job, World, cleaning, purging, restoring

RUN = "n1"
FILES = [f"oldWALs/h1/wal.{number}" for number in (1, 2, 3, 4)]
JOBS: dict[str, Job] = {"clean": cleaning(RUN), "restore": restoring(RUN), "purge": purging(RUN)}


def world_before(kind: str) -> World:
    """In the quarantine is a file besides that nobody moved there, which each job leaves and writes down."""
    world = World()
    for path in FILES:
        world.archives(path, needed=False)
    world.night(RUN)
    if kind == "clean":
        world.needed.add(world.home()[FILES[0]].modification_time)
    else:
        cleaning(RUN)(world, Process())
        world.disk.now += LEASE_MS
        world.disk.files[f"{PLACE.at_rest(RUN)}/oldWALs/h1/wal.9"] = Entry(1, START + 9)
    return world


def steps(kind: str) -> list[str]:
    """Those of a job that nobody disturbs, once it has taken the run."""
    process = Process()
    JOBS[kind](world_before(kind), process)
    return process.steps


def moments(kind: str) -> list[tuple[int, str]]:
    """Steps that tell; not the last rows, after which a job has nothing to do but to give back the lease.

    Nor the first row of restore: the rows after it are of files that it leaves, and say nothing of where a file is.
    """
    own = [
        (number, name)
        for number, name in enumerate(steps(kind))
        if name.startswith(("started", "intend", "move ", "delete wal", "record"))
    ]
    return own[1 if kind == "restore" else 0 : -1]


CASES = [pytest.param(kind, number, id=f"{kind}-{number}-{name}") for kind in JOBS for number, name in moments(kind)]


@pytest.mark.promise("holder-that-overslept-does-nothing")
@pytest.mark.parametrize(("kind", "number"), CASES)
def test_it_ends_with_the_step_that_it_was_in(kind: str, number: int) -> None:
    world = world_before(kind)
    others: list[LeaseHolder] = []
    seen: list[object] = []

    def files() -> object:
        return {uri: entry for uri, entry in world.disk.files.items() if "/.leases/" not in uri}

    def meanwhile() -> None:
        world.disk.now += LEASE_MS
        others.append(LeaseHolder(MemoryStore(world.disk, Process()), PLACE, "next 9", LEASE_MS).__enter__())
        others[0].make_run(RUN)
        seen.append(files())

    process = Process(meanwhile={number: meanwhile})
    written = len([name for name in steps(kind)[: number + 1] if name in {"intend", "record"}])
    with pytest.raises(UnavailableError, match="another job holds lease"):
        JOBS[kind](world, process)
    assert len([name for name in process.steps if name in {"intend", "record"}]) == written
    assert seen == [files()]
    others[0].check()
