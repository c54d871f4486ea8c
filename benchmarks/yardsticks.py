"""Makes the same decision with DuckDB, as a yardstick for these cores: read, decide, count by reason.

It is given the tables that walsafe broadcasts (`DecisionFrames`), so it answers the same question by the same lookups,
for the names of the benchmark: the traps of `docs/verdicts.md` that do not occur there are left out. A count that
differs from walsafe's is an error, not a result; `write_rows` writes all columns of `wal_verdicts`, and `rows_of` says
whether the rows are those of the job.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import duckdb

from pipelines.decide.spark.lookup import DecisionFrames, start_column

LOOKED_UP = """
WITH named AS (
    SELECT path, length, modification_time, epoch_ms(modification_time) AS modified, ends_with(path, '.meta') AS meta,
           CASE WHEN ends_with(path, '.meta') THEN left(path, -5) ELSE path END AS bare
    FROM read_parquet($files)
), cut AS (
    SELECT *, CASE WHEN substr(bare, -14, 1) = '.' THEN try_cast(right(bare, 13) AS BIGINT) END AS number
    FROM named
), taken AS (
    SELECT path, length, modification_time, meta, modified, CASE WHEN number >= 1000000000000 THEN number
           ELSE try_cast(regexp_extract(path, '[^/]+\\.([0-9]+)(\\.[0-9A-Za-z]+)?$', 1) AS BIGINT) END AS ts,
           CASE WHEN number >= 1000000000000 AND starts_with(bare, 'oldWALs/') AND NOT contains(bare[9:], '/')
                THEN bare[9:-15]
                ELSE nullif(regexp_extract(path, '([^/]+)\\.[0-9]+(\\.[0-9A-Za-z]+)?$', 1), '') END AS wal_group
    FROM cut
), looked_up AS (
    SELECT taken.*, CASE WHEN g.first_bucket IS NOT NULL THEN CASE WHEN ts IS NULL THEN g.overflow_bucket
           ELSE g.first_bucket {passed} END ELSE coalesce(s.plain_bucket, c.unknown_bucket) END AS bucket,
           g.server AS group_server, s.encoded, c.*
    FROM taken CROSS JOIN scalars c
    LEFT JOIN groups g USING (wal_group)
    LEFT JOIN servers s ON g.first_bucket IS NULL
         AND s.encoded = regexp_extract(taken.wal_group, '^[^%]+%2C[0-9]+%2C[0-9]+')
)
"""
REASON = """CASE
    WHEN wal_group IS NULL THEN 'INVALID_NAME'
    WHEN modified > files_finished THEN 'FUTURE_TIMESTAMP'
    WHEN files_started - modified - wal_ttl <= 0 THEN 'TOO_YOUNG'
    WHEN meta THEN 'META_WAL'
    WHEN ts IS NULL THEN 'POISON_NAME'
    ELSE answer_reason END"""
COUNTS = """{looked_up}
SELECT {reason} AS reason, count(*)
FROM (SELECT meta, modified, ts, wal_group, files_started, files_finished, wal_ttl, bucket FROM looked_up)
LEFT JOIN answers USING (bucket) GROUP BY 1
"""
ROWS = """{looked_up}, reasoned AS (
    SELECT looked_up.*, answers.* EXCLUDE (bucket), {reason} AS reason,
           (wal_group IS NULL OR meta OR ts IS NULL) AS never_asked
    FROM looked_up LEFT JOIN answers USING (bucket)
)
SELECT $cluster AS cluster, $run AS run_id, path,
    coalesce(group_server, answer_server, url_decode(regexp_extract(wal_group, '^[^%]+%2C[0-9]+%2C[0-9]+'))) AS server,
    wal_group, CASE WHEN wal_group IS NOT NULL THEN ts END AS wal_timestamp, length, modification_time,
    CASE WHEN reason = 'META_WAL' THEN 'DELETABLE' WHEN never_asked OR reason <> answer_reason THEN 'HELD'
         ELSE answer_verdict END AS verdict, reason,
    CASE WHEN never_asked THEN 'DELETE' ELSE coalesce(answer_hbase_verdict, 'DELETE') END AS hbase_verdict,
    CASE WHEN never_asked OR reason <> answer_reason THEN [] ELSE answer_blocking END AS blocking,
    split_part(server, ',', 1) AS host,
    CASE WHEN reason = 'TOO_YOUNG' AND (meta OR NOT never_asked AND answer_verdict = 'DELETABLE')
         THEN make_timestamp((modified + wal_ttl + 1) * 1000) END AS eligible_at,
    make_timestamp(wal_timestamp * 1000) AS wal_at
FROM reasoned
"""
PRINT = """
SELECT count(*),
    bit_xor(hash(path, server, wal_group, wal_timestamp, length, epoch_ms(modification_time), verdict, reason,
                 hbase_verdict, host, epoch_ms(eligible_at), epoch_ms(wal_at))),
    bit_xor(hash(path, list_transform(blocking,
                 lambda b: concat_ws('|', b.peer_id, b.owner, b.source, b.wal, b.offset::VARCHAR))))
FROM read_parquet($files, hive_partitioning = false)
"""


class Yardstick(Protocol):
    """Another engine that makes the same decision."""

    name: str

    def by_reason(self) -> dict[str, int]:
        """Returns the number of files by reason."""
        ...


@dataclass(frozen=True)
class RowsPrint:
    """A print of a set of rows: their number, and XORs of hashes of all columns; equal prints mean equal rows."""

    rows: int
    columns: int
    blocking: int


class DuckDbDecision:
    """The decision on one snapshot, made by DuckDB.

    Args:
        snapshot: the snapshot directory.
        frames: the frames that walsafe broadcasts for it; only one cluster.
        threads: as many threads as Spark has.
    """

    name = "DuckDB"

    def __init__(self, snapshot: Path, frames: DecisionFrames, threads: int) -> None:
        self._files = str(snapshot / "files" / "*.parquet")
        self._connection: Any = duckdb.connect(config={"threads": threads})
        self._connection.execute("SET enable_progress_bar = false")
        self._connection.execute("SET preserve_insertion_order = false")
        for name, frame in (
            ("scalars", frames.scalars.drop("cluster")),
            ("groups", frames.groups),
            ("servers", frames.servers),
            ("answers", frames.answers),
        ):
            self._connection.register(f"{name}_arrow", frame.toArrow())
            self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_arrow")  # noqa: S608 - names above
        passed = "".join(f" + (ts > g.{start_column(number)})::INT" for number in range(frames.starts))
        self._parts = {"looked_up": LOOKED_UP.format(passed=passed), "reason": REASON}

    def by_reason(self) -> dict[str, int]:
        """Returns the number of files by reason."""
        return dict(self._connection.execute(COUNTS.format(**self._parts), {"files": self._files}).fetchall())

    def write_rows(self, target: Path, cluster: str) -> float:
        """Reads, decides, and writes all rows as Parquet with the job's compression; returns the seconds."""
        query = ROWS.format(**self._parts)
        started = time.perf_counter()
        self._connection.execute(
            f"COPY ({query}) TO '{target}' (FORMAT parquet, COMPRESSION zstd)",
            {"files": self._files, "cluster": cluster, "run": "yardstick"},
        )
        return time.perf_counter() - started


def rows_of(files: Sequence[str]) -> RowsPrint:
    """Returns the print of the rows of `wal_verdicts` in these Parquet files."""
    with duckdb.connect() as connection:
        found = connection.execute(PRINT, {"files": list(files)}).fetchone()
    return RowsPrint(*found) if found else RowsPrint(0, 0, 0)


def warm_seconds(decision: Yardstick, expected: dict[str, int], repeats: int) -> list[float]:
    """Returns the seconds of warm runs of another engine, whose counts must equal those of walsafe.

    Raises:
        SystemExit: the counts differ.
    """
    seconds = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        counts = decision.by_reason()
        seconds.append(time.perf_counter() - started)
        if counts != expected:
            raise SystemExit(f"{decision.name} counts {counts}, walsafe {expected}: these times are not comparable")
    return seconds[1:]
