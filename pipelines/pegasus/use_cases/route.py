"""split-route: checks the answers to requests, and predicts the answers at each stage of a split."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import reduce
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pipelines.common.human import human_count
from pipelines.common.job_result import JobResult
from pipelines.common.text import text_table
from pipelines.lake.findings import ERROR, WARNING
from pipelines.lake.job_run import JobLake, JobRun
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.journal import MISUSED, OK, REJECTS
from pipelines.pegasus.domain.rule_violations import rule_violation
from pipelines.pegasus.domain.what_if import RouteRow, what_if
from pipelines.pegasus.transforms.journal_rows import refuse_invalid_line
from pipelines.pegasus.use_cases.frame import deliver
from schemas.split_routes import SPLIT_ROUTES

_REJECT = "REJECT"


class _Rule(NamedTuple):
    """One of Q1 to Q5 (docs/split-rules.md).

    Attributes:
        broken: the requests that violate it.
        words: what a partition did; `{n}` is the number of requests.
    """

    name: str
    broken: DataFrame
    severity: str
    words: str
    remedy: str


def checked_journal(journal: DataFrame) -> int:
    """Checks that every line of the journal is valid.

    Returns:
        The time of the newest request, ms since the epoch.

    Raises:
        UsageError: a line is invalid; the message names file, line and key.
    """
    refuse_invalid_line(journal)
    row = journal.agg(F.max("at_us").alias("newest")).head()
    return int(row["newest"]) // 1000 if row else 0


def run_route(
    run: JobRun,
    journal: DataFrame | None,
    lake: JobLake,
    *,
    old_count: int | None,
    hashes: Sequence[int] = (),
    names: str = "seed",
) -> JobResult:
    """Checks the journal and computes the what-if; see `deliver` for the exit code.

    Args:
        run: the run.
        journal: the requests, `transforms.journal_rows.ASKED`; None = only a what-if.
        lake: gets the tables.
        old_count: the number of partitions before the split; None = unknown, so no what-if.
        hashes: the hashes for the what-if, in addition to those of the journal.
        names: `seed` or `shipped`: which error code a rejection has, see `REJECT_CODES`.
    """
    counts: dict[str, int] = {}
    findings: list[FindingRow] = []
    bits = Counter(hashes)
    lines = []
    if journal is not None:
        rows = journal.groupBy("code").count().orderBy("code").collect()
        counts = {row["code"]: row["count"] for row in rows}
        findings = list(_violations(_rules(journal, old_count)))
        lines.append(f"{human_count(sum(counts.values()), 'request')}")
        lines += text_table("  {:>9}  {:<}", [(number, code) for code, number in counts.items()])
        if old_count is not None:
            bits.update(_bits(journal, old_count))
    routes: list[RouteRow] = []
    if old_count is not None:
        routes = what_if(bits, old_count, names)
        lines += _route_lines(routes, old_count)
    result = {"requests": sum(counts.values()), "codes": counts, "what_if": [asdict(row) for row in routes]}
    return deliver(run, lake, [(SPLIT_ROUTES, routes)], findings, result, lines)


def _bits(journal: DataFrame, old_count: int) -> dict[int, int]:
    """Returns the number of requests by the low bits of the hash; answers depend on no other bits."""
    low = F.col("hash").bitwiseAND(F.lit(2 * old_count - 1)).alias("low")
    rows = journal.where("kind <> 'scan'").groupBy(low).count().collect()
    return {row["low"]: row["count"] for row in rows}


def _rules(asked: DataFrame, old_count: int | None) -> list[_Rule]:
    """Returns the rules with the requests that violate them.

    Args:
        asked: the requests, `transforms.journal_rows.ASKED`.
        old_count: the number of partitions before the split; None = unknown: Q3 is not checked.
    """
    said = F.when(F.col("code").isin(*REJECTS), _REJECT).otherwise(F.col("code"))
    keyed = asked.where("kind <> 'scan'").withColumn("said", said).withColumn("expected", _expected_answer())
    judged = keyed.where(F.col("said").isin(_REJECT, OK, MISUSED))
    accepted_by_nobody = (F.col("kind") == "write") & (F.col("said") == OK) & (F.col("version") == -1)
    by_client = Window.partitionBy("client", "hash").orderBy("at_us", "line")
    again = (F.lag("said").over(by_client) == MISUSED) & (F.lag("partition").over(by_client) == F.col("partition"))
    scans = asked.where("kind = 'scan' AND foreign_rows > 0")
    overlapping = F.col("version").isNull() | (F.col("version") == -1)
    rules = [
        _Rule(
            "Q1", judged.where((F.col("said") != F.col("expected")) & ~accepted_by_nobody),
            ERROR, "gave {n} another answer than its version and the hash require",
            "Look at that server's version (split-audit-config, R2).",
        ),
        _Rule(
            "Q2", judged.where(accepted_by_nobody),
            ERROR, "accepted {n} to write while its version was -1", "Compare parent and child with split-verify.",
        ),
        _Rule(
            "Q4", keyed.withColumn("again", again).where("again"),
            WARNING, "received {n} again from clients that it had redirected", "Update that client library.",
        ),
        _Rule(
            "Q5", scans.where(~overlapping),
            ERROR, "gave scans rows that it does not own, in {n}",
            "Set replica.split.validate_partition_hash to true.",
        ),
        _Rule(
            "Q5_OVERLAP", scans.where(overlapping),
            WARNING, "gave scans rows that it does not own, in {n} during the split", "Scan again.",
        ),
    ]  # fmt: skip
    if old_count is not None:
        rules.append(_Rule(
            "Q3", _two_owners(keyed, old_count),
            ERROR, "accepted {n} after its child had accepted the same keys",
            "Compare parent and child with split-verify: the child's readers miss the writes that the parent accepted.",
        ))  # fmt: skip
    return rules


def _expected_answer() -> Column:
    """Returns what a primary of the row's `partition` with the row's `version` answers to a request for its `hash`.

    The answer is NULL if `version` is NULL.
    """
    return (
        F.when(F.col("version") == -1, _REJECT)
        .when(F.col("hash").bitwiseAND(F.col("version")) != F.col("partition"), MISUSED)
        .when(F.col("version").isNotNull(), OK)
    )


def _two_owners(keyed: DataFrame, old_count: int) -> DataFrame:
    """Returns requests that a parent accepted after its child had accepted the same hash."""
    accepted = keyed.where(F.col("said") == OK)
    child = accepted.where(F.col("partition") >= old_count).groupBy("hash").agg(F.min("at_us").alias("since"))
    return accepted.where(F.col("partition") < old_count).join(child, "hash").where(F.col("at_us") > F.col("since"))


def _violations(rules: Sequence[_Rule]) -> Iterator[FindingRow]:
    """Yields one finding for each rule and partition: the first line in the journal, and the number of requests."""
    told = {rule.name: rule for rule in rules}
    every = reduce(
        DataFrame.unionByName,
        (rule.broken.select(F.lit(rule.name).alias("rule"), "partition", "line") for rule in rules),
    )
    rows = every.groupBy("rule", "partition").agg(F.min("line").alias("line"), F.count("*").alias("number"))
    for row in rows.orderBy("rule", "partition").collect():
        rule = told[row["rule"]]
        n = human_count(row["number"], "request")
        yield rule_violation(
            rule.name.partition("_")[0], rule.severity,
            f"{row['partition']}{'/overlap' if '_' in rule.name else ''}",
            f"Partition {row['partition']} {rule.words.format(n=n)}; the first is line {row['line']}.", rule.remedy,
            requests=row["number"], line=row["line"],
        )  # fmt: skip


def _route_lines(rows: Sequence[RouteRow], old_count: int) -> Iterator[str]:
    yield f"If {old_count} partitions were split to {2 * old_count}"
    stage = ""
    for row in rows:
        if row.stage != stage:
            stage = row.stage
            yield f"  {stage:<6} {row.words}"
        yield f"    {row.client} client {row.requests:>9,}  {row.code}"
