"""The decision tables of all clusters of a run as small DataFrames, ready to be broadcast."""

from collections.abc import Sequence

from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, BooleanType, IntegerType, LongType, StringType, StructField, StructType

from pipelines.domain.cleaner_rule import for_every_file
from pipelines.domain.cluster_view import ClusterView
from pipelines.domain.decision_table import UNKNOWN_SERVER, Answer, DecisionTable
from pipelines.domain.verdict import Holder
from pipelines.transforms.local_frames import local_frame
from pipelines.transforms.verdicts import DecisionFrames
from schemas.wal_verdicts import BLOCKING

_SCALARS = StructType(
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
        StructField("unknown_bucket", IntegerType(), nullable=False),
        StructField("no_server_bucket", IntegerType(), nullable=False),
    ]
)
_GROUPS = StructType(
    [
        StructField("cluster", StringType()),
        StructField("wal_group", StringType()),
        StructField("starts", ArrayType(LongType())),
        StructField("first_bucket", IntegerType()),
        StructField("overflow_bucket", IntegerType()),
        StructField("server", StringType()),
        StructField("is_clean", BooleanType()),
    ]
)
_SERVERS = StructType(
    [
        StructField("cluster", StringType()),
        StructField("server", StringType()),
        StructField("encoded", StringType()),
        StructField("plain_bucket", IntegerType()),
        StructField("rep_bucket", IntegerType()),
    ]
)
_ANSWERS = StructType(
    [
        StructField("bucket", IntegerType()),
        StructField("answer_server", StringType()),
        StructField("answer_verdict", StringType()),
        StructField("answer_reason", StringType()),
        StructField("answer_hbase_verdict", StringType()),
        StructField("answer_blocking", BLOCKING),
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
    scalars = [_scalars(view, table) for view, table in clusters]
    return DecisionFrames(
        clusters=[dict(zip(_SCALARS.names, values, strict=True)) for values in scalars],
        scalars=local_frame(spark, scalars, _SCALARS),
        groups=local_frame(
            spark,
            [
                (
                    table.cluster,
                    group.name,
                    [stretch.from_timestamp for stretch in group.stretches[1:]],
                    group.stretches[0].answer.bucket,
                    group.overflow.bucket,
                    str(group.server),
                    group.name.isprintable() and "/" not in group.name,
                )
                for _, table in clusters
                for group in table.groups
            ],
            _GROUPS,
        ),
        most_starts=max((len(group.stretches) - 1 for _, table in clusters for group in table.groups), default=0),
        servers=local_frame(
            spark,
            [
                (table.cluster, str(row.server), row.encoded, row.plain.bucket, row.replication_table.bucket)
                for _, table in clusters
                for row in table.servers
            ],
            _SERVERS,
        ),
        answers=local_frame(spark, [_answer(answer) for _, table in clusters for answer in table.answers()], _ANSWERS),
        boundaries=local_frame(spark, backups, _BOUNDARIES) if backups else None,
    )


def _scalars(view: ClusterView, table: DecisionTable) -> tuple[object, ...]:
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
        table.unknown.bucket,
        table.no_server.bucket,
    )


def _answer(answer: Answer) -> tuple[object, ...]:
    decision = answer.decision
    return (
        answer.bucket,
        None if answer.server == UNKNOWN_SERVER else str(answer.server),
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
