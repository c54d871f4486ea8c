"""Reads the findings of earlier runs of inspect-wals, of the queue jobs and of the split jobs."""

from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipelines.lake.lake_errors import lake_errors
from pipelines.lake.look_back import LOOK_BACK
from pipelines.lake.run_summary import RunKey
from schemas.findings import FINDINGS


class LakeFindings:
    """Findings of the earlier runs of one job in one lake.

    Args:
        spark: the session.
        lake_uri: folder of the tables.
        suffix: suffix of the run ids of the job.
    """

    def __init__(self, spark: SparkSession, lake_uri: str, suffix: str) -> None:
        self._spark = spark
        self._suffix = suffix
        self._location = f"{lake_uri.rstrip('/')}/{FINDINGS.name}"

    def findings_before(self, key: RunKey) -> Mapping[str, tuple[int, int]]:
        """Returns first_seen (ms since the epoch) and the number of inspections by finding key, of the last 30 days."""
        with lake_errors(self._location):
            rows = (
                self._spark.read.format("delta")
                .load(self._location)
                .filter(F.col("run_date").between(F.lit(key.run_date - LOOK_BACK), F.lit(key.run_date)))
                .filter((F.col("cluster") == key.cluster) & F.col("run_id").endswith(self._suffix))
                .filter(F.col("run_id") != key.run_id)
                .groupBy("key")
                .agg(F.min(F.unix_millis("first_seen")).alias("first_seen"), F.countDistinct("run_id").alias("nights"))
                .collect()
            )
        return {row["key"]: (row["first_seen"], row["nights"]) for row in rows}
