"""The rule in Spark: gives the same answers as `pipelines.decide.rule.verdict.decide`, by lookup in a `DecisionTable`.

There are two steps, so that the work per file stays small. `looked_up` parses a path and finds the number of its answer
(its *bucket*) by group and timestamp, or by server where the group has no row, and the reasons that come before any
lookup. `with_answers` replaces the number by the answer: after grouping if only totals are wanted, per file if the rows
are written. No Python runs per row. A property test checks that the two steps equal the specification.

The columns are the same in every query of a run, and building them takes hundreds of calls to the JVM, so `_once_a_run`
caches them.
"""

from functools import lru_cache, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.common.instants import NO_INSTANT
from pipelines.common.spark.columns import in_turn, same_but_no_key
from pipelines.decide.rule.verdict import Reason, Verdict
from pipelines.decide.spark import wal_names
from pipelines.decide.spark.lookup import DecisionFrames, start_column
from pipelines.decide.spark.queued_names import POSITIONS, looked_up_by_name, with_own_names

EARLY_REASONS = tuple(Reason)
"""Reasons by number; totals are grouped by that number too."""
DELETABLE_BEFORE_LOOKUP = (Reason.PROCEDURE_WAL, Reason.MASTER_LOCAL_WAL, Reason.NO_PEERS, Reason.META_WAL)
"""Reasons found without a lookup whose verdict is DELETABLE; every other reason found so is HELD."""

_once_a_run = lru_cache(maxsize=4)
"""Caches the result of a function of a run's decision tables, for the last few runs."""


def looked_up(files: DataFrame, frames: DecisionFrames) -> DataFrame:
    """Finds the bucket of every file.

    Args:
        files: `cluster`, `path`, `length`, `modification_time`; files below oldWALs and others.
        frames: the decision tables.

    Returns:
        The columns of `files`, and
        `archived`: whether the file is below oldWALs; others have a bucket too, but their reason means nothing.
        `wal_group`, `wal_timestamp` (ms): NULL if the name is no WAL name, the latter also if over 64 bits.
        `own_server`: the server in the name; NULL if the answer contains it, or the name has none.
        `bucket`: number of the answer; NULL if the rule never asks the queues about the file.
        `early`: number of the reason (`EARLY_REASONS`) if it comes before any lookup; else NULL.
        `past_ttl_ms`: age beyond the TTL of the file's kind, ms.
        `early_once_aged`: what `early` of a file within its TTL would be without the TTL.
        `unproven`: the part of the path that may still contain what no path may; a name with a known group cannot.
    """
    placed = _joined_boundaries(
        _joined_servers(_with_group_and_server(frames.with_scalars(files), frames), frames), frames
    )
    numbered = placed.select(*files.columns, *_numbers(frames))
    return numbered if frames.named is None else looked_up_by_name(numbered, frames.named)


@_once_a_run
def _numbers(frames: DecisionFrames) -> tuple[Column, ...]:
    # some have the name of an existing column: an expression that uses the name means that column, not the new one
    return in_turn(
        {
            "archived": F.col("path").startswith(wal_names.ARCHIVE),
            "wal_group": F.when(F.col("is_wal"), F.col("wal_group")),
            "wal_timestamp": F.when(F.col("is_wal"), F.col("wal_timestamp")),
            "own_server": F.col("own_server"),
            "bucket": _bucket(frames),
            "past_ttl_ms": frames.scalar("files_started") - F.unix_millis("modification_time") - _ttl(frames),
            "early": _early(frames, F.col("past_ttl_ms") <= 0),
            "early_once_aged": F.when(F.col("past_ttl_ms") <= 0, _early(frames, F.lit(False))),
            "unproven": F.when(F.col("flat_is_clean"), F.lit("oldWALs"))
            .when(F.col("other_is_clean"), wal_names.directory())
            .otherwise(F.col("path")),
        }
    )


def with_answers(found: DataFrame, frames: DecisionFrames) -> DataFrame:
    """Replaces buckets by answers.

    Args:
        found: has `cluster`, `bucket` and `early`, and `own_server` if holders matter for unknown servers.
        frames: the decision tables.

    Returns:
        `found` and `server`, `verdict`, `reason`, `hbase_verdict`, `blocking`; and `eligible_at` if `found` has files:
        when a file that only its TTL holds becomes DELETABLE, NULL for all others, and after the year 2999.
    """
    names = found.columns
    answered = frames.with_scalars(found, "hbase_every_file", "files_started")
    answered = answered.join(frames.answers_by_bucket, "bucket", "left")
    added = _answers(frames, "own_server" in names, POSITIONS in names)
    return answered.select(*names, *added, *([_eligible_at(frames)] if "early_once_aged" in names else []))


@_once_a_run
def _answers(frames: DecisionFrames, has_server: bool, has_positions: bool) -> tuple[Column, ...]:
    own_server = F.col("own_server") if has_server else F.lit(None).cast("string")
    nobody = F.array().cast(frames.answers.schema["answer_blocking"].dataType)
    # the answer for unknown servers was computed for a made-up name, so a holder's source is the file's own server
    own_source = F.transform("answer_blocking", lambda holder: holder.withField("source", own_server))
    blocking = (
        F.when(F.col("early").isNotNull() | F.col("bucket").isNull(), nobody)
        .when(F.col("answer_server").isNull() & (F.size("answer_blocking") > 0), own_source)
        .otherwise(F.col("answer_blocking"))
    )
    reason = F.coalesce(_reason_of("early"), "answer_reason")
    hbase_verdict = F.coalesce(frames.scalar("hbase_every_file"), F.col("answer_hbase_verdict"), F.lit("DELETE"))
    return in_turn(
        {
            "server": F.coalesce("answer_server", own_server),
            "verdict": _verdict("early"),
            "reason": reason,
            "hbase_verdict": hbase_verdict,
            "blocking": with_own_names(blocking) if has_positions else blocking,
        }
    )


def _verdict(early: str) -> Column:
    """Returns the verdict for the number of an early reason, or that of the answer if it is NULL."""
    return (
        F.when(F.col(early).isNull(), F.col("answer_verdict"))
        .when(
            F.col(early).isin([EARLY_REASONS.index(reason) for reason in DELETABLE_BEFORE_LOOKUP]),
            Verdict.DELETABLE.value,
        )
        .otherwise(F.lit(Verdict.HELD.value))
    )


@_once_a_run
def _eligible_at(frames: DecisionFrames) -> Column:
    by_ttl_alone = (F.col("early") == _number(Reason.TOO_YOUNG)) & (_verdict("early_once_aged") == "DELETABLE")
    # a file is TOO_YOUNG as long as its age is at most its TTL
    first = frames.scalar("files_started") - F.col("past_ttl_ms") + F.lit(1)
    return F.when(by_ttl_alone & (first < NO_INSTANT), F.timestamp_millis(first)).alias("eligible_at")


def _with_group_and_server(files: DataFrame, frames: DecisionFrames) -> DataFrame:
    """Adds what the name of a file contains, and the stretch that its group and timestamp fall into.

    There are two lookups: by `flat_group`, which finds nearly every file, and by the carefully parsed name, where a
    NULL costs nothing. Their results have the prefixes `flat_` and `other_`. A group of the table comes from a valid
    WAL name by construction, so only other names are parsed.

    Returns:
        `files` with `wal_group`, `wal_timestamp` (ms), `group_server`, `group_bucket`, `is_wal`, and `own_server` where
        the rule needs it.
    """
    flat = files.select("*", *_flat_group(frames)).join(frames.flat_groups, _is_group(frames, "flat"), "left")
    other = flat.select("*", *_other_group(frames)).join(frames.other_groups, _is_group(frames, "other"), "left")
    return other.select("*", *_group_and_server(frames))


@_once_a_run
def _flat_group(_: DecisionFrames) -> tuple[Column, ...]:
    return in_turn(wal_names.flat_group())


@_once_a_run
def _other_group(_: DecisionFrames) -> tuple[Column, ...]:
    return in_turn(wal_names.group_and_timestamp(F.col("flat_server").isNotNull()))


@_once_a_run
def _group_and_server(frames: DecisionFrames) -> tuple[Column, ...]:
    known, hit = F.col("flat_server").isNotNull(), F.col("group_bucket").isNotNull()
    # no answer contains the server of a meta WAL, since a meta WAL never gets a lookup
    of_meta = F.when(hit & wal_names.is_meta_wal(), F.col("group_server"))
    return in_turn(
        {
            "wal_group": F.when(known, F.col("flat_wal_group")).otherwise(F.col("other_group")),
            "group_server": F.coalesce("flat_server", "other_server"),
            "group_bucket": F.when(known, _stretch("flat", frames)).when(
                F.col("other_server").isNotNull(), _stretch("other", frames)
            ),
            "is_wal": hit | wal_names.is_wal(),
            **wal_names.own_server(F.col("is_wal") & ~hit, otherwise=of_meta),
        }
    )


@_once_a_run
def _is_group(frames: DecisionFrames, which: str) -> Column:
    """Whether a row of the groups matches `<which>_group`: compares the hash first, and then the name itself."""
    wanted = f"{which}_group"
    pairs = [(wanted, f"{which}_wal_group")] + ([] if frames.one_cluster else [("cluster", f"{which}_cluster")])
    own_key = F.when(F.col(wanted).isNotNull(), frames.key(wanted))
    return (own_key == F.col(f"{which}_key")) & same_but_no_key(pairs)


def _stretch(which: str, frames: DecisionFrames) -> Column:
    """Returns the bucket of a timestamp: a group's buckets are consecutive, so the first plus the starts passed."""
    starts = (F.col(f"{which}_{start_column(number)}") for number in range(frames.starts))
    passed = ((F.col("wal_timestamp") > start).cast("int") for start in starts)
    return F.when(F.col("wal_timestamp").isNull(), F.col(f"{which}_overflow_bucket")).otherwise(
        reduce(Column.__add__, passed, F.col(f"{which}_first_bucket"))
    )


def _joined_servers(files: DataFrame, frames: DecisionFrames) -> DataFrame:
    """Joins the servers by the server in the name; their columns have the prefix `s_`."""
    same = (F.col("cluster") == F.col("s_cluster")) & (F.col("own_server") == F.col("s_server"))
    return files.join(frames.servers_by_name, same, "left")


def _bucket(frames: DecisionFrames) -> Column:
    """Returns the bucket of the group, else that of the server, else that of the cluster."""
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
        .when(F.col("own_server").isNotNull(), frames.scalar("unknown_bucket"))
        .otherwise(frames.scalar("no_server_bucket"))
    )


def _joined_boundaries(files: DataFrame, frames: DecisionFrames) -> DataFrame:
    """Joins the backup boundary of the file's server (prefix `b_`), if any cluster has backup enabled."""
    known = frames.boundaries_by_address
    if known is None:
        return files
    return files.join(known, (F.col("cluster") == F.col("b_cluster")) & (_address() == F.col("b_address")), "left")


def _backed_up(frames: DecisionFrames) -> Column:
    """Whether HBase backup already has the file."""
    if frames.boundaries is None:
        return F.lit(False)
    boundary = F.when(_address().isNotNull(), F.coalesce(F.col("b_boundary"), frames.scalar("backup_of_others")))
    return F.coalesce(F.col("wal_timestamp") <= boundary, F.lit(False))


def _address() -> Column:
    """Returns host and port of the file's server, as HBase backup writes them."""
    server = F.coalesce("own_server", "group_server")
    return F.concat(F.substring_index(server, ",", 1), F.lit(":"), F.split_part(server, F.lit(","), F.lit(2)))


def _ttl(frames: DecisionFrames) -> Column:
    return (
        F.when(F.col("is_wal"), frames.scalar("wal_ttl"))
        .when(wal_names.is_procedure_wal(), frames.scalar("procedure_wal_ttl"))
        .when(wal_names.is_master_local_wal(), frames.scalar("master_local_wal_ttl"))
        .otherwise(F.lit(0))
    )


def _early(frames: DecisionFrames, too_young: Column) -> Column:
    """Returns the reason before any lookup, in the order of the verdict table up to POISON_NAME.

    Names without a server have their own answer, so only timestamps over 64 bits get POISON_NAME here.
    """
    other = ~F.col("is_wal")
    # nested, so that a WAL, which nearly every file is, costs one of these tests
    kind = F.when(
        other,
        F.when(wal_names.is_procedure_wal(), _number(Reason.PROCEDURE_WAL))
        .when(wal_names.is_master_local_wal(), _number(Reason.MASTER_LOCAL_WAL))
        .otherwise(_number(Reason.INVALID_NAME)),
    )
    return (
        F.when(frames.scalar("untrusted"), _number(Reason.SNAPSHOT_UNTRUSTED))
        .when(frames.scalar("add_peer_running"), _number(Reason.ADD_PEER_RUNNING))
        .when(other & (kind == _number(Reason.INVALID_NAME)), _number(Reason.INVALID_NAME))
        .when(F.unix_millis("modification_time") > frames.scalar("files_finished"), _number(Reason.FUTURE_TIMESTAMP))
        .when(too_young, _number(Reason.TOO_YOUNG))
        .when(frames.scalar("foreign_cleaner"), _number(Reason.FOREIGN_CLEANER))
        .when(other, kind)
        .when(frames.scalar("backup_enabled") & ~_backed_up(frames), _number(Reason.BACKUP))
        .when(frames.scalar("no_peers"), _number(Reason.NO_PEERS))
        .when(wal_names.is_meta_wal(), _number(Reason.META_WAL))
        .when(F.col("wal_timestamp").isNull(), _number(Reason.POISON_NAME))
    )


def _number(reason: Reason) -> Column:
    return F.lit(EARLY_REASONS.index(reason))


def _reason_of(number: str) -> Column:
    """Returns the reason with a number of `EARLY_REASONS`; NULL stays NULL."""
    return F.get(F.array(*(F.lit(reason.value) for reason in EARLY_REASONS)), F.col(number))
