"""What differs between two nights of a cluster: files by verdict, files that a peer holds, servers.

What changed in the whole cluster is added up from `verdict_changes`. A question about one peer or server reads a few
columns of both nights' partitions, and the engine sums up before Python sees a row.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.lake.lake_records import RunRecord
from pipelines.lake.query import Elements, Query, literal, rows_of
from pipelines.lake.run_summary import HELD, RunKey, VerdictTotal
from schemas.deletions import DELETIONS
from schemas.verdict_changes import VERDICT_CHANGES
from schemas.verdict_totals import VERDICT_TOTALS
from schemas.wal_verdicts import WAL_VERDICTS

if TYPE_CHECKING:
    from pipelines.lake.reader import LakeReader


@dataclass(frozen=True, slots=True)
class FileChange:
    """Files that changed in the same way.

    Attributes:
        was: verdict and reason on the earlier night, such as `HELD PENDING`; None = the file was not there.
        became: the same on the later night; None = the file is gone.
    """

    was: str | None
    became: str | None
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """A row of `verdict_changes`."""

    previous_run_id: str
    from_verdict: str | None
    from_reason: str | None
    to_verdict: str | None
    to_reason: str | None
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ServerTotal:
    """Held files of the WALs of one server; None = the name has no server."""

    server: str | None
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class FileOutcomeRow:
    """An OUTCOME row of `deletions`; `at` in ms since the epoch."""

    path: str
    outcome: str
    at: int
    run_id: str


def summed_changes(lake: "LakeReader", runs: Sequence[RunRecord]) -> tuple[FileChange, ...] | None:
    """Returns what the nights changed, added up by verdict and reason before and after, most bytes first.

    A file that changed on two nights counts on both. None: the table does not have what these nights changed.

    Args:
        lake: reads the tables.
        runs: DONE runs of one cluster, oldest first: the one with which the last is compared, then those after it.
    """
    if not lake.has(VERDICT_CHANGES):
        return None
    known = lake.by_run(VERDICT_CHANGES, [run.key for run in runs[1:]], VerdictChange)
    totals = lake.by_run(VERDICT_TOTALS, [runs[0].key, runs[-1].key], VerdictTotal)
    now, sums = runs[-1], dict[tuple[str | None, str | None], tuple[int, int]]()
    while now.night > runs[0].night:
        rows = known.get(now.key, [])
        for row in rows:
            change = _answer(row.from_verdict, row.from_reason), _answer(row.to_verdict, row.to_reason)
            files, size = sums.get(change, (0, 0))
            sums[change] = (files + row.files, size + row.bytes)
        earlier = [run for run in runs if run.night < now.night]
        compared = [run for run in earlier if rows and run.run_id == rows[0].previous_run_id]
        now = (compared or earlier)[-1]
    changes = _by_bytes(FileChange(was, became, *total) for (was, became), total in sums.items())
    add_up = _explain(changes, totals.get(runs[0].key, ()), totals.get(runs[-1].key, ()))
    return changes if add_up else None  # a night that changed nothing has no row, and a lost night has none either


def _explain(changes: Iterable[FileChange], before: Iterable[VerdictTotal], after: Iterable[VerdictTotal]) -> bool:
    """Returns whether changes make one night's number of files of each verdict and reason the other's."""
    files: dict[str | None, int] = {}
    for change in changes:
        files[change.was] = files.get(change.was, 0) - change.files
        files[change.became] = files.get(change.became, 0) + change.files
    for sign, totals in ((1, before), (-1, after)):
        for row in totals:
            answer = _answer(row.verdict, row.reason)
            files[answer] = files.get(answer, 0) + sign * row.files
    return not any(number for answer, number in files.items() if answer is not None)


def _answer(verdict: str | None, reason: str | None) -> str | None:
    return None if verdict is None else f"{verdict} {reason}"


def has_verdicts(lake: "LakeReader", run: RunRecord) -> bool:
    """Returns whether the lake has the verdicts of a run: `maintain` removes those of old nights, and not the run."""
    return run.bytes == 0 or bool(lake.ask(Query(WAL_VERDICTS, "t.path", rows_of([run.key]), "LIMIT 1")))


def server_changes(lake: "LakeReader", before: RunKey, after: RunKey, server: str) -> tuple[FileChange, ...]:
    """Returns the files of a server that got another verdict or reason, most bytes first."""
    where = f"{rows_of([before, after])} AND lower(t.server) = {literal(server.lower())}"
    return _changes(lake, before, after, "concat(t.verdict, ' ', t.reason)", where)


def held_changes(lake: "LakeReader", before: RunKey, after: RunKey, peer_id: str) -> tuple[FileChange, ...]:
    """Returns the files that a peer held on one of two nights only; `was` and `became` are HELD or None."""
    holders = Elements("blocking", ("path", "length", "run_id"), f"one['peer_id'] = {literal(peer_id)}")
    return _changes(lake, before, after, f"'{HELD}'", rows_of([before, after]), holders)


def _changes(
    lake: "LakeReader", before: RunKey, after: RunKey, value: str, where: str, each_of: Elements | None = None
) -> tuple[FileChange, ...]:
    def on(run: RunKey) -> str:
        return f"max(CASE WHEN t.run_id = '{run.run_id}' THEN {value} END)"

    rows = lake.ask(
        Query(
            WAL_VERDICTS,
            f"{on(before)} AS was, {on(after)} AS became, max(coalesce(t.length, 0)) AS size",
            where,
            "GROUP BY t.path",
            each_of,
            (
                "was, became, count(*) AS files, sum(size) AS bytes",
                "WHERE was IS DISTINCT FROM became GROUP BY was, became",
            ),
        )
    )
    return _by_bytes(FileChange(**row) for row in rows)


def _by_bytes(changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
    return tuple(sorted(changes, key=lambda one: (-one.bytes, one.was or "", one.became or "")))


def servers(lake: "LakeReader", runs: Collection[RunKey]) -> Mapping[str, frozenset[str]]:
    """Returns the servers that wrote the files below oldWALs, by run id."""
    found: dict[str, set[str]] = {run.run_id: set() for run in runs}
    for row in lake.ask(Query(WAL_VERDICTS, "DISTINCT t.run_id, t.server", rows_of(runs))):
        if row["server"] is not None:
            found[row["run_id"]].add(row["server"])
    return {run_id: frozenset(names) for run_id, names in found.items()}


def holding_servers(lake: "LakeReader", run: RunKey, limit: int) -> tuple[ServerTotal, ...]:
    """Returns the servers whose WALs are held, most bytes first."""
    rows = lake.ask(
        Query(
            WAL_VERDICTS,
            "t.server, count(*) AS files, sum(t.length) AS bytes",
            f"{rows_of([run])} AND t.verdict = '{HELD}'",
            f"GROUP BY t.server ORDER BY bytes DESC, server LIMIT {limit}",
        )
    )
    return tuple(ServerTotal(row["server"], row["files"], row["bytes"] or 0) for row in rows)


def file_outcomes(lake: "LakeReader", runs: Collection[RunKey], paths: Sequence[str]) -> tuple[FileOutcomeRow, ...]:
    """Returns what the clean-up of these runs did with some files, oldest first."""
    if not runs or not paths or not lake.has(DELETIONS):
        return ()
    meant = ", ".join(literal(path) for path in paths)
    where = f"{rows_of(runs)} AND phase = 'OUTCOME' AND path IN ({meant})"
    rows = lake.ask(Query(DELETIONS, "t.path, t.outcome, t.at, t.run_id", where, "ORDER BY at"))
    return tuple(FileOutcomeRow(**row) for row in rows)
