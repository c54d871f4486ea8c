"""Files and directories in the quarantine that are not what clean put there."""

from copy import deepcopy
from dataclasses import replace
from functools import partial

from tests.cleanup_memory import Entry, Kill, Process
from tests.cleanup_world import LEASE_MS, PLACE, World, cleaning, killed, purging, restoring

N1 = "n1"
FILES = [f"oldWALs/h1/wal.{number}" for number in (1, 2, 3)]


def cleaned(*nights: str) -> World:
    """Each night found files of its own, and they were cleaned."""
    world = World()
    for night in nights or (N1,):
        for path in FILES:
            world.archives(path if night == N1 else f"{path}.{night}", needed=False)
        world.night(night)
        cleaning(night)(world, Process())
    return world


def put(world: World, run_id: str, path: str, entry: Entry) -> None:
    world.disk.files[f"{PLACE.at_rest(run_id)}/{path}"] = entry


def test_restore_puts_back_the_very_files_that_were_moved() -> None:
    world = cleaned()
    first, second, third = (world.resting()[N1, path] for path in FILES)
    put(world, N1, FILES[0], replace(first, length=first.length + 1))
    put(world, N1, FILES[1], replace(second, modification_time=second.modification_time + 1))
    put(world, N1, "oldWALs/h1/wal.9", Entry(1, 1))
    done = restoring(N1)(world, Process())
    assert done is not None
    left = {one["path"]: one["outcome"] for one in done.result["left"]}  # type: ignore[attr-defined, union-attr]
    assert left == {FILES[0]: "CHANGED", FILES[1]: "CHANGED", "oldWALs/h1/wal.9": "REFUSED"}
    assert (done.exit_code, done.result["done_files"], done.result["left_files"]) == (0, 1, 3)
    assert world.home() == {FILES[2]: third}
    assert {path for _, path in world.resting()} == set(left)


def test_restore_puts_back_what_clean_took_for_another_file_and_could_not_move_back() -> None:
    """Another file takes the name between the look and the rename, and the job dies before it can undo it."""
    world = World()
    world.archives(FILES[0], needed=False)
    world.night(N1)
    undisturbed = Process()
    cleaning(N1)(deepcopy(world), undisturbed)
    rename = undisturbed.steps.index("move wal.1")
    anew = Process(Kill(rename, after=True), {rename: partial(world.archives, FILES[0], needed=True)})
    assert killed(cleaning(N1), world, anew)
    (stuck,) = world.resting().values()
    assert stuck.modification_time in world.needed
    world.disk.now += LEASE_MS
    assert purging()(world, Process()) is not None
    assert list(world.resting().values()) == [stuck], "nobody deletes it"
    world.disk.now += LEASE_MS
    restoring(N1)(world, Process())
    assert world.home() == {FILES[0]: stuck}
