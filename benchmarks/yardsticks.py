"""The same decision by DuckDB, as a yardstick for what these cores can do: read, decide, count by reason.

It is given the tables that walsafe broadcasts (`DecisionFrames`), so it answers the same question by the same lookups,
for the names of the benchmark: the traps of `docs/verdicts.md` that do not occur there are left out. A count that
differs from walsafe's is an error, not a result.
"""

import time
from pathlib import Path
from typing import Any

import duckdb

from pipelines.transforms.verdicts import DecisionFrames, start_column

QUERY = """
WITH named AS (
    SELECT path, epoch_ms(modification_time) AS modified, ends_with(path, '.meta') AS meta,
           CASE WHEN ends_with(path, '.meta') THEN left(path, -5) ELSE path END AS bare
    FROM read_parquet($files)
), cut AS (
    SELECT *, CASE WHEN substr(bare, -14, 1) = '.' THEN try_cast(right(bare, 13) AS BIGINT) END AS number
    FROM named
), taken AS (
    SELECT meta, modified, CASE WHEN number >= 1000000000000 THEN number
           ELSE try_cast(regexp_extract(path, '\\.([0-9]+)(\\.[0-9A-Za-z]+)?$', 1) AS BIGINT) END AS ts,
           CASE WHEN number >= 1000000000000 AND starts_with(bare, 'oldWALs/') AND NOT contains(bare[9:], '/')
                THEN bare[9:-15]
                ELSE nullif(regexp_extract(path, '([^/]+)\\.[0-9]+(\\.[0-9A-Za-z]+)?$', 1), '') END AS wal_group
    FROM cut
), looked_up AS (
    SELECT taken.*, CASE WHEN g.first_bucket IS NOT NULL THEN CASE WHEN ts IS NULL THEN g.overflow_bucket
           ELSE g.first_bucket {passed} END ELSE coalesce(s.plain_bucket, c.unknown_bucket) END AS bucket, c.*
    FROM taken CROSS JOIN scalars c
    LEFT JOIN groups g USING (wal_group)
    LEFT JOIN servers s ON g.first_bucket IS NULL
         AND s.encoded = regexp_extract(taken.wal_group, '^[^%]+%2C[0-9]+%2C[0-9]+')
)
SELECT CASE
    WHEN wal_group IS NULL THEN 'INVALID_NAME'
    WHEN modified > files_finished THEN 'FUTURE_TIMESTAMP'
    WHEN files_started - modified - wal_ttl <= 0 THEN 'TOO_YOUNG'
    WHEN meta THEN 'META_WAL'
    WHEN ts IS NULL THEN 'POISON_NAME'
    ELSE answer_reason END AS reason, count(*)
FROM (SELECT meta, modified, ts, wal_group, files_started, files_finished, wal_ttl, bucket FROM looked_up)
LEFT JOIN answers USING (bucket) GROUP BY 1
"""


class DuckDbDecision:
    """The decision of one snapshot in DuckDB.

    Args:
        snapshot: its directory.
        frames: what walsafe broadcasts for it; one cluster.
        threads: as many as Spark has.
    """

    def __init__(self, snapshot: Path, frames: DecisionFrames, threads: int) -> None:
        self._files = str(snapshot / "files" / "*.parquet")
        self._connection: Any = duckdb.connect(config={"threads": threads})
        self._connection.execute("SET enable_progress_bar = false")
        for name, frame in (
            ("scalars", frames.scalars),
            ("groups", frames.groups),
            ("servers", frames.servers),
            ("answers", frames.answers.drop("answer_blocking")),
        ):
            self._connection.register(f"{name}_arrow", frame.toArrow())
            self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_arrow")  # noqa: S608 - names above
        passed = "".join(f" + (ts > g.{start_column(number)})::INT" for number in range(frames.starts))
        self._query = QUERY.format(passed=passed)

    def by_reason(self) -> dict[str, int]:
        """Files by reason."""
        return dict(self._connection.execute(self._query, {"files": self._files}).fetchall())


def warm_seconds(decision: DuckDbDecision, expected: dict[str, int], repeats: int) -> list[float]:
    """Warm runs of the decision in DuckDB, which must count what walsafe counted; seconds.

    Raises:
        SystemExit: it does not.
    """
    seconds = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        counts = decision.by_reason()
        seconds.append(time.perf_counter() - started)
        if counts != expected:
            raise SystemExit(f"DuckDB counts {counts}, walsafe {expected}: these times are not comparable")
    return seconds[1:]
