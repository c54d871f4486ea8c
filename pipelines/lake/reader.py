"""Reads walsafe's tables back.

Queries name partitions, so their cost does not grow with the lake's history. Only the search for the newest run and a
cluster's clean-ups read all dates, of two small tables: `runs` and `cleanups`.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import date
from typing import TYPE_CHECKING, TypeVar

from pyspark.sql import SparkSession

from pipelines.common.instants import utc_day
from pipelines.lake.findings import by_urgency
from pipelines.lake.lake_queries import LakeQueries
from pipelines.lake.lake_records import Blocker, FileVerdict, QueueNight, QueueNights, RunRecord, WaitingWal
from pipelines.lake.look_back import LOOK_BACK, last_of_each_night, of_last_nights
from pipelines.lake.query import Elements, Query, Row, day_literal, literal, rows_of, texts
from pipelines.lake.run_summary import (
    DONE,
    TERMINAL,
    EarlierNights,
    FindingRow,
    NightTotal,
    PinnedRow,
    QueueGroup,
    QueueOffsetRow,
    RunKey,
    VerdictTotal,
    smallest_needs,
)
from schemas.findings import FINDINGS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.queue_offsets import QUEUE_OFFSETS
from schemas.runs import RUNS
from schemas.table import Table
from schemas.verdict_totals import VERDICT_TOTALS
from schemas.wal_verdicts import WAL_VERDICTS

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_V = TypeVar("_V", bound="DataclassInstance")
_TIME = len("20261121T020000Z")


class LakeReader:
    """Reads the tables below one lake folder, without Spark where deltalake serves it (`LakeQueries`).

    Every method raises `UsageError` or `UnavailableError` with the path if the lake cannot be read. Columns that an
    older walsafe did not write are NULL.
    """

    def __init__(self, queries: LakeQueries) -> None:
        self._ask = queries

    @classmethod
    def of(cls, spark: SparkSession, lake_uri: str) -> "LakeReader":
        """Returns the reader of a process that has a session."""
        return cls(LakeQueries.of(spark, lake_uri))

    def newest_runs(self, cluster: str | None) -> tuple[RunRecord, ...]:
        """See `FindingReader.newest_runs`; it looks back `LOOK_BACK` from the lake's last run.

        To find that one it reads all dates of `runs`, but few columns.
        """
        mine = "true" if cluster is None else f"cluster = {literal(cluster)}"
        # a run of a host whose clock was ahead has a date in the future
        day = "max(least(run_date, CAST(at AS DATE)))"
        (last,) = self._ask.rows(Query(RUNS, f"{day} AS day", mine))
        if last["day"] is None:
            return ()
        return self._runs(f"{mine} AND run_date > {day_literal(last['day'] - LOOK_BACK)}")

    def histories(self, before: Mapping[str, int], nights: int) -> Mapping[str, EarlierNights]:
        """Returns the last DONE run of each of the last dates before that of an instant (ms), oldest first."""
        earlier = {
            cluster: last_of_each_night(runs, _day_of, utc_day(before[cluster]))
            for cluster, runs in self._earlier(before, nights).items()
        }
        keys = [run.key for runs in earlier.values() for run in runs]
        totals = self.by_run(VERDICT_TOTALS, keys, VerdictTotal)
        pinned = self.by_run(PINNED_BYTES, keys, PinnedRow, "level = 'peer'")
        found = self.findings([runs[0].key for runs in earlier.values() if runs])
        return {
            cluster: EarlierNights(
                nights=tuple(run.night for run in reversed(runs)),
                findings=found.get(cluster, ()),
                empty=frozenset(run.night for run in runs if run.bytes == 0),
                by_reason=tuple(
                    NightTotal(run.night, f"{row.verdict} {row.reason}", row.files, row.bytes)
                    for run in reversed(runs)
                    for row in totals.get(run.key, ())
                ),
                by_peer=tuple(
                    NightTotal(run.night, row.peer_id, row.files, row.bytes)
                    for run in reversed(runs)
                    for row in pinned.get(run.key, ())
                ),
            )
            for cluster, runs in earlier.items()
        }

    def queue_nights(self, cluster: str, before: int, nights: int, groups: Collection[str]) -> QueueNights:
        """Returns the queues of WAL groups in the DONE runs of the last nights before an instant (ms), newest first.

        The date of the instant comes on top of the number of nights.
        """
        runs = self._earlier({cluster: before}, nights)[cluster]
        condition = f"wal_group IN ({', '.join(map(literal, groups))})" if groups else "false"
        queues = self.by_run(QUEUE_OFFSETS, [run.key for run in runs], QueueOffsetRow, condition)
        story: dict[QueueGroup, list[QueueNight]] = defaultdict(list)
        for run in runs:
            for group, row in smallest_needs(queues.get(run.key, ())).items():
                night = QueueNight(
                    run.night, row.need_timestamp or 0, row.wal, row.offset, row.pending_files, row.pending_bytes
                )
                story[group].append(night)
        return {group: tuple(found) for group, found in story.items()}

    def pinned(self, runs: Collection[RunKey]) -> Mapping[str, tuple[PinnedRow, ...]]:
        """Returns rows of `pinned_bytes` by cluster."""
        return {key.cluster: tuple(rows) for key, rows in self.by_run(PINNED_BYTES, runs, PinnedRow).items()}

    def findings(self, runs: Collection[RunKey]) -> Mapping[str, tuple[FindingRow, ...]]:
        """See `FindingReader.findings`."""
        found = self.by_run(FINDINGS, runs, FindingRow)
        return {key.cluster: by_urgency(rows) for key, rows in found.items()}

    def findings_before(self, key: RunKey, suffix: str, runs: Table | None) -> Mapping[str, tuple[int, int]]:
        """Returns first_seen (ms since the epoch) and the number of runs by finding key, of earlier runs of one job.

        Args:
            key: the run; it looks back `LOOK_BACK` from its date.
            suffix: how the run ids of the job end, which begin with the time of what was examined.
            runs: a table with rows of each run, if each looks at the whole cluster: then the newest earlier run counts
                alone, and what it no longer found is new. A run without rows there and without findings is not known.
                None = every earlier run counts.
        """
        mine = f"{_recent(key.cluster, key.run_date)} AND right(t.run_id, {len(suffix)}) = '{suffix}'"
        if runs is None:
            select = "t.key, min(t.first_seen) AS first_seen, count(DISTINCT t.run_id) AS nights"
            query = Query(FINDINGS, select, f"{mine} AND t.run_id <> '{key.run_id}'", "GROUP BY t.key")
        else:
            ids = (Query(table, "t.run_id", mine, "GROUP BY t.run_id") for table in (runs, FINDINGS))
            found = {row["run_id"] for one in ids for row in self._ask.rows(one)} - {key.run_id}
            newest = max((run_id for run_id in found if run_id[:_TIME] <= key.run_id[:_TIME]), default="")
            query = Query(FINDINGS, "t.key, t.first_seen, t.nights", f"{mine} AND t.run_id = '{newest}'")
        return {row["key"]: (row["first_seen"], row["nights"]) for row in self._ask.rows(query)}

    def recent(self, table: Table, kind: type[_V], cluster: str, last: date) -> Sequence[tuple[RunKey, _V]]:
        """Returns the run and the values of each row of a cluster of the `LOOK_BACK` that ends with a date."""
        return list(self.values(table, kind, _recent(cluster, last)))

    def ask(self, query: Query) -> list[Row]:
        """Answers any query; its condition names partitions."""
        return self._ask.rows(query)

    def queues(self, runs: Collection[RunKey]) -> Mapping[str, tuple[QueueOffsetRow, ...]]:
        """Returns rows of `queue_offsets` by cluster."""
        return {key.cluster: tuple(rows) for key, rows in self.by_run(QUEUE_OFFSETS, runs, QueueOffsetRow).items()}

    def files(self, runs: Collection[RunKey], paths: Sequence[str], limit: int) -> tuple[FileVerdict, ...]:
        """Returns the files of these runs that match a path: both are equal, or one ends with `/` and the other.

        It reads the path column of these nights once, for any number of paths, unless there are too many matches.

        Args:
            runs: whose files.
            paths: full URIs, paths, or ends of paths.
            limit: the number of matches of a path from which further ones may be left out.
        """
        most = limit * len(paths)
        found = self._files(runs, paths, most + 1)
        if len(found) <= most or len(paths) == 1:
            return found[:most]
        # the matches of one path may have cut off those of another
        return tuple(dict.fromkeys(file for path in paths for file in self._files(runs, [path], limit)))

    def _files(self, runs: Collection[RunKey], paths: Sequence[str], most: int) -> tuple[FileVerdict, ...]:
        meant = ["false"]
        for path in paths:
            plain = path.split("://", 1)[1].partition("/")[2] if "://" in path else path
            end = f"/{plain.lstrip('/')}"
            meant += [
                f"path = {literal(plain)}",
                f"right({literal(plain)}, length(path) + 1) = concat('/', path)",
                f"right(path, {len(end)}) = {literal(end)}",
            ]
        where, then = f"{rows_of(runs)} AND ({' OR '.join(meant)})", f"ORDER BY cluster, path LIMIT {most}"
        rows = self._ask.rows(Query(WAL_VERDICTS, _columns(FileVerdict.__slots__), where, then))
        return tuple(
            FileVerdict(**{**row, "blocking": tuple(Blocker(**one) for one in row["blocking"] or ())}) for row in rows
        )

    def waiting(self, run: RunKey, peer_id: str, limit: int) -> tuple[WaitingWal, ...]:
        """Returns the first `limit` files that a peer still needs, by timestamp, then path."""
        holders = Elements("blocking", WaitingWal.__slots__, f"one['peer_id'] = {literal(peer_id)}")
        asked = limit
        while True:  # a file comes once for each queue of the peer that needs it
            first = f"ORDER BY wal_timestamp NULLS FIRST, path LIMIT {asked}"
            query = Query(WAL_VERDICTS, _columns(WaitingWal.__slots__), rows_of([run]), first, holders)
            rows = self._ask.rows(query)
            files = tuple(dict.fromkeys(WaitingWal(**row) for row in rows))
            if len(files) >= limit or len(rows) < asked:
                return files[:limit]
            asked *= 4

    def servers(self, runs: Collection[RunKey], part: str) -> tuple[tuple[str, str], ...]:
        """Returns (cluster, server) pairs of the queues and files whose server has this part, whatever its case."""
        found: list[Row] = []
        for table, columns in ((QUEUE_OFFSETS, ("source", "owner")), (WAL_VERDICTS, ("server",))):
            for column in columns:
                meant = f"contains(lower({column}), {literal(part.lower())})"
                select = f"DISTINCT cluster, {column} AS server"
                found += self._ask.rows(Query(table, select, f"{rows_of(runs)} AND {meant}"))
        return tuple(sorted({(row["cluster"], row["server"]) for row in found}))

    def server_totals(self, run: RunKey, server: str) -> tuple[VerdictTotal, ...]:
        """Returns files and bytes of one server by verdict and reason; `hbase_verdict` is that of one of the files."""
        by = "verdict, reason"
        where, select = (
            f"{rows_of([run])} AND lower(server) = {literal(server.lower())}",
            f"{by}, min(hbase_verdict) AS hbase_verdict, count(*) AS files, coalesce(sum(length), 0) AS bytes",
        )
        rows = self._ask.rows(Query(WAL_VERDICTS, select, where, f"GROUP BY {by}"))
        return tuple(sorted((VerdictTotal(**row) for row in rows), key=lambda total: (-total.bytes, total.reason)))

    def by_run(
        self, table: Table, runs: Collection[RunKey], kind: type[_V], condition: str = "true"
    ) -> Mapping[RunKey, list[_V]]:
        """Returns the rows of these runs that meet an SQL condition, as values whose fields are the table's columns."""
        found: dict[RunKey, list[_V]] = defaultdict(list)
        if runs:
            for key, value in self.values(table, kind, f"{rows_of(runs)} AND {condition}"):
                found[key].append(value)
        return found

    def has(self, table: Table) -> bool:
        """Returns whether the lake has this table."""
        return self._ask.has(table)

    def values(self, table: Table, kind: type[_V], condition: str) -> Iterator[tuple[RunKey, _V]]:
        """Returns the rows that meet an SQL condition, as values whose fields are columns of the table."""
        names = [field.name for field in fields(kind)]
        identity = ("cluster", "run_id", "run_date")
        for row in self._ask.rows(Query(table, _columns((*identity, *names)), condition)):
            yield RunKey(*(row[name] for name in identity)), kind(**{name: row[name] for name in names})

    def _earlier(self, before: Mapping[str, int], nights: int) -> Mapping[str, tuple[RunRecord, ...]]:
        """Returns the DONE runs of each cluster before its instant, newest first, as `of_last_nights` takes them."""
        if not before or nights <= 0:
            return dict.fromkeys(before, ())
        first, last = utc_day(min(before.values())) - LOOK_BACK, utc_day(max(before.values()))
        recent = f"run_date BETWEEN {day_literal(first)} AND {day_literal(last)}"
        found: dict[str, dict[int, RunRecord]] = {cluster: {} for cluster in before}
        for run in self._runs(f"{recent} AND status = '{DONE}'"):
            end = before.get(run.cluster)
            if end is not None and run.night < end and utc_day(run.night) >= utc_day(end) - LOOK_BACK:
                found[run.cluster].setdefault(run.night, run)
        return {
            cluster: tuple(of_last_nights(runs.values(), _day_of, utc_day(before[cluster]), nights))
            for cluster, runs in found.items()
        }

    def _runs(self, condition: str) -> tuple[RunRecord, ...]:
        """Returns the last terminal row of each run of each cluster, newest night first."""
        query = Query(RUNS, _columns(RunRecord.__slots__), f"{condition} AND status IN ({texts(TERMINAL)})")
        records = [RunRecord(**row) for row in self._ask.rows(query)]
        last = {(record.cluster, record.run_id): record for record in sorted(records, key=lambda record: record.at)}
        return tuple(sorted(last.values(), key=lambda record: record.order, reverse=True))


def _day_of(run: RunRecord) -> date:
    return utc_day(run.night)


def _columns(names: Iterable[str]) -> str:
    """Returns a list of columns of `t`: with its table before it, no name is a word of SQL, as `offset` would be."""
    return ", ".join(f"t.{name}" for name in names)


def _recent(cluster: str, last: date) -> str:
    return f"run_date BETWEEN {day_literal(last - LOOK_BACK)} AND {day_literal(last)} AND cluster = '{cluster}'"
