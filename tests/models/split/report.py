"""Tests the model of a split with rows of the failure table and with random seeds, and reports what was found."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial

from pipelines.common.errors import UsageError
from pipelines.common.human import human_count
from pipelines.common.job_result import JobResult
from pipelines.lake.findings import ERROR
from pipelines.lake.job_run import JobLake
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.rule_violations import rule_violation
from pipelines.pegasus.use_cases.frame import deliver, split_run
from tests.models.cores import side_by_side
from tests.models.split.batch import RANGE, Simulated, design_of, play
from tests.models.split.injections import BY_ROW

_SHOWN = 3


def subjects_of(rows: Sequence[str], first_seed: int, seeds: int) -> list[str]:
    """Returns the subjects to play: rows of the failure table and whole ranges of seeds.

    Raises:
        UsageError: there is no such row.
    """
    for row in rows:
        if row not in BY_ROW:
            raise UsageError(f"no row {row!r} in the failure table; there are {', '.join(BY_ROW)}")
    ranges = range(first_seed // RANGE * RANGE, first_seed + seeds, RANGE) if seeds else ()
    return [*rows, *map(str, ranges)]


def split_search(subjects: Sequence[str], design: str, at_ms: int) -> JobResult:
    """Plays the subjects side by side and reports the results.

    Returns:
        Exit code 3 if something breaks, else 0.

    Raises:
        UsageError: there is no such design.
    """
    design_of(design)
    firsts = _firsts(subjects)
    searches = list(dict.fromkeys(firsts.values()))
    found = dict(zip(searches, side_by_side(partial(play, design=design), searches), strict=True))
    played = [_as_played(subject, first, found[first]) for subject, first in firsts.items()]
    broken = [one for one in played if one.broken]
    result = {
        "design": design,
        "states": _states(played),
        "broken": len(broken),
        "played": [asdict(one) for one in played],
    }
    run = split_run("split-model", "simulated", at_ms, {"subjects": list(subjects), "design": design})
    return deliver(run, JobLake(), [], _findings(broken), result, _lines(design, played))


def _firsts(subjects: Sequence[str]) -> dict[str, str]:
    """Returns for each subject the first one that is the same search: rows with the same group, faults and writes."""
    first: dict[object, str] = {}
    keys: dict[str, object] = {one: BY_ROW[one].scope if one in BY_ROW else one for one in subjects}
    return {subject: first.setdefault(key, subject) for subject, key in keys.items()}


def _as_played(subject: str, first: str, found: Simulated) -> Simulated:
    return found if subject == first else replace(found, subject=subject, what=BY_ROW[subject].what, same_as=first)


def _states(played: Sequence[Simulated]) -> int:
    return sum(one.states for one in played if one.same_as is None)


def _findings(broken: Sequence[Simulated]) -> Iterator[FindingRow]:
    for one in broken:
        yield rule_violation(
            "MODEL",
            ERROR,
            f"{one.design}/{one.subject}",
            f"The protocol {one.design!r} ends in {one.broken}: {one.what}.",
            "Expected of a mutant and of the shipped protocol (docs/split-model.md); of 'mended' a defect.",
            broken=one.broken,
        )


def _lines(design: str, played: Sequence[Simulated]) -> Iterator[str]:
    own = [one for one in played if one.same_as is None]
    searches = f" in {len(own)} distinct searches" if len(own) < len(played) else ""
    yield f"protocol {design}: {human_count(len(played), 'subject')}{searches}, {_states(played):,} states or steps"
    for one in played:
        said = one.broken or ("holds" if one.is_finished else "nothing found")
        size = f"{one.states:,}" if one.same_as is None else f"as {one.same_as}"
        yield f"  {one.subject:<18} {size:>9}  {said:<12} {one.what}"
    for one in [one for one in own if one.broken][:_SHOWN]:
        yield ""
        yield f"{one.subject}: the shortest history that ends in {one.broken}"
        yield str(one.history)
