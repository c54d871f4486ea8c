"""Checks L2 to L6 on decoded private logs, and sums up the violations by replica."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

REPLICA = ("node", "app_id", "partition")
_SAME = ("app_id", "partition", "decree")


def valid_mutations(mutations: DataFrame, valid: DataFrame) -> DataFrame:
    """Returns the mutations that count: a replica that has learned has discarded those that it wrote before.

    Args:
        mutations: the mutations of the logs.
        valid: node, app_id, partition, valid: the lowest global offset that counts; without a row, all count.
    """
    known = mutations.join(F.broadcast(valid), [*REPLICA], "left")
    return known.where(F.col("valid").isNull() | (F.col("log_offset") >= F.col("valid"))).drop("valid")


def effective_mutations(mutations: DataFrame) -> DataFrame:
    """Returns one row for each replica and decree.

    Of several mutations of a decree, the one with the highest ballot counts, and of those the last written.
    `conflicting` is true if one decree has two different mutations of one ballot.
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


def decree_gaps(decrees: DataFrame) -> DataFrame:
    """Checks L2: returns the decrees that are missing between two decrees of a replica."""
    before = F.lag("decree").over(Window.partitionBy(*REPLICA).orderBy("decree"))
    missing = decrees.withColumn("missing", F.col("decree") - before - 1).where("missing > 0")
    return _summed(missing, "GAP", F.sum("missing"))


def conflicting_mutations(decrees: DataFrame) -> DataFrame:
    """Checks L6: returns the decrees for which a replica has two mutations of one ballot."""
    return _summed(decrees.where("conflicting"), "CONFLICT")


def against_parent(decrees: DataFrame, groups: DataFrame) -> DataFrame:
    """Checks L2 and L3 by decree: compares the mutations that a child copied with its parent's log on the same node.

    Args:
        decrees: the result of `effective_mutations`.
        groups: parent, child, child_ballot, committed (NULL = unknown).
    """
    parent = decrees.join(F.broadcast(groups), F.col("partition") == F.col("parent"))
    child = decrees.join(F.broadcast(groups), F.col("partition") == F.col("child"))
    copied = child.where(F.col("child_ballot").isNull() | (F.col("ballot") < F.col("child_ballot")))
    first = copied.groupBy("node", "app_id", "child").agg(F.min("decree").alias("first"))
    # a child's logs begin after the checkpoint that it learned from, so earlier decrees are not compared
    due = parent.where(F.col("committed").isNotNull() & (F.col("decree") <= F.col("committed"))).join(
        first, ["node", "app_id", "child"]
    )
    due = due.where(F.col("decree") >= F.col("first"))
    theirs = copied.select("node", "app_id", "child", "decree", F.col("digest").alias("copy"))
    both = due.join(theirs, ["node", "app_id", "child", "decree"], "left").withColumn("partition", F.col("child"))
    lacking = _summed(both.where(F.col("copy").isNull() & ~F.col("empty")), "LACKING")
    other = _summed(both.where(F.col("copy") != F.col("digest")), "OTHER")
    return lacking.unionByName(other)


def misplaced_keys(decrees: DataFrame, groups: DataFrame, new_count: int) -> DataFrame:
    """Checks L4 and L5: misplaced keys.

    It finds parents that accepted their child's keys after the registration, and children with other keys.

    A parent keeps its ballot when its child is registered. So a decree that it committed after the registration is
    late, too, unless the child on the same node has copied it: in sync mode every write is copied before its answer.

    Args:
        decrees: the result of `effective_mutations`.
        groups: parent, child, child_ballot, committed (NULL = unknown).
        new_count: the number of partitions after the split.
    """
    foreign = F.exists("hashes", lambda one: one.bitwiseAND(F.lit(new_count - 1)) != F.col("partition").cast("long"))
    late = decrees.join(F.broadcast(groups), F.col("partition") == F.col("parent"))
    copied = decrees.join(F.broadcast(groups), F.col("partition") == F.col("child"))
    copied = copied.where(F.col("ballot") < F.col("child_ballot"))
    pair = ["node", "app_id", "parent"]
    with_log = copied.select(*pair).distinct().withColumn("has_log", F.lit(True))
    # only the few decrees after the registration: a whole log would be too large for this side of the join
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
    """Returns the largest decree that each child copied, for L3; `partition` is the child."""
    child = decrees.join(F.broadcast(groups), F.col("partition") == F.col("child"))
    copied = child.where(F.col("child_ballot").isNull() | (F.col("ballot") < F.col("child_ballot")))
    return copied.groupBy(*REPLICA, "sync_point").agg(F.max("decree").alias("copied"))


def unlogged_writes(acknowledged: DataFrame, decrees: DataFrame, durable: DataFrame) -> DataFrame:
    """Checks L6: finds acknowledged writes that are in no log of their partition and not covered by its durable decree.

    Args:
        acknowledged: app_id, partition, decree, hash (signed; NULL = unknown).
        decrees: the result of `effective_mutations`.
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
    """Returns the number of violations by replica, with the first and last decree."""
    return rows.groupBy(*REPLICA).agg(
        F.lit(kind).alias("kind"),
        (F.count("*") if number is None else number).cast("long").alias("number"),
        F.min("decree").alias("first"),
        F.max("decree").alias("last"),
    )
