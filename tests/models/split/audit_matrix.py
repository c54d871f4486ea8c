"""Shows which audit detects which simulated split: maps findings of the five audits to partitions."""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.common.human import human_count
from pipelines.lake.findings import INFO
from pipelines.pegasus.domain.rule_violations import MARK
from pipelines.pegasus.domain.stale import RowFate
from pipelines.pegasus.domain.verify.findings import rule_of
from tests.models.split.cases import AUDITS, CONFIG, LOG, ROUTE, STALE, VERIFY, Case

_WIDTH = 120
_STANDING = frozenset({RowFate.KEPT_REJECTING.value, RowFate.KEPT_UNCOUNTED.value, RowFate.KEPT_OLD_VERSION.value})
"""The fates of copies that compaction does not drop yet, because the split has not ended."""
_OF_PARTITION = re.compile(r"(?:\d+\.)?(\d+)(?:[@/].*)?")
Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Seen:
    """The audit results of one case: broken rules by audit."""

    case: Case
    rules: Mapping[str, frozenset[str]]

    @property
    def is_right(self) -> bool:
        """Returns whether all audits that must detect the case do so.

        For a good split, whether no audit reports anything.
        """
        raising = {audit for audit, rules in self.rules.items() if rules}
        return self.case.seen_by <= raising if self.case.seen_by else not raising


def seen(cases: Sequence[Case], results: Mapping[str, Result]) -> list[Seen]:
    """Returns the rules that each audit found broken, by case.

    Args:
        cases: the cases of one table, in the order of its partitions.
        results: the result objects of the audits (`AUDITS`) of that table.
    """
    found: list[dict[str, set[str]]] = [{audit: set() for audit in AUDITS} for _ in cases]
    for audit, result in results.items():
        for partition, rule in _broken(audit, result):
            for rules in found if partition is None else [found[partition % len(cases)]]:
                rules[audit].add(rule)
    return [
        Seen(case, {audit: frozenset(rules) for audit, rules in of.items()})
        for case, of in zip(cases, found, strict=True)
    ]


def _broken(audit: str, result: Result) -> Iterator[tuple[int | None, str]]:
    """Yields the partition (None = the whole table) and the rule of each finding."""
    if audit == VERIFY:
        for row in result["differences"]:
            yield row["partition"], rule_of(row["reason"], row["side"])
        return
    for row in result["findings"]:
        rule = row["code"].removeprefix(MARK)
        if row["severity"] == INFO or (audit == STALE and rule == "D4"):
            continue
        for partition in _partitions(audit, row):
            yield partition, rule
    if audit == STALE:
        for row in result["fates"]:
            if row["is_stale"] and row["fate"] in _STANDING:
                yield row["partition_index"], "D4"


def _partitions(audit: str, finding: Mapping[str, Any]) -> Sequence[int | None]:
    """Returns the partitions that a finding is about; None = the whole table."""
    evidence = finding["evidence"]
    if audit == CONFIG and "waiting" in evidence:
        return sorted(set(evidence["waiting"]) ^ set(map(int, evidence["states"])))
    place = _OF_PARTITION.fullmatch(finding["subject"]) if audit in {LOG, ROUTE, CONFIG} else None
    whole = place is None or (audit == CONFIG and "." not in finding["subject"])
    return [None if whole or place is None else int(place[1])]


def matrix_lines(table: str, rows: Sequence[Seen]) -> Iterator[str]:
    """Yields the matrix as text: good splits by name, one line for each broken split."""
    good = [row for row in rows if not row.case.seen_by]
    broken = [row for row in rows if row.case.seen_by]
    parts = []
    if good:
        parts.append(
            f"{human_count(len(good), 'good split')}, nothing is raised of {sum(row.is_right for row in good)}"
        )
    if broken:
        right = sum(row.is_right for row in broken)
        parts.append(f"{human_count(len(broken), 'broken split')}, {right} seen by the audits that should")
    yield f"table {table}: {'; '.join(parts)}"
    if good:
        names = " ".join(dict.fromkeys(row.case.name.replace(" ", "-") for row in good))
        yield textwrap.fill(names, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    shown = [row for row in rows if row.case.seen_by or not row.is_right]
    if shown:
        heads = [audit.removeprefix("split-") for audit in AUDITS]
        yield _line("", "breaks", heads)
        yield from (_line(f"{row.case.design} {row.case.name}", row.case.what, list(_cells(row))) for row in shown)


def _cells(row: Seen) -> Iterator[str]:
    for audit in AUDITS:
        rules = row.rules[audit]
        yield " ".join(sorted(rules)) or ("MISSED" if audit in row.case.seen_by else "-")


def _line(name: str, what: str, cells: Sequence[str]) -> str:
    return f"  {name:<32} {what:<13} " + " ".join(f"{cell:<12}" for cell in cells).rstrip()
