"""The text of the demo, from the summaries of its nights. Pure: values in, text out."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap

from pipelines.common.human import human_bytes
from pipelines.common.instants import DAY_MS, HOUR_MS
from pipelines.common.text import text_table
from pipelines.decide.reason_texts import REASON_TEXTS
from pipelines.lake.run_summary import DELETABLE, HELD, FindingRow, PinnedRow, RunSummary, VerdictTotal, by_reason

_NIGHTS = "{:<}  {:>}  {:>}  {:>}  {:>}  {:>}  {:>}"
_REASONS = "{:<}  {:<}  {:>}  {:>}  {:<}"
_HOLDERS = "{:<}  {:>}  {:>}  {:>}  {:>}"
_WIDTH = 118
_TOP = 6
_QUEUES = 3


@dataclass(frozen=True, slots=True)
class DemoCommand:
    """A command to paste, with its purpose."""

    purpose: str
    words: Sequence[str]

    def __str__(self) -> str:
        return shlex.join(self.words)


@dataclass(frozen=True, slots=True)
class DemoOutput:
    """Something that the demo has written, and its location."""

    what: str
    where: str


def demo_text(
    nights: Sequence[RunSummary],
    seconds: float,
    places: Sequence[DemoOutput],
    commands: Sequence[DemoCommand],
    tastes: Sequence[tuple[str, Sequence[str]]] = (),
) -> str:
    """Returns the text output of the demo.

    Args:
        nights: the summaries of the nights, oldest first.
        seconds: how long the demo took.
        places: what was written where.
        commands: what to try next.
        tastes: excerpts of other jobs on the last night: title and lines.
    """
    last = nights[-1]
    took = f"walsafe demo: {len(nights)} nights of a generated cluster, captured and decided in {seconds:.0f} s."
    blocks = [
        f"{took} Nothing was deleted.",
        _block("Files in oldWALs, night by night", text_table(_NIGHTS, _night_rows(nights))),
        _block(f"Why, on night {len(nights)}", text_table(_REASONS, _reason_rows(last.totals))),
        _block("Who holds most, and what would free it", _holder_lines(last)),
        _block(f"Findings on night {len(nights)}, worst first", _finding_lines(last.findings)),
        *(_block(title, lines) for title, lines in tastes),
        _block("Where everything is", text_table("{:<}  {:<}", [(place.what, place.where) for place in places])),
        _block("Try next", [line for command in commands for line in (f"# {command.purpose}", str(command))]),
    ]
    return "\n\n".join(blocks) + "\n"


def night_line(number: int, night: RunSummary) -> str:
    """Returns one night in one line, to be read while the next one runs."""
    parts = (("in oldWALs", night.total()), ("deletable", night.total(DELETABLE)), ("held", night.total(HELD)))
    told = ", ".join(f"{files:,} files {what} ({human_bytes(size)})" for what, (files, size) in parts)
    most = next(iter(night.holders("peer")), None)
    holder = f"; {_holder(most)} holds {human_bytes(most.bytes)}" if most else ""
    return f"night {number}: {told}{holder}"


def human_age(milliseconds: int | None) -> str:
    """Formats a duration as `8.0 d` or `5.3 h`."""
    if milliseconds is None:
        return ""
    if milliseconds < DAY_MS:
        return f"{milliseconds / HOUR_MS:.1f} h"
    return f"{milliseconds / DAY_MS:.1f} d"


def _night_rows(nights: Sequence[RunSummary]) -> Iterable[Sequence[str]]:
    yield ("", "files", "bytes", "deletable", "bytes", "held", "bytes")
    for number, night in enumerate(nights, start=1):
        sums = [night.total(), night.total(DELETABLE), night.total(HELD)]
        yield (f"night {number}", *(text for files, size in sums for text in (f"{files:,}", human_bytes(size))))


def _reason_rows(totals: Sequence[VerdictTotal]) -> Iterable[Sequence[str]]:
    yield ("verdict", "reason", "files", "bytes", "")
    for (verdict, reason), (files, size) in sorted(
        by_reason(totals).items(), key=lambda item: (item[0][0], -item[1][1])
    ):
        yield (verdict, reason, f"{files:,}", human_bytes(size), REASON_TEXTS[reason].short)


def _holder_lines(night: RunSummary) -> list[str]:
    """Returns each peer with its largest queues, followed by the remedies that would free bytes."""
    queues: dict[str, list[PinnedRow]] = {}
    for row in night.holders("queue"):
        queues.setdefault(row.peer_id, []).append(row)
    rows: list[Sequence[str]] = [("", "holds", "alone", "would free", "oldest")]
    for peer in night.holders("peer")[:_TOP]:
        own = queues.get(peer.peer_id, [])
        rows += [_holder_cells(row) for row in (peer, *own[:_QUEUES])]
        if len(own) > _QUEUES:
            rows.append((f"  and {len(own) - _QUEUES} more queues", "", "", "", ""))
    remedies = [f"-> {row.remedy}" for row in night.holders("peer")[:_TOP] if row.freed_bytes and row.remedy]
    return [*text_table(_HOLDERS, rows), *remedies]


def _holder_cells(row: PinnedRow) -> Sequence[str]:
    sizes = (human_bytes(size) for size in (row.bytes, row.exclusive_bytes, row.freed_bytes))
    return (_holder(row), *sizes, human_age(row.oldest_age_ms))


def _holder(row: PinnedRow) -> str:
    if row.level == "peer":
        return f"peer {row.peer_id}" + (" (DISABLED)" if row.peer_state == "DISABLED" else "")
    owner, source = _host(row.owner), _host(row.source)
    if row.owner is None:
        return f"  no queue of {source} yet"
    return f"  queue of {owner}" + (f", claimed from {source}" if row.source != row.owner else "")


def _host(server: str | None) -> str:
    return (server or "").partition(".")[0]


def _finding_lines(findings: Sequence[FindingRow]) -> list[str]:
    """Returns one finding of each code with its remedy, and counts the others."""
    kinds: dict[str, list[FindingRow]] = {}
    for finding in findings:
        kinds.setdefault(finding.code, []).append(finding)
    lines = []
    for code, rows in kinds.items():
        more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
        head = f"{rows[0].severity:<8} {code}{more}"
        lines += [head, *_indented(rows[0].message), *_indented(f"-> {rows[0].remedy}")]
    return lines or ["none"]


def _indented(text: str) -> list[str]:
    return wrap(text, _WIDTH, initial_indent=" " * 11, subsequent_indent=" " * 14, break_long_words=False)


def _block(title: str, lines: Iterable[str]) -> str:
    return "\n".join((title, *(f"  {line}".rstrip() for line in lines)))
