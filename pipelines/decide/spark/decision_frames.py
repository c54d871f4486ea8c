"""Turns the decision tables of all clusters of a run into small DataFrames, ready to be broadcast."""

from collections import Counter
from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession
from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType, StructField, StructType

from pipelines.common.spark.local_frames import local_frame
from pipelines.decide.rule.cleaner_rule import for_every_file
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.decision_table import UNKNOWN_SERVER, DecisionTable, GroupAnswers, TableAnswer
from pipelines.decide.rule.verdict import Holder
from pipelines.decide.spark.lookup import DecisionFrames, start_column
from pipelines.decide.spark.queued_names import named_frames
from pipelines.hbase.server_names import MAX_LONG
from pipelines.hbase.wal_names import META_SUFFIX, encode_prefix, is_replication_table_group, parse_wal_name
from schemas.wal_verdicts import BLOCKING

_SERVER_HERE = "\0"
_FORMS = 16
"""Number of forms of group names tried for every server: enough for every region group of a multiwal server."""
_LONGEST_TTL_MS = 1 << 62
"""No age is so long, and no sum of it and an age overflows; HBase accepts every TTL of 64 bits."""
_SCALARS = StructType(
    [
        StructField("cluster", StringType()),
        StructField("untrusted", BooleanType(), nullable=False),
        StructField("add_peer_running", BooleanType(), nullable=False),
        StructField("foreign_cleaner", BooleanType(), nullable=False),
        StructField("backup_enabled", BooleanType(), nullable=False),
        StructField("backup_of_others", LongType()),
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
    """Turns the tables of all clusters into DataFrames.

    Args:
        spark: used only to create local DataFrames.
        clusters: each view with its own table; buckets are unique over all of them.
    """
    backups = [
        (view.cluster, address, boundary)
        for view, _ in clusters
        if view.backup.enabled
        for address, boundary in sorted(view.backup.boundaries.items())
    ]
    backup_enabled = any(view.backup.enabled for view, _ in clusters)
    scalars = [_scalars(view, table) for view, table in clusters]
    starts = max((len(group.stretches) - 1 for _, table in clusters for group in table.groups), default=0)
    columns = [StructField(start_column(number), LongType(), nullable=False) for number in range(starts)]
    groups = [
        # no file name contains a `/`; `flat_group` relies on the fact that no group of the table does
        *(
            _group(table.cluster, group, starts)
            for _, table in clusters
            for group in table.groups
            if "/" not in group.name
        ),
        *(row for _, table in clusters for row in _expected_groups(table, starts)),
    ]
    return DecisionFrames(
        clusters=[dict(zip(_SCALARS.names, values, strict=True)) for values in scalars],
        scalars=local_frame(spark, scalars, _SCALARS),
        groups=local_frame(spark, groups, StructType([*_GROUPS, *columns])),
        starts=starts,
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
        boundaries=local_frame(spark, backups, _BOUNDARIES) if backup_enabled else None,
        named=named_frames(spark, [table for _, table in clusters]),
    )


def _group(cluster: str, group: GroupAnswers, starts: int) -> tuple[object, ...]:
    later = [stretch.from_timestamp - 1 for stretch in group.stretches[1:]]
    return (
        cluster,
        group.name,
        group.stretches[0].answer.bucket,
        group.overflow.bucket,
        str(group.server),
        group.name.isprintable(),
        *later,
        *[MAX_LONG] * (starts - len(later)),
    )


def _expected_groups(table: DecisionTable, starts: int) -> Iterator[tuple[object, ...]]:
    """Yields rows for WAL groups that the table does not have, but files may.

    These are, for each known server, its own group, its meta group, and groups named like the table's most common
    ones. Such a group has the answer of its server. Without these rows, `looked_up` finds the same answer, but has to
    parse the name.
    """
    known = {group.name for group in table.groups}
    forms = Counter(
        group.name.replace(encode_prefix(str(group.server)), _SERVER_HERE) for group in table.groups
    ).most_common(_FORMS)
    for row in table.servers:
        for form in {_SERVER_HERE, f"{_SERVER_HERE}{META_SUFFIX}", *(form for form, _ in forms)}:
            name = form.replace(_SERVER_HERE, row.encoded)
            wal = parse_wal_name(f"{name}.0")
            if name in known or "/" in name or wal is None or wal.group != name or wal.server != row.server:
                continue
            answer = row.replication_table if is_replication_table_group(name, row.server) else row.plain
            # a timestamp over 64 bits is POISON_NAME before any answer is looked up
            yield (
                *(table.cluster, name, answer.bucket, answer.bucket, str(row.server)),
                name.isprintable(),
                *[MAX_LONG] * starts,
            )


def _scalars(view: ClusterView, table: DecisionTable) -> tuple[object, ...]:
    everything = for_every_file(view)
    return (
        view.cluster,
        view.untrusted is not None,
        view.add_peer_running,
        view.foreign_cleaner is not None,
        view.backup.enabled,
        view.backup.others,
        not view.peer_ids and view.storage.asks_peers,
        everything.value if everything else None,
        view.files_started,
        view.files_finished,
        min(view.retention.wal_ttl_ms, _LONGEST_TTL_MS),
        min(view.retention.procedure_wal_ttl_ms, _LONGEST_TTL_MS),
        min(view.retention.master_local_wal_ttl_ms, _LONGEST_TTL_MS),
        table.unknown.bucket,
        table.no_server.bucket,
    )


def _answer(answer: TableAnswer) -> tuple[object, ...]:
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
