"""The rule in Spark: the same answers as `pipelines.domain.verdict.decide`, by lookup in a `DecisionTable`.

The per-file work is parse, a broadcast lookup by group and timestamp, a second one by server where the group has no
row, and comparisons: no Python runs per row. A property test holds this equal to the specification.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.domain.decision_table import OVERFLOW
from pipelines.domain.verdict import Reason, Verdict
from pipelines.transforms import wal_names

DELETABLE_WHEN_REASON = (
    Reason.PROCEDURE_WAL,
    Reason.MASTER_LOCAL_WAL,
    Reason.NO_PEERS,
    Reason.META_WAL,
)
"""Reasons found without a lookup whose verdict is DELETABLE; every other one found so is HELD."""


@dataclass(frozen=True)
class DecisionFrames:
    """The decision tables of all clusters of a run as small DataFrames (`pipelines.transforms.decision_frames`).

    Attributes:
        clusters: one row a cluster: flags, instants, TTLs and the answers for servers and names without a row.
        groups: stretches of timestamps by `wal_group`.
        servers: answers by `server` for groups without a row.
        boundaries: backup boundaries by `address`; None when no cluster has backup enabled.
        names: the clusters, in the order of `clusters`.
    """

    clusters: DataFrame
    groups: DataFrame
    servers: DataFrame
    boundaries: DataFrame | None
    names: Sequence[str]


def decided(files: DataFrame, frames: DecisionFrames) -> DataFrame:
    """Decide every file.

    Args:
        files: `cluster`, `path`, `length`, `modification_time`; below oldWALs or not.
        frames: the decision tables.

    Returns:
        The columns of `files` and `archived` (below oldWALs), `server`, `wal_group`, `wal_timestamp` (ms),
        `verdict`, `reason`, `hbase_verdict`, `blocking`, `bucket` (the stretch of the decision table; NULL where no
        lookup was needed). Verdicts of files that are not archived mean nothing beyond their bucket.
    """
    parsed = wal_names.with_group_and_timestamp(files).withColumn("archived", F.col("path").startswith("oldWALs/"))
    with_cluster = parsed.join(F.broadcast(frames.clusters), "cluster", "inner")
    looked_up = _with_lookups(with_cluster, frames)
    with_boundary = _with_boundary(looked_up, frames.boundaries)
    return (
        with_boundary.withColumn("reason", _reason(with_boundary))
        .withColumn("verdict", _verdict())
        .withColumn("hbase_verdict", _hbase_verdict())
        .withColumn("blocking", _blocking())
        .select(
            *files.columns,
            "archived",
            F.when(F.col("is_wal"), F.col("server")).alias("server"),
            F.when(F.col("is_wal"), F.col("wal_group")).alias("wal_group"),
            F.when(F.col("is_wal"), F.col("wal_timestamp")).alias("wal_timestamp"),
            "verdict",
            "reason",
            "hbase_verdict",
            "blocking",
            F.when(_tracked(), F.col("answer.bucket")).alias("bucket"),
        )
    )


def _with_lookups(files: DataFrame, frames: DecisionFrames) -> DataFrame:
    """Add `is_wal`, `server` and `answer`: by group and timestamp, else by server, else the cluster's own."""
    groups = F.broadcast(frames.groups.select(*(F.col(name).alias(f"g_{name}") for name in frames.groups.columns)))
    timestamp = F.coalesce("wal_timestamp", F.lit(OVERFLOW))
    by_group = files.join(
        groups,
        (F.col("cluster") == F.col("g_cluster"))
        & (F.col("wal_group") == F.col("g_wal_group"))
        & timestamp.between(F.col("g_from_timestamp"), F.col("g_to_timestamp")),
        "left",
    )
    hit = F.col("g_server").isNotNull()
    # rows with a group of the table are valid WAL names of its server by construction; only the rest is parsed
    named = by_group.withColumn("is_wal", hit | wal_names.is_wal()).withColumn(
        "server",
        F.when(hit, F.col("g_server")).when(F.col("is_wal") & ~wal_names.is_meta_wal(), wal_names.server_of_name()),
    )
    servers = F.broadcast(frames.servers.select(*(F.col(name).alias(f"s_{name}") for name in frames.servers.columns)))
    by_server = named.join(
        servers,
        (F.col("cluster") == F.col("s_cluster")) & (F.when(~hit, F.col("server")) == F.col("s_server")),
        "left",
    )
    encoded_size = F.length("s_encoded")
    encoded = F.left(F.col("wal_group"), encoded_size)
    rest = F.expr("substring(wal_group, length(s_encoded) + 1)")
    replication_table = (F.lower(encoded) == F.lower(F.col("s_encoded"))) & (
        (rest == F.lit(".rep")) | rest.startswith(F.concat(F.lit("."), encoded, F.lit(".rep.")))
    )
    return by_server.withColumn(
        "answer",
        F.when(hit, F.col("g_answer"))
        .when(F.col("s_server").isNotNull(), F.when(replication_table, F.col("s_rep")).otherwise(F.col("s_plain")))
        .when(F.col("server").isNotNull(), F.col("unknown"))
        .otherwise(F.col("no_server")),
    )


def _with_boundary(files: DataFrame, boundaries: DataFrame | None) -> DataFrame:
    if boundaries is None:
        return files.withColumn("backed_up", F.lit(False))
    known = F.broadcast(boundaries.select(*(F.col(name).alias(f"b_{name}") for name in boundaries.columns)))
    # META_WAL names have no `server` above, as the rule never asks for it; a boundary does
    server = F.coalesce("server", F.when(F.col("is_wal"), wal_names.server_of_name()))
    address = F.concat(F.substring_index(server, ",", 1), F.lit(":"), F.split_part(server, F.lit(","), F.lit(2)))
    return files.join(
        known, (F.col("cluster") == F.col("b_cluster")) & (address == F.col("b_address")), "left"
    ).withColumn("backed_up", F.coalesce(F.col("wal_timestamp") <= F.col("b_boundary"), F.lit(False)))


def _tracked() -> Column:
    return F.col("is_wal") & ~wal_names.is_meta_wal()


def _reason(files: DataFrame) -> Column:
    """The order of the verdict table; what matches nothing stays NULL, and the gate refuses NULL."""
    del files
    age = F.col("files_started") - F.unix_millis("modification_time")
    is_procedure, is_master_local = wal_names.is_procedure_wal(), wal_names.is_master_local_wal()
    invalid = ~F.col("is_wal") & ~is_procedure & ~is_master_local
    ttl = (
        F.when(F.col("is_wal"), F.col("wal_ttl"))
        .when(is_procedure, F.col("procedure_wal_ttl"))
        .otherwise(F.col("master_local_wal_ttl"))
    )

    def reason(value: Reason) -> Column:
        return F.lit(value.value)

    return (
        F.when(F.col("untrusted"), reason(Reason.SNAPSHOT_UNTRUSTED))
        .when(F.col("add_peer_running"), reason(Reason.ADD_PEER_RUNNING))
        .when(invalid, reason(Reason.INVALID_NAME))
        .when(F.unix_millis("modification_time") > F.col("files_finished"), reason(Reason.FUTURE_TIMESTAMP))
        .when(age <= ttl, reason(Reason.TOO_YOUNG))
        .when(F.col("foreign_cleaner"), reason(Reason.FOREIGN_CLEANER))
        .when(~F.col("is_wal") & is_procedure, reason(Reason.PROCEDURE_WAL))
        .when(~F.col("is_wal") & is_master_local, reason(Reason.MASTER_LOCAL_WAL))
        .when(F.col("backup_enabled") & ~F.col("backed_up"), reason(Reason.BACKUP))
        .when(F.col("no_peers"), reason(Reason.NO_PEERS))
        .when(wal_names.is_meta_wal(), reason(Reason.META_WAL))
        .when(F.col("server").isNull() | F.col("wal_timestamp").isNull(), reason(Reason.POISON_NAME))
        .otherwise(F.col("answer.reason"))
    )


def _looked_up() -> Column:
    """Whether the reason came from the answer, so that verdict and holders do too."""
    return F.col("reason") == F.col("answer.reason")


def _verdict() -> Column:
    without_lookup = [reason.value for reason in DELETABLE_WHEN_REASON]
    return (
        F.when(F.col("reason").isin(without_lookup), F.lit(Verdict.DELETABLE.value))
        .when(_looked_up(), F.col("answer.verdict"))
        .when(F.col("reason").isNotNull(), F.lit(Verdict.HELD.value))
    )


def _hbase_verdict() -> Column:
    return (
        F.when(F.col("hbase_every_file").isNotNull(), F.col("hbase_every_file"))
        .when(~_tracked(), F.lit("DELETE"))
        .otherwise(F.col("answer.hbase_verdict"))
    )


def _blocking() -> Column:
    # the answer for servers nobody knows was asked for a made-up name; a holder's source is the file's own server
    unknown = F.col("answer.bucket") == F.col("unknown.bucket")
    own_source = F.transform("answer.blocking", lambda holder: holder.withField("source", F.col("server")))
    return F.when(~_looked_up(), F.col("nobody")).when(unknown, own_source).otherwise(F.col("answer.blocking"))
