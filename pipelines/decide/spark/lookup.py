"""The decision tables of a run as `verdicts` looks them up: broadcast, with distinct column names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.common.spark.columns import prefix_columns
from pipelines.decide.spark.queued_names import NamedFrames


@dataclass(frozen=True, eq=False)
class DecisionFrames:
    """The decision tables of all clusters of a run (`pipelines.decide.spark.decision_frames`).

    Attributes:
        clusters: the scalars of each cluster, by column name.
        scalars: the same as a DataFrame.
        groups: by `wal_group`, the bucket of its first stretch and the last timestamp before each later one: `start_1`
            and so on, ms. Columns without a stretch contain MAX_LONG, which no timestamp exceeds.
        starts: number of these columns.
        servers: buckets by `server`, for groups without a row.
        answers: the answer of each bucket.
        boundaries: backup boundaries by `address`; None = no cluster has backup enabled.
        named: the clusters whose files are looked up by name; None = there are none.
    """

    clusters: Sequence[Mapping[str, object]]
    scalars: DataFrame
    groups: DataFrame
    starts: int
    servers: DataFrame
    answers: DataFrame
    boundaries: DataFrame | None
    named: NamedFrames | None = None

    @property
    def one_cluster(self) -> bool:
        """Whether the run has exactly one cluster."""
        return len(self.clusters) == 1

    def with_scalars(self, files: DataFrame, *wanted: str) -> DataFrame:
        """Joins the scalars that `scalar` needs: those in `wanted`, or all if that is empty; none for one cluster."""
        if self.one_cluster:
            return files
        return files.join(F.broadcast(self.scalars.select("cluster", *wanted) if wanted else self.scalars), "cluster")

    def scalar(self, name: str) -> Column:
        """Returns a scalar of the file's cluster: a column of `with_scalars`, or a literal, which Spark folds."""
        if not self.one_cluster:
            return F.col(name)
        return F.lit(self.clusters[0][name]).cast(self.scalars.schema[name].dataType.simpleString())

    # cached for all queries of a run, since Spark analyzes a plan for each of them

    @cached_property
    def flat_groups(self) -> DataFrame:
        """`groups` with the prefix `flat_`, and `flat_key`, the hash of cluster and name."""
        return self._groups("flat")

    @cached_property
    def other_groups(self) -> DataFrame:
        """The same with the prefix `other_`."""
        return self._groups("other")

    @cached_property
    def servers_by_name(self) -> DataFrame:
        """`servers` with the prefix `s_`."""
        return F.broadcast(self.servers.select(*prefix_columns(self.servers, "s")))

    @cached_property
    def answers_by_bucket(self) -> DataFrame:
        """`answers`, broadcast."""
        return F.broadcast(self.answers)

    @cached_property
    def boundaries_by_address(self) -> DataFrame | None:
        """`boundaries` with the prefix `b_`."""
        return (
            None
            if self.boundaries is None
            else F.broadcast(self.boundaries.select(*prefix_columns(self.boundaries, "b")))
        )

    def key(self, group: str) -> Column:
        """Returns a 64-bit hash of cluster and group, which Spark looks up without copying the name."""
        return F.xxhash64(group) if self.one_cluster else F.xxhash64("cluster", group)

    def _groups(self, which: str) -> DataFrame:
        key = self.key("wal_group").alias(f"{which}_key")
        return F.broadcast(self.groups.select(*prefix_columns(self.groups, which), key))


def start_column(number: int) -> str:
    """Returns the column name for the later stretch with this number, counted from 0."""
    return f"start_{number + 1}"
