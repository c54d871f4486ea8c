"""Lists and clusters for which clean moves nothing."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pipelines.cleanup.audit_ports import DecidedRun
from pipelines.cleanup.clean import CleanRequest, clean
from pipelines.common.errors import RefusedError, UsageError
from pipelines.reconcile.delete_list import Manifest
from tests.labs.cleanup.listed_night import RUN, answered, done, night, rows, statuses
from tests.labs.cleanup.memory import Kill, Process
from tests.labs.cleanup.world import LEASE_MS, PLACE, World, cleaning, killed, purging, restoring


def refused(world: World, words: str) -> None:
    """In a rehearsal as in earnest."""
    for request in (CleanRequest(RUN), CleanRequest(RUN, execute=True)):
        process = Process()
        place, ports = world.edges(process)
        with pytest.raises(RefusedError, match=words):
            clean(request, place, ports)
        assert not [name for name in process.steps if name.startswith(("move ", "intend"))]


Change = Callable[[Manifest, DecidedRun], tuple[Manifest, DecidedRun]]


@pytest.mark.promise("list-is-cleaned-once")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda one, run: (replace(one, cluster="other"), run),
            "the manifest is that of run n1 of cluster other, not of n1 of prod: somebody copied it",
        ),
        (
            lambda one, run: (replace(one, run_id="n9"), run),
            "the manifest is that of run n9 of cluster prod, not of n1",
        ),
        (lambda one, run: (replace(one, snapshot_sha256="f" * 64), run), "was decided on another snapshot"),
        (lambda one, run: (one, replace(run, snapshot_sha256="f" * 64)), "was decided on another snapshot"),
        (lambda one, run: (replace(one, cluster_id=None), run), "the list does not say which cluster"),
        (
            lambda one, run: (replace(one, cluster_id=None), replace(run, cluster_id=None)),
            "the list does not say which cluster",
        ),
        (lambda one, run: (one, replace(run, peer_ids=None)), "did not write its peers down"),
        (lambda one, run: (one, replace(run, cluster_id=None)), "with id id by the list, and with none by the lake"),
        (lambda one, run: (one, replace(run, cluster_id="x")), "with id id by the list, and with x by the lake"),
        (lambda one, run: (one, replace(run, peer_ids=())), "peer '1' was added since the list was decided"),
    ],
)
def test_a_list_that_does_not_fit_the_lake_or_the_cluster_is_not_cleaned(change: Change, words: str) -> None:
    world = night()
    world.manifests[RUN], world.lake.decided[RUN] = change(world.manifests[RUN], world.lake.decided[RUN])
    refused(world, words)


def test_a_list_is_valid_until_its_last_millisecond() -> None:
    world = night()
    world.disk.now = world.manifests[RUN].not_after
    assert done(world, CleanRequest(RUN)).exit_code == 0
    world.disk.now += 1
    refused(world, "the list is valid until .* and it is")


@pytest.mark.promise("list-is-cleaned-once")
@pytest.mark.parametrize("job", [restoring(RUN), purging(RUN)])
def test_a_list_of_which_files_were_restored_or_purged_is_not_cleaned(job: Callable[[World, Process], object]) -> None:
    world = night()
    cleaning(RUN, 2)(world, Process())
    job(world, Process())
    world.disk.now += LEASE_MS
    refused(world, "were restored or purged already: a list is cleaned once")
    with pytest.raises(RefusedError, match="were restored or purged already"):
        done(world, CleanRequest(RUN, resume=True))


@pytest.mark.promise("list-is-cleaned-once")
def test_a_list_that_was_cleaned_is_resumed_and_not_begun_again() -> None:
    world = night()
    cleaning(RUN, 2)(world, Process())
    with pytest.raises(RefusedError, match="run n1 was cleaned before, and a list is cleaned once"):
        done(world)
    assert done(world, CleanRequest(RUN)).result["status"] == "REHEARSAL"
    assert done(world, CleanRequest(RUN, resume=True)).result["status"] == "DONE"


def test_a_list_that_was_never_begun_is_not_resumed() -> None:
    world = night()
    with pytest.raises(UsageError, match="nothing to resume: no clean-up of run n1 has begun to move a file"):
        done(world, CleanRequest(RUN, resume=True))
    assert (world.resting(), world.lake.cleanups, world.disk.names(PLACE.home)) == ({}, [], [])
    assert done(world).result["status"] == "DONE"


@pytest.mark.promise("killed-clean-is-resumed")
def test_an_attempt_that_died_before_its_first_file_is_executed_again() -> None:
    world = night()
    begun: list[str] = []
    for step in itertools.count():
        world = night()
        assert killed(cleaning(RUN), world, Process(Kill(step, after=True)))
        if rows(world, intents=True):
            break
        begun += statuses(world)
        world.disk.now += LEASE_MS
        with pytest.raises(UsageError, match="start it with --execute"):
            done(world, CleanRequest(RUN, resume=True))
        assert answered(done(world)) == {"status": "DONE", "reason": None, "done_files": 5, "done_bytes": 15}
    assert begun
    assert set(begun) == {"STARTED"}


@pytest.mark.promise("deletable-in-both-looks")
@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ({"refused": "the queues changed"}, "the cluster cannot be believed now: the queues changed"),
        ({"add_peer_running": True}, "a peer is being added"),
        ({"peer_ids": ("1", "7")}, "peer '7' was added since the list was decided"),
        ({"restless": "a server died"}, r"the cluster moved while it was read \(a server died\)"),
        ({"cluster_id": "x"}, "decided on for the cluster with id id, but the cluster that answers has id x"),
        ({"cluster_id": None}, "but the cluster that answers has id unknown"),
    ],
)
def test_a_second_look_that_does_not_fit_the_list_moves_nothing(seen: dict[str, Any], words: str) -> None:
    for execute in (False, True):
        world = night()
        place, ports = world.edges(Process())
        look = ports.second_look.at_list
        ports.second_look.at_list = lambda *args, look=look: replace(look(*args), **seen)  # type: ignore[method-assign]
        with pytest.raises(RefusedError, match=words):
            clean(CleanRequest(RUN, execute=execute), place, ports)
        assert not world.resting()


def test_a_peer_that_was_removed_since_is_no_reason() -> None:
    world = night()
    place, ports = world.edges(Process())
    look = ports.second_look.at_list
    ports.second_look.at_list = lambda *args: replace(look(*args), peer_ids=())  # type: ignore[method-assign]
    assert clean(CleanRequest(RUN, execute=True), place, ports).result["status"] == "DONE"
