"""Reads the rows of earlier audits from the lake."""

from collections.abc import Sequence
from dataclasses import replace

from pipelines.common.instants import utc_day
from pipelines.lake.reader import LakeReader
from pipelines.queues.audit.rows import AuditRow
from schemas.queue_audits import QUEUE_AUDITS


def audits_before(lake: LakeReader, cluster: str, before: int) -> Sequence[Sequence[AuditRow]]:
    """Returns the rows of each audit of `LOOK_BACK` before an instant (ms since the epoch), the oldest audit first.

    Of several audits of one instant, the one with the greatest run id counts.

    Only audits whose snapshot is older than the instant are returned.
    """
    runs: dict[int, dict[str, list[AuditRow]]] = {}
    for key, row in lake.recent(QUEUE_AUDITS, AuditRow, cluster, utc_day(before)):
        if row.observed_at < before:
            runs.setdefault(row.observed_at, {}).setdefault(key.run_id, []).append(_with_tuples(row))
    return [audits[max(audits)] for _, audits in sorted(runs.items())]


def _with_tuples(row: AuditRow) -> AuditRow:
    return replace(
        row, also=tuple(row.also or ()), hops=tuple(row.hops or ()), missing_wals=tuple(row.missing_wals or ())
    )
