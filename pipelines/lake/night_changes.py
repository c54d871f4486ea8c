"""What differs between two nights of a cluster: files by verdict, files that a peer holds, servers.

Each question reads a few columns of the two nights' partitions, and the engine sums up before Python sees a row.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.lake.lake_queries import Query
from pipelines.lake.run_rows import literal, rows_of
from pipelines.lake.run_summary import HELD, RunKey
from schemas.deletions import DELETIONS
from schemas.wal_verdicts import WAL_VERDICTS

if TYPE_CHECKING:
    from pipelines.lake.reader import LakeReader

_DIGITS = 20


@dataclass(frozen=True, slots=True)
class FileChange:
    """Files that changed in the same way.

    Attributes:
        was: verdict and reason on the earlier night, such as `HELD PENDING`; None = the file was not there.
        became: the same on the later night; None = the file is gone.
        biggest: path of the biggest of these files.
    """

    was: str | None
    became: str | None
    files: int
    bytes: int
    biggest: str
    biggest_bytes: int


@dataclass(frozen=True, slots=True)
class ServerTotal:
    """Held files of the WALs of one server; None = the name has no server."""

    server: str | None
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """An OUTCOME row of `deletions`; `at` in ms since the epoch."""

    path: str
    outcome: str
    at: int
    run_id: str


def verdict_changes(
    lake: "LakeReader", before: RunKey, after: RunKey, server: str | None = None
) -> tuple[FileChange, ...]:
    """Returns the files of all servers, or of one, that got another verdict or reason, most bytes first."""
    mine = "" if server is None else f" AND lower(t.server) = {literal(server.lower())}"
    value = "concat(t.verdict, ' ', t.reason)"
    return _changes(lake, before, after, value, f"{rows_of([before, after])}{mine}")


def held_changes(lake: "LakeReader", before: RunKey, after: RunKey, peer_id: str) -> tuple[FileChange, ...]:
    """Returns the files that a peer held on one of two nights only; `was` and `became` are HELD or None."""
    where = f"{rows_of([before, after])} AND one['peer_id'] = {literal(peer_id)}"
    return _changes(lake, before, after, f"'{HELD}'", where, each_of="blocking")


def _changes(
    lake: "LakeReader", before: RunKey, after: RunKey, value: str, where: str, each_of: str | None = None
) -> tuple[FileChange, ...]:
    def on(run: RunKey) -> str:
        return f"max(CASE WHEN t.run_id = '{run.run_id}' THEN {value} END)"

    largest = f"max(concat(lpad(CAST(size AS STRING), {_DIGITS}, '0'), path)) AS biggest"
    rows = lake.ask(
        Query(
            WAL_VERDICTS,
            f"t.path, {on(before)} AS was, {on(after)} AS became, max(coalesce(t.length, 0)) AS size",
            where,
            "GROUP BY t.path",
            each_of,
            (
                f"was, became, count(*) AS files, sum(size) AS bytes, {largest}",
                "WHERE was IS DISTINCT FROM became GROUP BY was, became",
            ),
        )
    )
    changes = (
        FileChange(
            row["was"],
            row["became"],
            row["files"],
            row["bytes"],
            row["biggest"][_DIGITS:],
            int(row["biggest"][:_DIGITS]),
        )
        for row in rows
    )
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


def file_outcomes(lake: "LakeReader", runs: Collection[RunKey], paths: Sequence[str]) -> tuple[FileOutcome, ...]:
    """Returns what the clean-up of these runs did with some files, oldest first."""
    if not runs or not paths or not lake.has(DELETIONS):
        return ()
    meant = ", ".join(literal(path) for path in paths)
    where = f"{rows_of(runs)} AND phase = 'OUTCOME' AND path IN ({meant})"
    rows = lake.ask(Query(DELETIONS, "t.path, t.outcome, t.at, t.run_id", where, "ORDER BY at"))
    return tuple(FileOutcome(**row) for row in rows)
