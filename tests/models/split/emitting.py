"""Writes the traces of a whole table's split with the requested failures."""

import shlex
from collections.abc import Sequence

from pipelines.common.errors import EXIT_DONE, UsageError
from pipelines.common.job_result import JobResult
from pipelines.pegasus.simulate.emission.files import Emitted, whole_histories, write_table
from pipelines.pegasus.simulate.walk import WalkHistory
from tests.models.split.batch import design_of
from tests.models.split.cases import CANCELLED
from tests.models.split.injections import BY_ROW, HOMES
from tests.models.split.witness import broken_history, struck_history


def emit_table(directory: str, histories: Sequence[WalkHistory], confirmed: int | None = None) -> JobResult:
    """Writes the files of one group per partition, and returns what was written and how to audit it.

    Raises:
        UsageError: the directory is not empty.
    """
    emitted = write_table(directory, histories, confirmed)
    result = {
        "directory": directory,
        "partitions": len(histories),
        "seeds": [history.seed for history in histories],
        "broken": [history.broken for history in histories if history.broken],
        "rows_before": len(emitted.before),
        "rows_after": len(emitted.after),
        "states": len(emitted.states),
        "requests": len(emitted.journal),
        "logs": len(emitted.logs),
        "commands": audit_commands(directory, emitted),
    }
    old, new = emitted.counts
    text = (
        f"{directory}: before/ ({len(emitted.before):,} rows of {old} partitions), after/ "
        f"({len(emitted.after):,} rows of {new}), states/ ({len(emitted.states)}), logs/ ({len(emitted.logs)}) with "
        f"facts.json, requests.jsonl ({len(emitted.journal)})\n\nThe audits of it:\n"
    )
    return JobResult(EXIT_DONE, result, text + "".join(f"  {line}\n" for line in audit_commands(directory, emitted)))


def audit_commands(directory: str, emitted: Emitted) -> list[str]:
    """Returns the command lines of the five audits, with the options for this table, as a shell takes them."""
    directory = shlex.quote(directory)
    old, new = emitted.counts
    env = "true" if emitted.validates else "unset"
    versions = "".join(f" --version {index}={version}" for index, version in sorted(emitted.versions.items()))
    logs = f"--logs {directory}/logs --facts {directory}/facts.json --journal {directory}/requests.jsonl"
    rows = f"--before {directory}/before --before-partitions {old} --after {directory}/after --after-partitions {new}"
    placed = f"--partitions {new} --created-with {old} --validate-env {env}{versions}"
    jobs = (
        f"split-verify --table temp {rows}",
        f"split-stale --table temp --rows {directory}/after {placed}",
        f"split-audit-log {logs}",
        f"split-audit-config --states {directory}/states",
        f"split-route --journal {directory}/requests.jsonl --from {old}",
    )
    return [f"./spark-submit.sh {job}" for job in jobs]


def histories_of(groups: int, first_seed: int, design: str, rows: Sequence[str]) -> list[WalkHistory]:
    """Returns one history per partition: one per given row, for a mutant one that breaks, the rest by seed.

    Raises:
        UsageError: an unknown row or design, more rows than partitions, rows that one table cannot combine, or too few
            seeds whose split ends.
    """
    protocol = design_of(design)
    home = [HOMES[design]] if design in HOMES and not rows else []
    unknown = [row for row in rows if row not in BY_ROW]
    if unknown:
        raise UsageError(f"no row {unknown[0]!r}; there are {', '.join(BY_ROW)} (docs/split-model.md)")
    if len(rows) > groups:
        raise UsageError(f"{len(rows)} rows need --groups {1 << (len(rows) - 1).bit_length()} or more")
    given_up = [row for row in rows if row in CANCELLED and broken_history(BY_ROW[row], protocol) is None]
    if given_up and len(given_up) < groups:
        raise UsageError(
            f"the splits of {', '.join(given_up)} are cancelled, and a table is cancelled as a whole: give only such "
            f"rows ({', '.join(CANCELLED)}), and as many as --groups"
        )
    ends = ("cancelled",) if given_up else ("split",)
    try:
        shown = [
            broken_history(BY_ROW[row], protocol) or struck_history(BY_ROW[row], protocol, ends)
            for row in [*rows, *home]
        ]
    except LookupError as error:
        raise UsageError(f"{error} in protocol {design}") from None
    return [*shown, *whole_histories(groups - len(shown), first_seed, protocol)]
