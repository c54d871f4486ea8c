"""Reads the rows of earlier audits from the lake."""

from collections.abc import Sequence
from dataclasses import fields

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from pipelines.common.instants import utc_day
from pipelines.lake.lake_errors import lake_errors
from pipelines.lake.look_back import LOOK_BACK
from pipelines.queues.audit.rows import AuditRow
from schemas.queue_audits import QUEUE_AUDITS

_LISTS = ("also", "hops", "missing_wals")


class LakeAudits:
    """The rows of earlier audits in one lake.

    Args:
        spark: the session.
        lake_uri: the folder of the lake.
    """

    def __init__(self, spark: SparkSession, lake_uri: str) -> None:
        self._spark = spark
        self._location = f"{lake_uri.rstrip('/')}/{QUEUE_AUDITS.name}"

    def audits_before(self, cluster: str, before: int) -> Sequence[Sequence[AuditRow]]:
        """Returns the rows of each audit of `LOOK_BACK` before an instant (ms since the epoch), the oldest audit first.

        Of several audits of one instant, the one with the greatest run id counts.

        Only audits whose snapshot is older than the instant are returned.
        """
        last = utc_day(before)
        with lake_errors(self._location):
            rows = (
                self._spark.read.format("delta")
                .load(self._location)
                .filter(F.col("run_date").between(F.lit(last - LOOK_BACK), F.lit(last)))
                .filter(F.col("cluster") == cluster)
                .withColumn("observed_at", F.unix_millis("observed_at"))
                .filter(F.col("observed_at") < before)
                .orderBy("observed_at", "run_id")
                .collect()
            )
        runs: dict[int, dict[str, list[AuditRow]]] = {}
        for row in rows:
            runs.setdefault(row["observed_at"], {}).setdefault(row["run_id"], []).append(_audit_row(row))
        return [audits[max(audits)] for _, audits in sorted(runs.items())]


def _audit_row(row: Row) -> AuditRow:
    values = {field.name: row[field.name] for field in fields(AuditRow)}
    return AuditRow(**{**values, **{name: tuple(values[name] or ()) for name in _LISTS}})
