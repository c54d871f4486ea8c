"""The decision tables of all clusters of a run as small DataFrames, ready to be broadcast."""

from collections.abc import Sequence

from pyspark.sql import SparkSession
from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType, StructField, StructType

from pipelines.domain.cleaner_rule import for_every_file
from pipelines.domain.cluster_view import ClusterView
from pipelines.domain.decision_table import Answer, DecisionTable
from pipelines.domain.verdict import Holder
from pipelines.transforms.local_frames import local_frame
from pipelines.transforms.verdicts import DecisionFrames
from schemas.wal_verdicts import BLOCKING

_ANSWER = StructType(
    [
        StructField("bucket", IntegerType()),
        StructField("verdict", StringType()),
        StructField("reason", StringType()),
        StructField("hbase_verdict", StringType()),
        StructField("blocking", BLOCKING),
    ]
)
_CLUSTERS = StructType(
    [
        StructField("cluster", StringType()),
        StructField("untrusted", BooleanType(), nullable=False),
        StructField("add_peer_running", BooleanType(), nullable=False),
        StructField("foreign_cleaner", BooleanType(), nullable=False),
        StructField("backup_enabled", BooleanType(), nullable=False),
        StructField("no_peers", BooleanType(), nullable=False),
        StructField("hbase_every_file", StringType()),
        StructField("files_started", LongType(), nullable=False),
        StructField("files_finished", LongType(), nullable=False),
        StructField("wal_ttl", LongType(), nullable=False),
        StructField("procedure_wal_ttl", LongType(), nullable=False),
        StructField("master_local_wal_ttl", LongType(), nullable=False),
        StructField("unknown", _ANSWER, nullable=False),
        StructField("no_server", _ANSWER, nullable=False),
        StructField("nobody", BLOCKING, nullable=False),
    ]
)
_GROUPS = StructType(
    [
        StructField("cluster", StringType()),
        StructField("wal_group", StringType()),
        StructField("from_timestamp", LongType()),
        StructField("to_timestamp", LongType()),
        StructField("server", StringType()),
        StructField("answer", _ANSWER),
    ]
)
_SERVERS = StructType(
    [
        StructField("cluster", StringType()),
        StructField("server", StringType()),
        StructField("encoded", StringType()),
        StructField("plain", _ANSWER),
        StructField("rep", _ANSWER),
    ]
)
_BOUNDARIES = StructType(
    [
        StructField("cluster", StringType()),
        StructField("address", StringType()),
        StructField("boundary", LongType()),
    ]
)


def decision_frames(spark: SparkSession, clusters: Sequence[tuple[ClusterView, DecisionTable]]) -> DecisionFrames:
    """Turn the tables of all clusters into DataFrames.

    Args:
        spark: only used to create local DataFrames.
        clusters: each view with its own table; buckets are unique over all of them.
    """
    backups = [
        (view.cluster, address, boundary)
        for view, _ in clusters
        if view.backup.enabled
        for address, boundary in sorted(view.backup.boundaries.items())
    ]
    return DecisionFrames(
        clusters=local_frame(spark, [_cluster(view, table) for view, table in clusters], _CLUSTERS),
        groups=local_frame(
            spark,
            [
                (table.cluster, row.group, row.from_timestamp, row.to_timestamp, str(row.server), _answer(row.answer))
                for _, table in clusters
                for row in table.groups
            ],
            _GROUPS,
        ),
        servers=local_frame(
            spark,
            [
                (table.cluster, str(row.server), row.encoded, _answer(row.plain), _answer(row.replication_table))
                for _, table in clusters
                for row in table.servers
            ],
            _SERVERS,
        ),
        boundaries=local_frame(spark, backups, _BOUNDARIES) if backups else None,
        names=[view.cluster for view, _ in clusters],
    )


def _cluster(view: ClusterView, table: DecisionTable) -> tuple[object, ...]:
    everything = for_every_file(view)
    return (
        view.cluster,
        view.untrusted is not None,
        view.add_peer_running,
        view.foreign_cleaner is not None,
        view.backup.enabled,
        not view.peer_ids,
        everything.value if everything else None,
        view.files_started,
        view.files_finished,
        view.retention.wal_ttl_ms,
        view.retention.procedure_wal_ttl_ms,
        view.retention.master_local_wal_ttl_ms,
        _answer(table.unknown),
        _answer(table.no_server),
        [],
    )


def _answer(answer: Answer) -> tuple[object, ...]:
    decision = answer.decision
    return (
        answer.bucket,
        decision.verdict.value,
        decision.reason.value,
        answer.hbase_verdict.value,
        [_holder(holder) for holder in decision.blocking],
    )


def _holder(holder: Holder) -> tuple[object, ...]:
    return (
        holder.peer_id,
        None if holder.owner is None else str(holder.owner),
        None if holder.source is None else str(holder.source),
        holder.wal,
        holder.offset,
    )
