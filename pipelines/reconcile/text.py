"""The output of reconcile as text and as JSON."""

from collections.abc import Mapping, Sequence

from pipelines.common.human import human_bytes, human_count
from pipelines.common.instants import format_instant
from pipelines.common.text import text_table
from pipelines.decide.rule.verdict import Verdict
from pipelines.lake.run_summary import REFUSED, RunSummary, by_reason
from pipelines.reconcile.explain.words import frees
from pipelines.reconcile.pause import pause_of_summary
from pipelines.reconcile.request import PublishedPage

_SHOWN = 5


def reconcile_result(summaries: Sequence[RunSummary], pages: Mapping[str, PublishedPage]) -> dict[str, object]:
    """Returns the JSON object of `--output json` and `--result`, without the job and the exit code."""
    return {"clusters": [cluster_object(one, pages.get(one.cluster)) for one in summaries]}


def cluster_object(one: RunSummary, page: PublishedPage | None = None) -> dict[str, object]:
    """Returns the JSON object of one cluster."""
    deletable, held = one.total(Verdict.DELETABLE.value), one.total(Verdict.HELD.value)
    pause = pause_of_summary(one)
    return {
        "cluster": one.cluster,
        "run_id": one.run_id,
        "status": one.status,
        "mode": one.mode,
        "is_newest": one.is_newest,
        "exit_code": one.exit_code,
        "reason": one.reason,
        "condition": one.condition.name if one.condition else None,
        "paused": pause.document() if pause else None,
        "files_started_at": format_instant(one.files_started_ms),
        "deletable_files": deletable[0],
        "deletable_bytes": deletable[1],
        "held_files": held[0],
        "held_bytes": held[1],
        "by_reason": [
            {
                "verdict": row.verdict,
                "reason": row.reason,
                "hbase_verdict": row.hbase_verdict,
                "files": row.files,
                "bytes": row.bytes,
            }
            for row in one.totals
        ],
        "holders": [
            {
                "peer_id": row.peer_id,
                "peer_state": row.peer_state,
                "files": row.files,
                "bytes": row.bytes,
                "exclusive_bytes": row.exclusive_bytes,
                "freed_bytes": row.freed_bytes,
                "oldest_age_ms": row.oldest_age_ms,
                "remedy": row.remedy,
            }
            for row in one.holders("peer")
        ],
        "findings": [
            {
                "key": row.key,
                "code": row.code,
                "severity": row.severity,
                "message": row.message,
                "remedy": row.remedy,
                "nights": row.nights,
                "is_new": row.is_new,
                "acknowledged": row.acknowledged,
                "files": row.files,
                "bytes": row.bytes,
            }
            for row in one.findings
        ],
        "list_uri": one.list_uri,
        "lake_uri": one.lake_uri,
        "report_uri": page.uri if page else None,
        "forecast": page.forecast.document() if page and page.forecast else None,
    }


def reconcile_text(summaries: Sequence[RunSummary], pages: Mapping[str, PublishedPage]) -> str:
    """Formats one block for each cluster; a large fleet is cut to the clusters that need a person."""
    shown = (
        summaries if len(summaries) <= _SHOWN else [one for one in summaries if one.exit_code or pause_of_summary(one)]
    )
    blocks = [_block(one, pages) for one in shown]
    if len(shown) < len(summaries):
        fine = len(summaries) - len(shown)
        blocks.append(f"{fine} of {len(summaries)} clusters are done without anything to say; see the table runs")
    return "\n\n".join(blocks)


def _block(one: RunSummary, pages: Mapping[str, PublishedPage]) -> str:
    lines = [
        f"{one.cluster}  run {one.run_id}  {one.status}"
        + ("  REPLAY: too old for a list" if one.mode == "REPLAY" else "")
    ]
    if one.status == REFUSED:
        lines.append(f"  refused: {one.reason}")
        return "\n".join(lines)
    pause = pause_of_summary(one)
    lines += [f"  {line}" for line in pause.lines()] if pause else []
    for verdict in (Verdict.DELETABLE, Verdict.HELD):
        files, size = one.total(verdict.value)
        lines += text_table("  {:<10}{:>12} files {:>12}", [(verdict.value, files, human_bytes(size))])
        largest = sorted(by_reason(one.totals).items(), key=lambda item: -item[1][1])
        reasons = [(why, files, human_bytes(size)) for (what, why), (files, size) in largest if what == verdict.value]
        lines += text_table("    {:<24}{:>12} files {:>12}", reasons)
    holders = one.holders("peer")[:_SHOWN]
    if holders:
        lines.append("  held by")
    lines += [
        f"    peer {row.peer_id} ({row.peer_state or 'state unknown'}): {human_count(row.files, 'file')}, "
        f"{human_bytes(row.bytes)}; {frees(row.freed_bytes, row.remedy)}"
        for row in holders
    ]
    if one.findings:
        lines.append("  findings")
    lines += [
        f"    {row.severity:<8}{row.key}: {row.message} {row.remedy}" + ("  [acknowledged]" if row.acknowledged else "")
        for row in one.findings[: 2 * _SHOWN]
    ]
    if len(one.findings) > 2 * _SHOWN:
        lines.append(f"    … and {len(one.findings) - 2 * _SHOWN} more in the table findings")
    lines.append(f"  list    {one.list_uri or 'none'}")
    lines.append(f"  tables  {one.lake_uri}")
    if one.cluster in pages:
        lines.append(f"  report  {pages[one.cluster].uri}")
    return "\n".join(lines)
