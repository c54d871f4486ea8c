"""L2 to L6 on decoded private logs: what is wrong, summed up by replica."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

REPLICA = ("node", "app_id", "partition")
_SAME = ("app_id", "partition", "decree")


def effective(mutations: DataFrame) -> DataFrame:
    """One row a replica and decree: of several, that with the highest ballot, written last, counts.

    `conflicting` tells whether one decree has two different mutations of one ballot.
    """
    order = F.struct("ballot", "log_offset")
    kinds = F.collect_set(F.struct("ballot", "digest"))
    return mutations.groupBy(*REPLICA, "decree").agg(
        F.max("ballot").alias("ballot"),
        F.max_by("digest", order).alias("digest"),
        F.max_by("hashes", order).alias("hashes"),
        F.max_by("empty", order).alias("empty"),
        F.max("committed").alias("committed_before"),
        (F.size(kinds) > F.size(F.collect_set("ballot"))).alias("conflicting"),
    )


def gaps(decrees: DataFrame) -> DataFrame:
    """L2: decrees that are missing between two of a replica."""
    before = F.lag("decree").over(Window.partitionBy(*REPLICA).orderBy("decree"))
    missing = decrees.withColumn("missing", F.col("decree") - before - 1).where("missing > 0")
    return _summed(missing, "GAP", F.sum("missing"))


def conflicts(decrees: DataFrame) -> DataFrame:
    """L6: one decree, one ballot, two mutations."""
    return _summed(decrees.where("conflicting"), "CONFLICT")


def against_parent(decrees: DataFrame, groups: DataFrame) -> DataFrame:
    """L2, L3 by decree: what a child copied against what its parent on the same node has.

    Args:
        decrees: see `effective`.
        groups: parent, child, child_ballot, committed (NULL = unknown).
    """
    parent = decrees.join(F.broadcast(groups), F.col("partition") == F.col("parent"))
    child = decrees.join(F.broadcast(groups), F.col("partition") == F.col("child"))
    copied = child.where(F.col("child_ballot").isNull() | (F.col("ballot") < F.col("child_ballot")))
    first = copied.groupBy("node", "app_id", "child").agg(F.min("decree").alias("first"))
    # what the child learned from the checkpoint is in no log of it: its logs begin behind that
    due = parent.where(F.col("committed").isNotNull() & (F.col("decree") <= F.col("committed"))).join(
        first, ["node", "app_id", "child"]
    )
    due = due.where(F.col("decree") >= F.col("first"))
    theirs = copied.select("node", "app_id", "child", "decree", F.col("digest").alias("copy"))
    both = due.join(theirs, ["node", "app_id", "child", "decree"], "left").withColumn("partition", F.col("child"))
    lacking = _summed(both.where(F.col("copy").isNull() & ~F.col("empty")), "LACKING")
    other = _summed(both.where(F.col("copy") != F.col("digest")), "OTHER")
    return lacking.unionByName(other)


def misplaced(decrees: DataFrame, groups: DataFrame, new_count: int) -> DataFrame:
    """L4 and L5: after the registration, writes to a parent of keys that are its child's, and the other way round.

    A parent keeps its ballot when its child is registered. What it committed later than it had at the registration is
    late, too, unless the child on the same node has copied it: in sync mode every write is copied before its answer.

    Args:
        decrees: see `effective`.
        groups: parent, child, child_ballot, committed (NULL = unknown).
        new_count: partitions after the split.
    """
    foreign = F.exists("hashes", lambda one: one.bitwiseAND(F.lit(new_count - 1)) != F.col("partition").cast("long"))
    late = decrees.join(F.broadcast(groups), F.col("partition") == F.col("parent"))
    copied = decrees.join(F.broadcast(groups), F.col("partition") == F.col("child"))
    copied = copied.where(F.col("ballot") < F.col("child_ballot"))
    pair = ["node", "app_id", "parent"]
    with_log = copied.select(*pair).distinct().withColumn("has_log", F.lit(True))
    # the few that came behind the registration: a whole log would be no small side of a join
    copies = copied.where(F.col("decree") > F.col("committed")).select(*pair, "decree").distinct()
    done = decrees.groupBy(*REPLICA).agg(F.max("committed_before").alias("done"))
    late = late.join(done, [*REPLICA]).join(F.broadcast(with_log), pair, "left")
    late = late.join(copies.withColumn("is_copied", F.lit(True)), [*pair, "decree"], "left")
    uncopied = F.col("has_log").isNotNull() & F.col("is_copied").isNull()
    behind = (F.col("decree") > F.col("committed")) & (F.col("decree") <= F.col("done")) & uncopied
    late = late.where(
        (F.col("child_ballot").isNotNull() & (F.col("ballot") >= F.col("child_ballot")) | behind) & foreign
    )
    strange = decrees.join(F.broadcast(groups), F.col("partition") == F.col("child"))
    strange = strange.where((F.col("ballot") >= F.col("child_ballot")) & foreign)
    return _summed(late, "LATE").unionByName(_summed(strange, "STRANGE"))


def copied_to(decrees: DataFrame, groups: DataFrame) -> DataFrame:
    """L3: the largest decree that each child copied; `partition` is the child."""
    child = decrees.join(F.broadcast(groups), F.col("partition") == F.col("child"))
    copied = child.where(F.col("child_ballot").isNull() | (F.col("ballot") < F.col("child_ballot")))
    return copied.groupBy(*REPLICA, "sync_point").agg(F.max("decree").alias("copied"))


def unlogged(acknowledged: DataFrame, decrees: DataFrame, durable: DataFrame) -> DataFrame:
    """L6: writes that were acknowledged and are in no log of their partition, nor below its durable decree.

    Args:
        acknowledged: app_id, partition, decree, hash (signed; NULL = unknown).
        decrees: see `effective`.
        durable: partition, durable: the largest last durable decree of its replicas.
    """
    logged = decrees.select(*_SAME, "hashes")
    has = F.col("hashes").isNotNull() & (F.col("hash").isNull() | F.array_contains("hashes", F.col("hash")))
    asked = acknowledged.join(logged, [*_SAME], "left").groupBy(*_SAME, "hash")
    missing = asked.agg(F.bool_or(F.coalesce(has, F.lit(False))).alias("there")).where("NOT there")
    missing = missing.join(F.broadcast(durable), "partition", "left")
    lost = missing.where(F.col("durable").isNull() | (F.col("decree") > F.col("durable")))
    return _summed(lost.withColumn("node", F.lit("")), "UNLOGGED")


def _summed(rows: DataFrame, kind: str, number: Column | None = None) -> DataFrame:
    """How many by replica, with the first and the last decree."""
    return rows.groupBy(*REPLICA).agg(
        F.lit(kind).alias("kind"),
        (F.count("*") if number is None else number).cast("long").alias("number"),
        F.min("decree").alias("first"),
        F.max("decree").alias("last"),
    )
