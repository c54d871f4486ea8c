"""split-simulate: tests the model of a split with every row of the failure table and with random seeds."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from pipelines.common.errors import UsageError
from pipelines.common.human import human_count
from pipelines.common.outcome import Outcome
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.report import ERROR, violated
from pipelines.pegasus.ports_rows import Player
from pipelines.pegasus.simulate.batch import RANGE, Simulated, design_of
from pipelines.pegasus.simulate.injections import BY_ROW
from pipelines.pegasus.use_cases.frame import SplitPorts, SplitRun, delivered
from schemas.split_simulations import SPLIT_SIMULATIONS

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


def split_simulate(subjects: Sequence[str], design: str, player: Player, run: SplitRun, ports: SplitPorts) -> Outcome:
    """Plays the subjects, reports and writes.

    Returns:
        Exit code 3 if something breaks, else 0.

    Raises:
        UsageError: there is no such design.
    """
    design_of(design)
    played = player.play(subjects, design)
    broken = [one for one in played if one.broken]
    result = {
        "design": design,
        "states": sum(one.states for one in played),
        "broken": len(broken),
        "played": [asdict(one) for one in played],
    }
    return delivered(run, ports, [(SPLIT_SIMULATIONS, played)], _findings(broken), result, _lines(design, played))


def _findings(broken: Sequence[Simulated]) -> Iterator[FindingRow]:
    for one in broken:
        yield violated(
            "MODEL",
            ERROR,
            f"{one.design}/{one.subject}",
            f"The protocol {one.design!r} ends in {one.broken}: {one.what}.",
            "Expected of a mutant and of the shipped protocol (docs/split-simulate.md); of 'mended' a defect.",
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
