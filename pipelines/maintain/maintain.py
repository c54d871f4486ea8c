"""The maintain job: retention, compaction and vacuum of the tables, expiry of lists, snapshots and pages.

A rehearsal runs the same checks and changes nothing. A step that fails is reported, and the other tables and folders
are still maintained. If the needed runs cannot be read, no night, list, snapshot or page is removed.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from pipelines.common.clock import Clock
from pipelines.common.errors import EXIT_DONE, EXIT_UNAVAILABLE, EXIT_USAGE, UsageError, WalsafeError
from pipelines.common.human import human_bytes, human_count
from pipelines.common.instants import format_instant
from pipelines.common.job_result import JobResult
from pipelines.lake.maintenance import LakeMaintenance
from pipelines.lake.retention import (
    FileTotals,
    NeededRuns,
    NightPartition,
    RetentionPolicy,
    StoredDirectory,
    expired_partitions,
    files_after,
    past_retention,
    to_compact,
    why_stays,
)
from pipelines.maintain.found_directories import ExpiringFolder, UntouchedEntry
from pipelines.maintain.kept_runs import KeptRuns
from pipelines.maintain.text import maintain_text
from schemas.table import Table

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")
Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class MaintainRequest:
    """Which tables to maintain, and how.

    Attributes:
        tables: the tables of the lake; missing ones are skipped.
        policy: the retention times.
        execute: whether to change anything; False = only report what would be done.
    """

    tables: Sequence[Table]
    policy: RetentionPolicy
    execute: bool = False


@dataclass(frozen=True, slots=True)
class MaintainPorts:
    """The ports that maintain works through.

    Attributes:
        directories: the URI of each folder of lists, snapshots or pages, with a function that opens the folder.
    """

    clock: Clock
    reader: KeptRuns
    keeper: LakeMaintenance
    directories: Sequence[tuple[str, Callable[[], ExpiringFolder]]] = ()


def maintain(request: MaintainRequest, ports: MaintainPorts) -> JobResult:
    """Maintains one lake with its lists and snapshots.

    Returns:
        The answer, with exit code 0; 4 if something was unavailable, 2 if something needs a person; everything else is
        done in either case. `result` has `executed`, `tables`, `expired`, `left_alone`, `freed_bytes`, `later_bytes`
        (bytes of files that VACUUM removes after their grace), `quarantine` (what each cluster has there) and `errors`.
        In a rehearsal they describe what `--execute` would do.

    Raises:
        UsageError: there is no lake.
    """
    work = _Work(request, ports)
    there = [table for table in request.tables if work.tried(table.name, partial(ports.keeper.exists, table))]
    if not there and not work.errors:
        raise UsageError("no table of walsafe is in this lake: check --lake, or let reconcile run there first")
    work.needed = work.tried("runs to keep", partial(ports.reader.needed, request.policy.nights))
    for number, table in enumerate(there, start=1):
        _LOG.info("table %d of %d: %s", number, len(there), table.name)
        work.maintain_table(table)
    for uri, opened in ports.directories:
        _LOG.info("expired directories of %s", uri)
        work.expire(uri, opened)
    result = work.result()
    return JobResult(work.exit_code, result, maintain_text(result))


class _Work:
    """One run of maintain: the results and errors so far."""

    def __init__(self, request: MaintainRequest, ports: MaintainPorts) -> None:
        self._policy, self._execute = request.policy, request.execute
        self._keeper = ports.keeper
        self._now = ports.clock.now_ms()
        self.needed: NeededRuns | None = None
        self.errors: list[Json] = []
        self._codes: set[int] = set()
        self._tables: list[Json] = []
        self._expired: list[Json] = []
        self._left_alone: list[UntouchedEntry] = []
        self._freed, self._later = FileTotals(), FileTotals()

    @property
    def exit_code(self) -> int:
        """Returns the exit code: an error that needs a person outranks an error that may pass before the next try."""
        if not self._codes:
            return EXIT_DONE
        return EXIT_UNAVAILABLE if self._codes == {EXIT_UNAVAILABLE} else EXIT_USAGE

    def result(self) -> Json:
        """Returns the result object: everything that was done, or would be done."""
        return {
            "executed": self._execute,
            "freed_bytes": self._freed.bytes,
            "later_bytes": self._later.bytes,
            "tables": self._tables,
            "expired": self._expired,
            "quarantine": None if self.needed is None else _quarantine(self.needed),
            "left_alone": [{"uri": one.uri, "why": one.why} for one in self._left_alone],
            "errors": self.errors,
        }

    def tried(self, what: str, step: Callable[[], _T]) -> _T | None:
        """Runs `step` and returns its result; if it raises an error, records the error and returns None."""
        try:
            return step()
        except WalsafeError as error:
            self.errors.append({"of": what, "kind": type(error).__name__, "message": str(error)})
            self._codes.add(error.exit_code)
            _LOG.error("%s: %s", what, error)
            return None

    def maintain_table(self, table: Table) -> None:
        """Runs all steps for one table; if one fails, the remaining steps of this table wait for the next run."""
        story: Json = {"table": table.name, "keep_ms": self._policy.tables_ms[table.name]}
        self._tables.append(story)
        self.tried(table.name, partial(self._steps, table, story))

    def _steps(self, table: Table, story: Json) -> None:
        partitions = self._keeper.partitions(table)
        story["now"] = _counted(partitions)
        gone = self._drop(table, partitions, story)
        self._compact(table, to_compact(partitions, self._policy.compact_from, self._now, gone), story)
        self._vacuum(table, _total(partitions).files, story)

    def _drop(self, table: Table, partitions: Sequence[NightPartition], story: Json) -> tuple[NightPartition, ...]:
        if self.needed is None:
            return ()
        keep_ms = self._policy.tables_ms[table.name]
        old = past_retention(partitions, keep_ms, self._now)
        gone = expired_partitions(partitions, keep_ms, self._now, self.needed, self._keeper.last_written(table, old))
        story["kept_old_nights"] = len(old) - len(gone)
        if gone and self._execute:
            self._keeper.drop(table, [one.run_date for one in gone if one.run_date is not None])
            _LOG.info("%s: %s deleted", table.name, human_count(len(gone), "night"))
        story["dropped"] = _counted(gone)
        self._later += _total(gone)
        return gone

    def _compact(self, table: Table, chosen: Sequence[NightPartition], story: Json) -> None:
        small = sum((one.small for one in chosen), FileTotals())
        if chosen and self._execute:
            self._keeper.compact(table, [one.run_date for one in chosen if one.run_date is not None])
            _LOG.info("%s: %s of %s compacted", table.name, human_count(small.files, "file"), human_bytes(small.bytes))
        story["compacted"] = {
            "partitions": len(chosen),
            "files": small.files,
            "bytes": small.bytes,
            "files_after": sum(map(files_after, chosen)),
        }
        self._later += small

    def _vacuum(self, table: Table, named: int, story: Json) -> None:
        wanted = self._policy.grace_ms
        if wanted is not None and self._keeper.grace_ms(table) != wanted:
            if self._execute:
                self._keeper.set_grace(table, wanted)
            story["new_grace_ms"] = wanted
        if not self._execute and "new_grace_ms" in story:
            return  # without writing, VACUUM cannot report what it would remove under a grace that is not set yet
        removable = self._keeper.removable(table, named)
        if removable.files and self._execute:
            self._keeper.vacuum(table)
            _LOG.info("%s: %s freed", table.name, human_bytes(removable.bytes))
        story["removed"] = {"files": removable.files, "bytes": removable.bytes}
        self._freed += removable

    def expire(self, uri: str, opened: Callable[[], ExpiringFolder]) -> None:
        """Removes the expired entries below one folder, oldest first."""
        needed = self.needed
        directories = self.tried(uri, opened)
        found = directories and self.tried(uri, directories.find)
        if directories is None or not found:
            return
        self._left_alone += found.left_alone
        if needed is None:
            return
        for stored in sorted(found.stored, key=lambda one: one.since):
            if why_stays(stored, self._policy, needed, self._now) is None:
                self.tried(stored.uri, partial(self._remove, stored, directories))

    def _remove(self, stored: StoredDirectory, directories: ExpiringFolder) -> None:
        size = directories.measure(stored)
        if size is None:
            return
        if isinstance(size, UntouchedEntry):
            self._left_alone.append(size)
            return
        if self._execute:
            directories.remove(stored)
            _LOG.info("%s %s removed, %s freed", stored.kind, stored.uri, human_bytes(size.bytes))
        self._expired.append(
            {
                "kind": stored.kind,
                "uri": stored.uri,
                "cluster": stored.cluster,
                "run_id": stored.run_id,
                "since": format_instant(stored.since),
                "files": size.files,
                "bytes": size.bytes,
            }
        )
        self._freed += size


def _total(partitions: Sequence[NightPartition]) -> FileTotals:
    return sum((one.size for one in partitions), FileTotals())


def _quarantine(needed: NeededRuns) -> list[Json]:
    """Returns what each cluster of the lake has in quarantine."""
    found = []
    for cluster in sorted({run.cluster for run in needed.runs}):
        rests = [run for run in needed.runs if run.cluster == cluster and run.quarantined]
        moved = [run.moved_at for run in rests if run.moved_at is not None]
        found.append(
            {
                "cluster": cluster,
                "runs": len(rests),
                "files": sum(run.files for run in rests),
                "bytes": sum(run.bytes for run in rests),
                "oldest_at": format_instant(min(moved)) if moved else None,
            }
        )
    return found


def _counted(partitions: Sequence[NightPartition]) -> Json:
    """Sums up partitions; `rows` is null if a writer left no row count."""
    size, rows = _total(partitions), [one.rows for one in partitions]
    dates = sorted(one.run_date.isoformat() for one in partitions if one.run_date is not None)
    return {
        "partitions": len(partitions),
        "first": dates[0] if dates else None,
        "last": dates[-1] if dates else None,
        "rows": None if None in rows else sum(row for row in rows if row is not None),
        "files": size.files,
        "bytes": size.bytes,
    }
