"""split-audit-log: compares private logs of parents and children, and decides which may be deleted."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import reduce

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UsageError
from pipelines.common.human import human_bytes, human_count
from pipelines.common.job_result import JobResult
from pipelines.common.spark.few_rows import at_hand
from pipelines.common.text import text_table
from pipelines.lake.findings import ERROR
from pipelines.lake.job_run import JobLake, JobRun, Rows
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.audit_log.facts import SplitFacts
from pipelines.pegasus.domain.audit_log.files import (
    check_files,
    judged_logs,
    valid_offsets,
    without_broken,
)
from pipelines.pegasus.domain.private_log.blocks import ENCRYPTED
from pipelines.pegasus.domain.private_log.log_file import DELETABLE, LogFile
from pipelines.pegasus.domain.rule_violations import rule_violation
from pipelines.pegasus.transforms import log_rules
from pipelines.pegasus.transforms.journal_rows import acknowledged_writes, refuse_invalid_line
from pipelines.pegasus.use_cases.frame import deliver, refusals
from schemas.split_logs import SPLIT_LOGS
from schemas.split_mutations import SPLIT_MUTATIONS
from schemas.table import Table

_SHOWN = 20
_COMPARE = "Keep all logs and data; compare parent and child with split-verify, and copy what is missing."
_WORDS = {
    "GAP": ("L2", "has a gap: {n} between {first} and {last} are in none of its logs", "Let the replica learn again."),
    "CONFLICT": ("L6", "has {n} with two different mutations of one ballot, from {first} to {last}", _COMPARE),
    "LACKING": ("L3", "lacks {n} that its parent had committed when it was registered, {first} to {last}", _COMPARE),
    "OTHER": ("L2", "copied {n} with other content than its parent's, {first} to {last}", _COMPARE),
    "LATE": (
        "L4",
        "accepted {n} with keys of its child after the registration, {first} to {last}: the child's readers miss them",
        _COMPARE,
    ),
    "STRANGE": ("L5", "accepted {n} with keys that are not its own, {first} to {last}", _COMPARE),
    "UNLOGGED": (
        "L6", "acknowledged {n} from {first} to {last} that are in no log and later than all durable data", _COMPARE
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LogInputs:
    """The inputs of the job.

    Attributes:
        decoded: the decoded logs, `transforms.log_rows.DECODED`.
        facts: the facts of the table.
        journal: the requests, `transforms.journal_rows.ASKED`; None = no journal.
    """

    decoded: DataFrame
    facts: SplitFacts
    journal: DataFrame | None = None


def newest_ms(inputs: LogInputs) -> int | None:
    """Returns the time of the newest mutation, ms since the epoch; None = no mutation has a time."""
    row = inputs.decoded.agg(F.max("mutation.timestamp_us").alias("newest")).head()
    return row["newest"] // 1000 if row and row["newest"] else None


def run_audit_log(run: JobRun, inputs: LogInputs, lake: JobLake) -> JobResult:
    """Checks the logs; see `deliver` for the exit code.

    Raises:
        UsageError: the logs belong to another table, or a line of the journal is invalid.
        RefusedError: logs are encrypted.
    """
    facts = inputs.facts
    names = [field.name for field in fields(LogFile)]
    rows = inputs.decoded.where("file IS NOT NULL").select("file.*").collect()
    files = judged_logs([LogFile(**{name: row[name] for name in names}) for row in rows], facts)
    if all(file.app_id != facts.app_id for file in files):
        raise UsageError(f"no log belongs to table {facts.app_id}, which the facts describe")
    if encrypted := [file for file in files if file.problem == ENCRYPTED]:
        raise RefusedError(
            Condition.DATA_ENCRYPTED,
            f"{len(encrypted)} of {len(files)} logs are encrypted (encrypt_data_at_rest), for example "
            f"{encrypted[0].where}. Only their server has the key, so they cannot be checked here. Run Pegasus's "
            "mlog_dump on that server, on a copy of the logs: mlog_dump renames logs that it cannot read",
        )
    decoded = inputs.decoded.where("mutation IS NOT NULL").select("mutation.*")
    mutations = at_hand(decoded, sum(file.mutations for file in files))
    logged = mutations.where(F.col("app_id") == facts.app_id)
    mine = logged
    if valid := [(*replica, offset) for replica, offset in valid_offsets(files).items()]:
        columns = "node string, app_id int, partition int, valid long"
        mine = log_rules.valid_mutations(logged, logged.sparkSession.createDataFrame(valid, columns))
    findings = [*check_files(files), *_broken(mine, logged, inputs)]
    files = without_broken(files, refusals(run, findings), facts)
    result, lines = _told(run, files, facts)
    writes: list[tuple[Table, Rows]] = [
        (SPLIT_LOGS, files),
        (SPLIT_MUTATIONS, mutations.withColumn("at", F.timestamp_micros("timestamp_us"))),
    ]
    return deliver(run, lake, writes, findings, result, lines)


def _broken(mutations: DataFrame, logged: DataFrame, inputs: LogInputs) -> Iterator[FindingRow]:
    """Yields the violations of L2 to L6 of the table.

    Args:
        mutations: those that count.
        logged: all mutations, also those that a replica has discarded: a write in any log is not lost.
        inputs: the inputs of the job.
    """
    facts, spark = inputs.facts, mutations.sparkSession
    decrees = log_rules.effective_mutations(mutations).persist()
    frames = [log_rules.decree_gaps(decrees), log_rules.conflicting_mutations(decrees)]
    groups = None
    if facts.old_count is not None and facts.groups:
        values = [
            (one.parent, one.parent + facts.old_count, one.child_ballot, one.sync_point, one.committed)
            for one in facts.groups.values()
        ]
        columns = "parent int, child int, child_ballot long, sync_point long, committed long"
        groups = spark.createDataFrame(values, columns)
        frames += [log_rules.against_parent(decrees, groups)]
        frames += [log_rules.misplaced_keys(decrees, groups, 2 * facts.old_count)]
    if inputs.journal is not None:
        refuse_invalid_line(inputs.journal)
        durable = Counter[int]()
        for (_, partition), decree in facts.durable.items():
            durable[partition] = max(durable[partition], decree)
        frame = spark.createDataFrame([*durable.items()], "partition int, durable long")
        acknowledged = acknowledged_writes(inputs.journal, facts.app_id)
        written = decrees if logged is mutations else log_rules.effective_mutations(logged)
        frames.append(log_rules.unlogged_writes(acknowledged, written, frame))
    # with a journal, which may be long, its session runs the query
    every = reduce(DataFrame.unionByName, [frames[-1], *frames[:-1]])
    yield from _broken_rules(every.collect())
    if groups is not None:
        found = log_rules.copied_to(decrees, groups).where("sync_point IS NOT NULL").collect()
        copied = [(row["node"], row["partition"], row["sync_point"], row["copied"]) for row in found]
        yield from _behind_sync_point(copied, facts)
    decrees.unpersist()


def _broken_rules(rows: Iterable[Row]) -> Iterator[FindingRow]:
    """Yields one finding for each kind of decrees of a replica that break a rule, as `log_rules` sums them up."""
    for row in rows:
        node, kind, number, first, last = (row[name] for name in ("node", "kind", "number", "first", "last"))
        rule, words, remedy = _WORDS[kind]
        where = f"{row['app_id']}.{row['partition']}" + (f"@{node}" if node else "")
        said = words.format(n=human_count(number, "decree"), first=first, last=last)
        who = f"Replica {where}" if node else f"Partition {where}"
        yield rule_violation(
            rule, ERROR, f"{where}/{kind.lower()}", f"{who} {said}.", remedy,
            decrees=number, first=first, last=last,
        )  # fmt: skip


def _behind_sync_point(copied: Iterable[tuple[str, int, int, int]], facts: SplitFacts) -> Iterator[FindingRow]:
    """Checks L3: yields a finding for each child whose copied mutations end before the sync point.

    Args:
        copied: node, child, sync point and the largest decree that the child copied.
        facts: the facts of the table.
    """
    for node, child, sync_point, largest in copied:
        if largest < sync_point:
            yield rule_violation(
                "L3", ERROR, f"{facts.app_id}.{child}@{node}/sync",
                f"Replica {facts.app_id}.{child}@{node} copied up to decree {largest}; the sync point is {sync_point}: "
                "it was registered too early.", _COMPARE, copied=largest, sync_point=sync_point,
            )  # fmt: skip


def _told(run: JobRun, files: Sequence[LogFile], facts: SplitFacts) -> tuple[dict[str, object], list[str]]:
    free = [file for file in files if file.verdict == DELETABLE]
    reasons = Counter(f"{file.verdict} {file.reason}" for file in files)
    mutations = sum(file.mutations for file in files)
    result: dict[str, object] = {
        "app_id": facts.app_id,
        "logs": len(files),
        "bytes": sum(file.length for file in files),
        "mutations": mutations,
        "undecoded": sum(file.undecoded for file in files),
        "endings": dict(sorted(Counter(file.ending for file in files).items())),
        "verdicts": dict(sorted(reasons.items())),
        "deletable": [file.where for file in free],
        "deletable_bytes": sum(file.length for file in free),
    }
    size = human_bytes(sum(file.length for file in files))
    lines = [
        f"cluster {run.key.cluster}, table {facts.app_id}: {human_count(len(files), 'log')}, {size}, "
        + human_count(mutations, "mutation")
    ]
    lines += text_table("  {:>6}  {:<}", [(number, reason) for reason, number in sorted(reasons.items())])
    if free:
        lines += ["", f"  delete-safe, {human_bytes(sum(file.length for file in free))}:"]
        lines += [f"    {file.where}" for file in free[:_SHOWN]]
        if len(free) > _SHOWN:
            lines.append(f"    … and {len(free) - _SHOWN:,} more; with --lake, table split_logs has every one")
    return result, lines
