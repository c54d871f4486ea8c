"""Turns a comparison into findings: one for each reason and side."""

from collections import Counter
from collections.abc import Iterator

from pipelines.common.human import human_count
from pipelines.lake.findings import ERROR, INFO, WARNING
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain.rows import RowKind
from pipelines.pegasus.domain.rule_violations import rule_violation
from pipelines.pegasus.domain.verify.compare import AFTER, BEFORE, Comparison, Counts
from pipelines.pegasus.domain.verify.judge import DifferenceReason

_SHOWN = 10
_WORDS: dict[tuple[DifferenceReason, str], tuple[str, str, str, str]] = {
    (DifferenceReason.LOST, AFTER): (
        "D1",
        ERROR,
        "live before, but not in the partition that owns it after",
        "Do not compact: the parent may have copies (with --lake, see split_diff). Write them back from `before`.",
    ),
    (DifferenceReason.LOST, BEFORE): (
        "D2",
        ERROR,
        "live after, but missing before",
        "If nobody wrote meanwhile, deleted or overwritten rows have come back: an offline tool took an old SST.",
    ),
    (DifferenceReason.VALUE, AFTER): (
        "D2",
        ERROR,
        "another value after, which is not a later one",
        "Write them back from `before`; an older value means that a write was undone.",
    ),
    (DifferenceReason.VALUE, BEFORE): (
        "D2",
        ERROR,
        "another value after, which was written later",
        "Expected only if clients wrote between the two exports: export both again without writes to prove the split.",
    ),
    (DifferenceReason.EXPIRED, AFTER): (
        "D2",
        ERROR,
        "live before, expired after",
        "Their expire time was changed: write them back from `before`.",
    ),
    (DifferenceReason.EXPIRED, BEFORE): (
        "D2",
        ERROR,
        "expired before, live after",
        "Their expire time was changed, or clients wrote them again between the two exports.",
    ),
    (DifferenceReason.STALE_NEWER, AFTER): (
        "D5",
        ERROR,
        "a copy that is newer, or may be, in a partition that does not own the key",
        "The parent took writes for the child. Before any compaction, copy those that are newer to their owner.",
    ),
    (DifferenceReason.STALE, AFTER): (
        "D4",
        ERROR,
        "still in a partition that was compacted after the split",
        "The compaction filter was off: look at the validate env with split-stale, then compact again.",
    ),
    (DifferenceReason.FOREIGN, AFTER): (
        "D3",
        ERROR,
        "in a partition where it never belonged",
        "A replica was loaded under a wrong index: find out where its directory comes from.",
    ),
    (DifferenceReason.FOREIGN, BEFORE): (
        "D3",
        ERROR,
        "in a partition where it never belonged, before the split",
        "Give --before-created-with if the table was split before; else a replica was loaded under a wrong index.",
    ),
    (DifferenceReason.MALFORMED, AFTER): (
        "D6",
        ERROR,
        "a key or value that Pegasus does not write, after",
        "Look at them (with --lake, in table split_diff), and at --data-version.",
    ),
    (DifferenceReason.MALFORMED, BEFORE): (
        "D6",
        WARNING,
        "a key or value that Pegasus does not write, before",
        "Look at them (with --lake, in table split_diff), and at --data-version.",
    ),
}


def verify_findings(table: str, compared: Comparison, counts: Counts) -> Iterator[FindingRow]:
    """Yields the findings of one comparison."""
    by_reason: dict[tuple[DifferenceReason, str], Counter[int | None]] = {}
    for (group, word, side), number in counts.items():
        by_reason.setdefault((DifferenceReason(word), side), Counter())[group] += number
    for (reason, side), groups in sorted(by_reason.items(), key=lambda item: (item[0][0].value, item[0][1])):
        rule, severity, words, remedy = _WORDS[reason, side]
        rows = sum(groups.values())
        message = f"Table {table}: {words}: {human_count(rows, 'row')}."
        partitions = [group for group, _ in groups.most_common(_SHOWN) if group is not None]
        subject = f"{table}/{reason.value}/{side}"
        if severity == ERROR:
            subject += f"/{rows}"  # who acknowledges two rows does not mean two thousand
        yield rule_violation(rule, severity, subject, message, remedy, rows=rows, partitions=sorted(partitions))
    stale = compared.rows(AFTER, RowKind.STALE)
    if stale and (DifferenceReason.STALE, AFTER) not in by_reason:
        yield rule_violation(
            "D4",
            INFO,
            table,
            f"Table {table}: {stale:,} rows after are copies that a split has left in other partitions.",
            "This is not a loss: the compaction filter can remove them; split-stale reports whether it will, "
            "and how many.",
            rows=stale,
        )


def rule_of(reason: str, side: str) -> str:
    """Returns the rule of docs/split-rules.md that a difference breaks."""
    return _WORDS[DifferenceReason(reason), side][0]
