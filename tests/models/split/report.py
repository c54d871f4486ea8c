"""Tests the model of a split with rows of the failure table and with random seeds, and reports what was found."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial

from pipelines.common.errors import UsageError
from pipelines.common.human import human_count
from pipelines.common.job_result import JobResult
from pipelines.lake.findings import ERROR
from pipelines.lake.job_run import JobLake
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.report import rule_violation
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
    played = list(side_by_side(partial(play, design=design), subjects))
    broken = [one for one in played if one.broken]
    result = {
        "design": design,
        "states": sum(one.states for one in played),
        "broken": len(broken),
        "played": [asdict(one) for one in played],
    }
    run = split_run("split-model", "simulated", at_ms, {"subjects": list(subjects), "design": design})
    return deliver(run, JobLake(), [], _findings(broken), result, _lines(design, played))


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
    states = sum(one.states for one in played)
    yield f"protocol {design}: {human_count(len(played), 'subject')}, {states:,} states or steps"
    for one in played:
        said = one.broken or ("holds" if one.is_finished else "nothing found")
        yield f"  {one.subject:<18} {one.states:>9,}  {said:<12} {one.what}"
    for one in [one for one in played if one.broken][:_SHOWN]:
        yield ""
        yield f"{one.subject}: the shortest history that ends in {one.broken}"
        yield str(one.history)
