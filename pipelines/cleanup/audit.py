"""Writes and reads the audit of the clean-up in the lake: the tables `cleanups` and `deletions`."""

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from pipelines.cleanup.audit_ports import AttemptEnd, CleanupAttempt, DecidedRun, OpenIntent
from pipelines.cleanup.deletions import PLACING_OUTCOMES, CleanupAction, CleanupFile, FileOutcome, FileResult
from pipelines.common.clock import Clock
from pipelines.common.spark.few_rows import few, for_few_rows
from pipelines.common.spark.local_frames import arrow_rows, arrow_schema
from pipelines.common.version import VERSION
from pipelines.decide.rule.verdict import Verdict
from pipelines.lake.delta_tables import DeltaTables
from pipelines.lake.lake_queries import LakeQueries, SparkTables
from pipelines.lake.query import Query, Row, literal, rows_of, texts
from pipelines.lake.run_summary import DONE, STARTED, RunKey
from schemas.cleanups import CLEANUPS
from schemas.deletions import DELETIONS
from schemas.registry import CLEANUP_TABLES
from schemas.runs import RUNS
from schemas.wal_verdicts import WAL_VERDICTS

INTENT, OUTCOME = "INTENT", "OUTCOME"
_SAME_INTENT = "path, action, lease, batch"
_FILE = ("path", "length", "modification_time")
_PLACING = f"coalesce(outcome IN ({texts(sorted(one.value for one in PLACING_OUTCOMES))}), false)"
# without NULLS LAST, DataFusion would take a NULL for the highest value
_NEWEST_FIRST = ", ".join(
    f"{name} DESC NULLS LAST" for name in ("lease", "batch", "at", "outcome", "length", "modification_time")
)
_PLACE_IN_LINE = f"row_number() OVER (PARTITION BY path ORDER BY {_NEWEST_FIRST}) AS place_in_line"


class LakeAudit:
    """Implements `CleanupAudit` over the Delta tables.

    Args:
        spark: the session.
        lake_uri: the folder of the tables.
        clock: gives the time at which a row is written.
        done_by: the user who runs the job.
        host: the host on which the driver runs.
    """

    def __init__(self, spark: SparkSession, lake_uri: str, clock: Clock, done_by: str, host: str) -> None:
        self._spark = spark
        self._tables = DeltaTables(spark, lake_uri)
        self._lake, self._many = LakeQueries.of(spark, lake_uri), SparkTables(spark, lake_uri)
        self._clock = clock
        self._who = {"done_by": done_by, "host": host}

    def ensure(self) -> None:
        """See `CleanupAudit.ensure`."""
        self._tables.ensure(CLEANUP_TABLES)

    def decided(self, cluster: str, run_id: str) -> DecidedRun | None:
        """See `CleanupAudit.decided`."""
        mine = f"cluster = {literal(cluster)} AND run_id = {literal(run_id)} AND status = '{DONE}'"
        columns = "snapshot_sha256, peer_ids, cluster_id, files_started_at"
        found = self._lake.rows(Query(RUNS, columns, mine, "ORDER BY t.at DESC NULLS LAST LIMIT 1"))
        if not found:
            return None
        [row] = found
        known = tuple(row["peer_ids"]) if row["peer_ids"] is not None else None
        run = RunKey.of(cluster, run_id, row["files_started_at"])
        return DecidedRun(run, row["snapshot_sha256"], known, row["cluster_id"])

    def listed(self, run: RunKey, files: int) -> DataFrame:
        """Returns `path`, `length`, `modification_time` of the `files` files that the run found DELETABLE."""
        deletable = f"{rows_of([run])} AND verdict = '{Verdict.DELETABLE.value}'"
        return self._frame(Query(WAL_VERDICTS, ", ".join(_FILE), deletable), _FILE, files)

    def started(self, attempt: CleanupAttempt, files: int, size: int) -> None:
        """See `CleanupAudit.started`."""
        self._append_attempt(attempt, {"status": STARTED, "list_files": files, "list_bytes": size})

    def ended(self, attempt: CleanupAttempt, ending: AttemptEnd) -> None:
        """See `CleanupAudit.ended`."""
        tally = ending.tally
        self._append_attempt(
            attempt,
            {
                "status": ending.status,
                "reason": ending.reason or attempt.words,
                "exit_code": ending.exit_code,
                "recheck_sha256": ending.recheck_sha256,
                "done_files": tally.done_files,
                "done_bytes": tally.done_bytes,
                "left_files": tally.left_files,
                "gone_files": tally.gone_files,
            },
        )

    def intend(
        self, attempt: CleanupAttempt, batch: int, subjects: Sequence[CleanupFile], places: Sequence[str] | None = None
    ) -> None:
        """See `CleanupAudit.intend`."""
        rows = [
            {"phase": INTENT, **_subject(subject), "place": place}
            for subject, place in zip(subjects, places or (None for _ in subjects), strict=True)
        ]
        self._append(attempt, batch, attempt.lease, rows)

    def record(
        self, attempt: CleanupAttempt, batch: int, results: Sequence[FileResult], *, lease: int | None = None
    ) -> None:
        """See `CleanupAudit.record`."""
        rows = [
            {
                "phase": OUTCOME,
                **_subject(result.subject),
                "outcome": result.outcome.value,
                "reason": result.why or result.subject.reason,
                "place": result.place,
                "error": result.error,
            }
            for result in results
        ]
        self._append(attempt, batch, attempt.lease if lease is None else lease, rows)

    def actions(self, run: RunKey) -> frozenset[CleanupAction]:
        """See `CleanupAudit.actions`."""
        rows = self._ask(run, "action", f"phase = '{INTENT}'", "GROUP BY action")
        return frozenset(CleanupAction(row["action"]) for row in rows)

    def unsettled(self, run: RunKey) -> list[OpenIntent]:
        """See `CleanupAudit.unsettled`."""
        values = ", ".join(f"max({name}) AS {name}" for name in ("length", "modification_time", "reason", "place"))
        open_ones = (
            f"GROUP BY {_SAME_INTENT} HAVING sum(CASE WHEN phase = '{OUTCOME}' THEN 1 ELSE 0 END) = 0 "
            "ORDER BY lease, batch, path"
        )
        rows = self._ask(run, f"{_SAME_INTENT}, {values}", f"phase IN ('{INTENT}', '{OUTCOME}')", open_ones)
        return [_intent(row) for row in rows]

    def taken(self, run: RunKey) -> Mapping[str, CleanupFile | None]:
        """See `CleanupAudit.taken`."""
        begun = f"phase = '{INTENT}' AND action = '{CleanupAction.CLEAN.value}'"
        rows = self._ask(
            run,
            f"{', '.join(_FILE)}, outcome, max(CASE WHEN {begun} THEN 1 ELSE 0 END) OVER (PARTITION BY path) AS begun, "
            f"row_number() OVER (PARTITION BY path ORDER BY {_PLACING} DESC, {_NEWEST_FIRST}) AS place_in_line",
            "true",
            over=(f"{', '.join(_FILE)}, outcome", "WHERE place_in_line = 1 AND begun = 1"),
        )
        return {
            row["path"]: CleanupFile(row["path"], row["length"], row["modification_time"])
            if row["outcome"] == FileOutcome.MOVED.value
            else None
            for row in rows
        }

    def moved_at(self, run: RunKey) -> int | None:
        """See `CleanupAudit.moved_at`."""
        moved = f"WHERE place_in_line = 1 AND outcome = '{FileOutcome.MOVED.value}'"
        rows = self._ask(run, f"outcome, at, {_PLACE_IN_LINE}", _PLACING, over=("max(at) AS at", moved))
        return next((row["at"] for row in rows), None)

    def outcomes(self, run: RunKey) -> DataFrame:
        """Returns, for each path, the last OUTCOME row that determines where the file is.

        The columns are `path`, `outcome`, `length`, `modification_time`, `at`. If purge refused a file or failed to
        delete it, the file is still in the quarantine and still counts as MOVED.
        """
        columns = ("path", "outcome", "length", "modification_time", "at")
        names = ", ".join(columns)
        placing = f"{rows_of([run])} AND {_PLACING}"
        query = Query(DELETIONS, f"{names}, {_PLACE_IN_LINE}", placing, over=(names, "WHERE place_in_line = 1"))
        return self._frame(query, columns, self._rows(run))

    def _append(self, attempt: CleanupAttempt, batch: int, lease: int, rows: Iterable[dict[str, object]]) -> None:
        common = {
            **_run(attempt.run),
            **self._who,
            "action": attempt.action.value,
            "attempt": attempt.identity,
            "lease": lease,
            "batch": batch,
            "at": self._clock.now_ms(),
        }
        self._tables.append_rows(DELETIONS, [{**common, **row} for row in rows])

    def _append_attempt(self, attempt: CleanupAttempt, values: dict[str, object]) -> None:
        row = {
            **_run(attempt.run),
            **self._who,
            "action": attempt.action.value,
            "attempt": attempt.identity,
            "lease": attempt.lease,
            "resumed": attempt.resumed,
            "at": self._clock.now_ms(),
            "walsafe_version": VERSION,
            "reason": attempt.words,
        }
        self._tables.append_rows(CLEANUPS, [{**row, **values}])

    def _ask(
        self, run: RunKey, select: str, where: str, then: str = "", over: tuple[str, str] | None = None
    ) -> list[Row]:
        """Answers a query over the rows of a run in `deletions`; nothing if there are none."""
        rows = self._rows(run)
        # deltalake keeps a group of each file in memory
        engine = self._lake if few(rows) else self._many
        return engine.rows(Query(DELETIONS, select, f"{rows_of([run])} AND {where}", then, over=over)) if rows else []

    def _rows(self, run: RunKey) -> int:
        """Returns how many rows a run has in `deletions`; a rehearsal does not create the table."""
        if not self._tables.exists(DELETIONS):
            return 0
        [counted] = self._lake.rows(Query(DELETIONS, "count(*) AS rows", rows_of([run])))
        return int(counted["rows"])

    def _frame(self, query: Query, columns: Sequence[str], rows: int) -> DataFrame:
        """Returns the answer to a query over about so many rows as a frame; few rows are in the driver."""
        if not few(rows):
            return self._many.frame(query)
        schema = StructType([query.table.schema[name] for name in columns])
        found = self._lake.arrow(query).cast(arrow_schema(schema)) if rows else arrow_rows([], schema)
        return for_few_rows(self._spark).createDataFrame(found, schema)


def _run(run: RunKey) -> dict[str, object]:
    return {"cluster": run.cluster, "run_id": run.run_id, "run_date": run.run_date}


def _subject(subject: CleanupFile) -> dict[str, object]:
    return {
        "path": subject.path,
        "length": subject.length,
        "modification_time": subject.modification_time,
        "reason": subject.reason,
    }


def _intent(row: Row) -> OpenIntent:
    subject = CleanupFile(row["path"], row["length"], row["modification_time"], row["reason"])
    return OpenIntent(CleanupAction(row["action"]), row["lease"], row["batch"], subject, row["place"])
