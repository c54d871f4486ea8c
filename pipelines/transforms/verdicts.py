"""The rule in Spark: the same answers as `pipelines.domain.verdict.decide`, by lookup in a `DecisionTable`.

In two steps, so that what is done per file stays small. `looked_up` parses a path, finds the number of its answer
(its *bucket*) by group and timestamp, or by server where the group has no row, and the reasons that come before any
lookup. `with_answers` puts the answer in the place of the number: after grouping where only totals are wanted, per
file where the rows are written. No Python runs per row; a property test holds the two steps equal to the specification.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.domain.verdict import Reason, Verdict
from pipelines.transforms import wal_names
from pipelines.transforms.columns import prefixed, same_but_no_key, with_in_turn
from pipelines.transforms.queued_names import POSITIONS, NamedFrames, looked_up_by_name, with_own_names

EARLY_REASONS = tuple(Reason)
"""Reasons by number, for reasons are summed by number too."""
DELETABLE_BEFORE_LOOKUP = (Reason.PROCEDURE_WAL, Reason.MASTER_LOCAL_WAL, Reason.NO_PEERS, Reason.META_WAL)
"""Reasons found without a lookup whose verdict is DELETABLE; every other one found so is HELD."""


@dataclass(frozen=True)
class DecisionFrames:
    """The decision tables of all clusters of a run (`pipelines.transforms.decision_frames`).

    Attributes:
        clusters: the scalars of each cluster, by column name.
        scalars: the same as a DataFrame.
        groups: by `wal_group`, the bucket of its first stretch and the last timestamp before each later one: `start_1`
            and so on, ms; MAX_LONG, which no timestamp is above, where there are no more.
        starts: how many of these columns there are.
        servers: buckets by `server`, for groups without a row.
        answers: what each bucket stands for.
        boundaries: backup boundaries by `address`; None when no cluster has backup enabled.
        named: clusters whose files are looked up by name; None when there are none.
    """

    clusters: Sequence[Mapping[str, object]]
    scalars: DataFrame
    groups: DataFrame
    starts: int
    servers: DataFrame
    answers: DataFrame
    boundaries: DataFrame | None
    named: NamedFrames | None = None


def looked_up(files: DataFrame, frames: DecisionFrames) -> DataFrame:
    """Find the bucket of every file.

    Args:
        files: `cluster`, `path`, `length`, `modification_time`; below oldWALs or not.
        frames: the decision tables.

    Returns:
        The columns of `files`, and
        `archived`: below oldWALs; the others have a bucket too, their reason means nothing.
        `wal_group`, `wal_timestamp` (ms): NULL when the name is no WAL, the latter also when over 64 bits.
        `own_server`: as the name says; NULL where the answer knows it, or the name has none.
        `bucket`: number of the answer; NULL for what the rule never asks the queues about.
        `early`: number of the reason (`EARLY_REASONS`), where it comes before any lookup; else NULL.
        `past_ttl_ms`: age beyond the TTL of its class, ms.
        `unproven`: the part of the path that may still hold what no path may; a name with a known group cannot.
    """
    named = _with_server(_with_group_bucket(_with_scalars(files, frames), frames))
    placed = _joined_boundaries(_joined_servers(named, frames), frames.boundaries)
    numbered = placed.select(
        *files.columns,
        F.col("path").startswith(wal_names.ARCHIVE).alias("archived"),
        F.when(F.col("is_wal"), F.col("wal_group")).alias("wal_group"),
        F.when(F.col("is_wal"), F.col("wal_timestamp")).alias("wal_timestamp"),
        "own_server",
        _bucket().alias("bucket"),
        (F.col("files_started") - F.unix_millis("modification_time") - _ttl()).alias("past_ttl_ms"),
        _early(_backed_up(frames.boundaries)).alias("early"),
        F.when(F.col("flat_is_clean"), F.lit("oldWALs"))
        .when(F.col("other_is_clean"), wal_names.directory())
        .otherwise(F.col("path"))
        .alias("unproven"),
    )
    return numbered if frames.named is None else looked_up_by_name(numbered, frames.named)


def with_answers(found: DataFrame, frames: DecisionFrames) -> DataFrame:
    """Put answers in the place of buckets.

    Args:
        found: has `cluster`, `bucket` and `early`; `own_server` too if holders matter for servers nobody knows.
        frames: the decision tables.

    Returns:
        `found` and `server`, `verdict`, `reason`, `hbase_verdict`, `blocking`.
    """
    names = found.columns
    own_server = F.col("own_server") if "own_server" in names else F.lit(None).cast("string")
    answered = _with_scalars(found, frames, "hbase_every_file").join(F.broadcast(frames.answers), "bucket", "left")
    nobody = F.array().cast(frames.answers.schema["answer_blocking"].dataType)
    # the answer for servers nobody knows was asked for a made-up name; a holder's source is the file's own server
    own_source = F.transform("answer_blocking", lambda holder: holder.withField("source", own_server))
    blocking = (
        F.when(F.col("early").isNotNull() | F.col("bucket").isNull(), nobody)
        .when(F.col("answer_server").isNull() & (F.size("answer_blocking") > 0), own_source)
        .otherwise(F.col("answer_blocking"))
    )
    reason = F.coalesce(_reason_of("early"), "answer_reason")
    verdict = (
        F.when(F.col("early").isNull(), F.col("answer_verdict"))
        .when(
            F.col("early").isin([EARLY_REASONS.index(reason) for reason in DELETABLE_BEFORE_LOOKUP]),
            Verdict.DELETABLE.value,
        )
        .otherwise(F.lit(Verdict.HELD.value))
    )
    hbase_verdict = F.coalesce(F.col("hbase_every_file"), F.col("answer_hbase_verdict"), F.lit("DELETE"))
    return answered.select(
        *names,
        F.coalesce("answer_server", own_server).alias("server"),
        verdict.alias("verdict"),
        reason.alias("reason"),
        hbase_verdict.alias("hbase_verdict"),
        (with_own_names(blocking) if POSITIONS in names else blocking).alias("blocking"),
    )


def start_column(number: int) -> str:
    """Name of the column with the start of the stretch after so many others."""
    return f"start_{number + 1}"


def _with_scalars(files: DataFrame, frames: DecisionFrames, *wanted: str) -> DataFrame:
    """Scalars of the file's cluster, all where none is named; literals, which Spark folds, for a single one."""
    names = wanted or tuple(name for name in frames.scalars.columns if name != "cluster")
    if len(frames.clusters) == 1:
        (scalars,) = frames.clusters
        types = frames.scalars.schema
        return files.withColumns(
            {name: F.lit(scalars[name]).cast(types[name].dataType.simpleString()) for name in names}
        )
    return files.join(F.broadcast(frames.scalars.select("cluster", *names)), "cluster")


def _with_group_bucket(files: DataFrame, frames: DecisionFrames) -> DataFrame:
    """Add `wal_group`, `wal_timestamp` and `group_bucket`: the stretch that the file's group and timestamp fall into.

    Two lookups: by `flat_group`, which finds nearly every file, and by the name taken apart with care, where a NULL
    costs nothing. `flat_…` and `other_…` are what they found.
    """
    flat = _looked_up_group(wal_names.with_flat_group(files), "flat", frames)
    known = F.col("flat_server").isNotNull()
    named = wal_names.with_group_and_timestamp(flat, known)
    other = _looked_up_group(named, "other", frames)
    return with_in_turn(
        other,
        {
            "wal_group": F.when(known, F.col("flat_wal_group")).otherwise(F.col("other_group")),
            "group_server": F.coalesce("flat_server", "other_server"),
            "group_bucket": F.when(known, _stretch("flat", frames)).when(
                F.col("other_server").isNotNull(), _stretch("other", frames)
            ),
        },
    )


def _looked_up_group(files: DataFrame, which: str, frames: DecisionFrames) -> DataFrame:
    """Join the groups by `<which>_group`; the columns found are called `<which>_…`.

    The join is by a 64-bit hash, which Spark looks up without copying the name, and then by the name itself.
    """
    one_cluster = len(frames.clusters) == 1
    wanted = f"{which}_group"
    key = F.xxhash64("wal_group") if one_cluster else F.xxhash64("cluster", "wal_group")
    own_key = F.xxhash64(wanted) if one_cluster else F.xxhash64("cluster", wanted)
    groups = F.broadcast(frames.groups.select(*prefixed(frames.groups, which), key.alias(f"{which}_key")))
    pairs = [(wanted, f"{which}_wal_group")] + ([] if one_cluster else [("cluster", f"{which}_cluster")])
    return files.join(
        groups,
        (F.when(F.col(wanted).isNotNull(), own_key) == F.col(f"{which}_key")) & same_but_no_key(pairs),
        "left",
    )


def _stretch(which: str, frames: DecisionFrames) -> Column:
    """The bucket of a timestamp: stretches of a group have consecutive ones, so the first plus the starts passed."""
    starts = (F.col(f"{which}_{start_column(number)}") for number in range(frames.starts))
    passed = ((F.col("wal_timestamp") > start).cast("int") for start in starts)
    return F.when(F.col("wal_timestamp").isNull(), F.col(f"{which}_overflow_bucket")).otherwise(
        reduce(Column.__add__, passed, F.col(f"{which}_first_bucket"))
    )


def _with_server(files: DataFrame) -> DataFrame:
    """Add `is_wal` and, where the rule will ask for it, `own_server`.

    A group of the table is that of a valid WAL name by construction; only other names are parsed.
    """
    hit = F.col("group_bucket").isNotNull()
    typed = files.withColumn("is_wal", hit | wal_names.is_wal())
    # no answer tells the server of a meta WAL, since none is ever asked for one
    of_meta = F.when(hit & wal_names.is_meta_wal(), F.col("group_server"))
    return wal_names.with_own_server(typed, F.col("is_wal") & ~hit, otherwise=of_meta)


def _joined_servers(files: DataFrame, frames: DecisionFrames) -> DataFrame:
    """Join the servers, by the one in the name; their columns are called `s_…`."""
    servers = F.broadcast(frames.servers.select(*prefixed(frames.servers, "s")))
    return files.join(
        servers, (F.col("cluster") == F.col("s_cluster")) & (F.col("own_server") == F.col("s_server")), "left"
    )


def _bucket() -> Column:
    """That of the group, else that of the server, else the cluster's own."""
    encoded_size = F.length("s_encoded")
    encoded = F.left(F.col("wal_group"), encoded_size)
    rest = F.expr("substring(wal_group, length(s_encoded) + 1)")
    replication_table = (wal_names.ascii_lower(encoded) == wal_names.ascii_lower(F.col("s_encoded"))) & (
        (rest == F.lit(".rep")) | rest.startswith(F.concat(F.lit("."), encoded, F.lit(".rep.")))
    )
    by_server = F.when(replication_table, F.col("s_rep_bucket")).otherwise(F.col("s_plain_bucket"))
    return (
        F.when(~F.col("is_wal") | wal_names.is_meta_wal(), F.lit(None).cast("int"))
        .when(F.col("group_bucket").isNotNull(), F.col("group_bucket"))
        .when(F.col("s_server").isNotNull(), by_server)
        .when(F.col("own_server").isNotNull(), F.col("unknown_bucket"))
        .otherwise(F.col("no_server_bucket"))
    )


def _joined_boundaries(files: DataFrame, boundaries: DataFrame | None) -> DataFrame:
    """Join what HBase backup has of the file's server, if any cluster has backup: `b_…`."""
    if boundaries is None:
        return files
    known = F.broadcast(boundaries.select(*prefixed(boundaries, "b")))
    return files.join(known, (F.col("cluster") == F.col("b_cluster")) & (_address() == F.col("b_address")), "left")


def _backed_up(boundaries: DataFrame | None) -> Column:
    """Whether HBase backup has the file already."""
    if boundaries is None:
        return F.lit(False)
    boundary = F.when(_address().isNotNull(), F.coalesce("b_boundary", "backup_of_others"))
    return F.coalesce(F.col("wal_timestamp") <= boundary, F.lit(False))


def _address() -> Column:
    """Host and port of the file's server, as HBase backup writes them."""
    server = F.coalesce("own_server", "group_server")
    return F.concat(F.substring_index(server, ",", 1), F.lit(":"), F.split_part(server, F.lit(","), F.lit(2)))


def _ttl() -> Column:
    return (
        F.when(F.col("is_wal"), F.col("wal_ttl"))
        .when(wal_names.is_procedure_wal(), F.col("procedure_wal_ttl"))
        .when(wal_names.is_master_local_wal(), F.col("master_local_wal_ttl"))
        .otherwise(F.lit(0))
    )


def _early(backed_up: Column) -> Column:
    """The order of the verdict table up to POISON_NAME, whose names have an answer of their own but for overflows."""
    other = ~F.col("is_wal")
    # nested, so that a WAL, which nearly every file is, costs one test of these
    kind = F.when(
        other,
        F.when(wal_names.is_procedure_wal(), _number(Reason.PROCEDURE_WAL))
        .when(wal_names.is_master_local_wal(), _number(Reason.MASTER_LOCAL_WAL))
        .otherwise(_number(Reason.INVALID_NAME)),
    )
    return (
        F.when(F.col("untrusted"), _number(Reason.SNAPSHOT_UNTRUSTED))
        .when(F.col("add_peer_running"), _number(Reason.ADD_PEER_RUNNING))
        .when(other & (kind == _number(Reason.INVALID_NAME)), _number(Reason.INVALID_NAME))
        .when(F.unix_millis("modification_time") > F.col("files_finished"), _number(Reason.FUTURE_TIMESTAMP))
        .when(F.col("past_ttl_ms") <= 0, _number(Reason.TOO_YOUNG))
        .when(F.col("foreign_cleaner"), _number(Reason.FOREIGN_CLEANER))
        .when(other, kind)
        .when(F.col("backup_enabled") & ~backed_up, _number(Reason.BACKUP))
        .when(F.col("no_peers"), _number(Reason.NO_PEERS))
        .when(wal_names.is_meta_wal(), _number(Reason.META_WAL))
        .when(F.col("wal_timestamp").isNull(), _number(Reason.POISON_NAME))
    )


def _number(reason: Reason) -> Column:
    return F.lit(EARLY_REASONS.index(reason))


def _reason_of(number: str) -> Column:
    """The reason of a number of `EARLY_REASONS`; NULL stays NULL."""
    return F.get(F.array(*(F.lit(reason.value) for reason in EARLY_REASONS)), F.col(number))
