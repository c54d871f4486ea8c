"""clean and purge refuse while a finding pauses the clean-up; restore never waits, nor does settling a dead job."""

from dataclasses import replace

import pytest

from pipelines.cleanup.clean import CleanRequest, clean
from pipelines.cleanup.deletions import FileOutcome
from pipelines.cleanup.purge import PurgeRequest, purge
from pipelines.common.conditions import Condition
from pipelines.common.errors import EXIT_REFUSED, RefusedError
from pipelines.common.instants import DAY_MS
from pipelines.lake.findings import Acknowledgement
from pipelines.lake.run_summary import FindingRow
from pipelines.reconcile.findings.pause_rules import pauses_clean_up
from pipelines.reconcile.pause import pause_of
from tests.labs.cleanup.memory import Kill, Process
from tests.labs.cleanup.world import LEASE_MS, START, Job, MemoryFindings, World, cleaning, killed, purging, restoring

N1 = "n1"
FILES = [f"oldWALs/h1/wal.{number}" for number in (1, 2, 3)]
KEY = "QUEUE_TABLE_REWOUND:1/h1/g"
REWOUND = FindingRow(
    KEY, "QUEUE_TABLE_REWOUND", "error", "1/h1/g", "1", "h1", "Peer 1 is back at x.", "{}", "Compare the tables.",
    None, None, first_seen=START - DAY_MS, nights=2, is_new=False,
)  # fmt: skip
STALLED = replace(REWOUND, key="QUEUE_STALLED:1/h1/g", code="QUEUE_STALLED")
WORDS = (
    "Clean-up is paused: QUEUE_TABLE_REWOUND in run newest, the newest of cluster prod.",
    "QUEUE_TABLE_REWOUND since 2026-09-20 14:13 UTC: Peer 1 is back at x.",
    "What to do: Compare the tables.",
    f'findings.acknowledged: key "{KEY}", a reason, and until',
)


def world_with(*rows: FindingRow, cleaned: int = 0) -> World:
    """A night is over, and so many files of its list are in the quarantine."""
    world = World()
    for path in FILES:
        world.archives(path, needed=False)
    world.night(N1)
    if cleaned:
        cleaning(N1, cleaned)(world, Process())
    world.decided = MemoryFindings(rows=list(rows))
    return world


ACTING = {"execute": (cleaning(N1), 0), "resume": (cleaning(N1), 1), "purge": (purging(), 1)}


@pytest.mark.promise("finding-pauses-the-clean-up")
@pytest.mark.parametrize(("job", "cleaned"), ACTING.values(), ids=ACTING)
def test_nothing_is_moved_or_deleted_while_a_finding_pauses_the_clean_up(job: Job, cleaned: int) -> None:
    world = world_with(STALLED, REWOUND, cleaned=cleaned)
    home, resting = world.home(), world.resting()
    with pytest.raises(RefusedError) as refused:
        job(world, Process())
    assert (refused.value.exit_code, refused.value.condition) == (EXIT_REFUSED, Condition.CLEANUP_PAUSED)
    assert [words for words in WORDS if words not in str(refused.value)] == []
    assert "QUEUE_STALLED" not in str(refused.value)
    assert (world.home(), world.resting()) == (home, resting)
    world.decided.rows = [STALLED]
    job(world, Process())
    assert (world.home(), world.resting()) != (home, resting), "another finding pauses nothing"


@pytest.mark.promise("refused-run-pauses-the-clean-up")
@pytest.mark.parametrize(("job", "cleaned"), ACTING.values(), ids=ACTING)
@pytest.mark.parametrize(
    ("status", "says"),
    [
        ("REFUSED", "the newest run of cluster prod, newest, was REFUSED (why), so nobody knows which findings are"),
        ("FAILED", "the newest run of cluster prod, newest, was FAILED (why), so nobody knows which findings are"),
        (None, "cluster prod has no finished run in this lake, so nobody knows which findings are open"),
    ],
)
def test_a_run_that_does_not_tell_is_no_leave_to_go_on(job: Job, cleaned: int, status: str | None, says: str) -> None:
    world = world_with(cleaned=cleaned)
    home, resting = world.home(), world.resting()
    world.decided.status = status
    with pytest.raises(RefusedError) as refused:
        job(world, Process())
    assert f"Clean-up is paused: {says}" in str(refused.value)
    assert "reconcile again" in str(refused.value)
    assert (world.home(), world.resting()) == (home, resting)


def test_a_file_is_restored_all_the_same() -> None:
    world = world_with(REWOUND, cleaned=2)
    restoring(N1)(world, Process())
    assert (len(world.home()), world.resting()) == (3, {})


@pytest.mark.promise("finding-pauses-the-clean-up")
@pytest.mark.parametrize("number", range(12))
def test_a_resume_settles_what_a_dead_job_left_and_then_refuses(number: int) -> None:
    world = world_with()
    killed(cleaning(N1), world, Process(Kill(number, after=True)))
    world.disk.now += LEASE_MS
    moved = set(world.home().values())
    world.decided.rows = [REWOUND]
    with pytest.raises(RefusedError, match="Clean-up is paused"):
        cleaning(N1)(world, Process())
    decided = world.lake.decided[N1].run
    assert set(world.home().values()) == moved
    assert world.lake.unsettled(decided) == []
    placed = world.lake.placed(decided)
    found = {path for path, row in placed.items() if row.result and row.result.outcome is FileOutcome.MOVED}
    assert found == {path for _, path in world.resting()}
    world.decided.rows = []
    world.disk.now += LEASE_MS
    cleaning(N1)(world, Process())
    assert world.home() == {}


# acknowledged


@pytest.mark.promise("acknowledgement-has-a-last-day", "only-a-person-goes-past-it")
@pytest.mark.parametrize(
    ("change", "given", "goes_on"),
    [
        ({}, [], False),
        ({}, [Acknowledgement(KEY, "r", START)], True),
        ({}, [Acknowledgement(KEY, "r", START - 1)], False),
        ({}, [Acknowledgement("QUEUE_TABLE_REWOUND:1/h2/g", "r", START)], False),
        ({"acknowledged": True, "acknowledged_until": START}, [], True),
        ({"acknowledged": True, "acknowledged_until": START - 1}, [], False),
        ({"acknowledged": True, "acknowledged_until": START - 1}, [Acknowledgement(KEY, "r", START)], True),
        ({"acknowledged": True, "acknowledged_until": None}, [], False),
        ({"acknowledged": False, "acknowledged_until": START}, [], False),
    ],
)
def test_an_acknowledgement_counts_until_its_last_day_is_over(
    change: dict[str, object], given: list[Acknowledgement], goes_on: bool
) -> None:
    world = world_with(replace(REWOUND, **change))  # type: ignore[arg-type]
    world.acknowledged = given
    if goes_on:
        cleaning(N1)(world, Process())
        assert world.home() == {}
        assert purging()(world, Process()).exit_code == 0  # type: ignore[union-attr]
    else:
        for job in (cleaning(N1), purging()):
            with pytest.raises(RefusedError, match="Clean-up is paused"):
                job(world, Process())


# what is said


@pytest.mark.parametrize("job", ["clean", "purge"])
def test_a_rehearsal_says_it_before_any_number(job: str) -> None:
    world = world_with(STALLED, REWOUND, cleaned=1)
    edges = world.edges(Process())
    done = clean(CleanRequest(N1), *edges) if job == "clean" else purge(PurgeRequest(N1, "full"), *edges)
    assert done.exit_code == 0
    lines = done.text.splitlines()
    assert lines[0] == WORDS[0]
    assert [words for words in WORDS if words not in done.text] == []
    first = next(number for number, line in enumerate(lines) if " files" in line)
    option = "--resume" if job == "clean" else "--execute"
    assert f"{option} is refused while the clean-up is paused" in "\n".join(lines[:first])
    paused = done.result["paused"]
    assert isinstance(paused, dict)
    assert [(one["key"], one["since"]) for one in paused["findings"]] == [(KEY, "2026-09-20T14:13:20.000Z")]
    assert done.text.startswith(paused["text"])


def test_an_answer_says_that_nothing_pauses() -> None:
    world = world_with(STALLED)
    rehearsed, done = clean(CleanRequest(N1), *world.edges(Process())), cleaning(N1)(world, Process())
    purged = purging()(world, Process())
    for outcome in (rehearsed, done, purged):
        assert outcome is not None
        assert outcome.result["paused"] is None
        assert "paused" not in outcome.text


def test_many_findings_are_counted_and_each_kind_is_named() -> None:
    rows = [replace(REWOUND, key=f"{KEY}{number}") for number in range(5)]
    pause = pause_of("prod", "r", [*rows, replace(REWOUND, key="B", code="BEYOND_EOF")], START)
    assert pause is not None
    assert "QUEUE_TABLE_REWOUND, BEYOND_EOF in run r" in pause.lines()[0]
    assert pause.text.count("What to do") == 3
    assert "and 3 more findings like these, in the table findings" in pause.text
    assert "(5 more findings beside it)" in pause.headline


def test_a_finding_that_nobody_has_ruled_on_pauses() -> None:
    assert pauses_clean_up("A_CODE_OF_TOMORROW")
    assert (pauses_clean_up("QUEUE_TABLE_REWOUND"), pauses_clean_up("MISSING_WAL")) == (True, False)
    assert pause_of("prod", "r", [STALLED], START) is None
