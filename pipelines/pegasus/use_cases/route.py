"""split-route: checks the answers to requests, and predicts the answers at each stage of a split."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.common.human import human_count
from pipelines.common.job_result import JobResult
from pipelines.common.text import text_table
from pipelines.lake.findings import ERROR, WARNING
from pipelines.lake.job_run import JobLake, JobRun
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.rule_violations import rule_violation
from pipelines.pegasus.domain.what_if import RouteRow, what_if
from pipelines.pegasus.transforms.journal_rows import refuse_invalid_line
from pipelines.pegasus.transforms.route_rules import broken_route_rules
from pipelines.pegasus.use_cases.frame import deliver
from schemas.split_routes import SPLIT_ROUTES

_WORDS = {
    "Q1": (
        ERROR, "gave {n} another answer than its version and the hash require",
        "Look at that server's version (split-audit-config, R2).",
    ),
    "Q2": (ERROR, "accepted {n} to write while its version was -1", "Compare parent and child with split-verify."),
    "Q3": (
        ERROR, "accepted {n} after its child had accepted the same keys",
        "Compare parent and child with split-verify: the child's readers miss the writes that the parent accepted.",
    ),
    "Q4": (WARNING, "received {n} again from clients that it had redirected", "Update that client library."),
    "Q5": (ERROR, "gave scans rows that it does not own, in {n}", "Set replica.split.validate_partition_hash to true."),
    "Q5_OVERLAP": (WARNING, "gave scans rows that it does not own, in {n} during the split", "Scan again."),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RouteQuestion:
    """The input of the job.

    Attributes:
        journal: the requests, `transforms.journal_rows.ASKED`; None = only a what-if.
        hashes: the hashes for the what-if, in addition to those of the journal.
        old_count: the number of partitions before the split; None = unknown, so no what-if.
        names: `seed` or `shipped`: which error code a rejection has, see `REJECT_CODES`.
    """

    journal: DataFrame | None
    hashes: Sequence[int] = ()
    old_count: int | None = None
    names: str = "seed"


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


def run_route(run: JobRun, question: RouteQuestion, lake: JobLake) -> JobResult:
    """Checks the journal and computes the what-if; see `deliver` for the exit code."""
    counts: dict[str, int] = {}
    findings: list[FindingRow] = []
    bits = Counter(question.hashes)
    lines = []
    if question.journal is not None:
        rows = question.journal.groupBy("code").count().orderBy("code").collect()
        counts = {row["code"]: row["count"] for row in rows}
        findings = list(_violations(broken_route_rules(question.journal, question.old_count)))
        lines.append(f"{human_count(sum(counts.values()), 'request')}")
        lines += text_table("  {:>9}  {:<}", [(number, code) for code, number in counts.items()])
        if question.old_count is not None:
            bits.update(_bits(question.journal, question.old_count))
    routes: list[RouteRow] = []
    if question.old_count is not None:
        routes = what_if(bits, question.old_count, question.names)
        lines += _route_lines(routes, question.old_count)
    result = {"requests": sum(counts.values()), "codes": counts, "what_if": [asdict(row) for row in routes]}
    return deliver(run, lake, [(SPLIT_ROUTES, routes)], findings, result, lines)


def _bits(journal: DataFrame, old_count: int) -> dict[int, int]:
    """Returns the number of requests by the low bits of the hash; answers depend on no other bits."""
    low = F.col("hash").bitwiseAND(F.lit(2 * old_count - 1)).alias("low")
    rows = journal.where("kind <> 'scan'").groupBy(low).count().collect()
    return {row["low"]: row["count"] for row in rows}


def _violations(rows: DataFrame) -> Iterator[FindingRow]:
    for row in rows.orderBy("rule", "partition").collect():
        severity, words, remedy = _WORDS[row["rule"]]
        n = human_count(row["number"], "request")
        yield rule_violation(
            row["rule"].partition("_")[0], severity, f"{row['partition']}{'/overlap' if '_' in row['rule'] else ''}",
            f"Partition {row['partition']} {words.format(n=n)}; the first is line {row['line']}.", remedy,
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
