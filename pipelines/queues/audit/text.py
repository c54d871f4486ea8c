"""The result of audit-queues, as text and as JSON."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from pipelines.common.human import human_amount, human_bytes, human_count, human_duration, human_instant
from pipelines.common.instants import format_instant
from pipelines.common.text import text_table, wrapped
from pipelines.lake.run_summary import FindingRow, RunKey
from pipelines.queues.audit.classes import AS_IT_SHOULD_BE, NO_QUEUE, QueueClass
from pipelines.queues.audit.observed_cluster import ObservedCluster
from pipelines.queues.audit.plan import PeerRestart
from pipelines.queues.audit.plan_text import again_words
from pipelines.queues.audit.rows import AuditRow, ClaimPlanRow, ClaimRow
from pipelines.queues.audit.timeline import QueueEvent

_SHOWN = 20
_INDENT = " " * 4


@dataclass(frozen=True)
class AuditResult:
    """The result of one audit.

    Attributes:
        key: the run key of its rows.
        cluster: the audited snapshot.
        rows: every queue, and every lock and empty server znode.
        claims: the timeline.
        plan: the planned claims of the orphans.
        again: what recoveries ship a second time.
        findings: errors first.
        files: URIs of the plan files by name; empty when no plan was requested.
        snapshots: number of snapshots in the timeline, including those read from the lake.
    """

    key: RunKey
    cluster: ObservedCluster
    rows: Sequence[AuditRow]
    claims: Sequence[ClaimRow]
    plan: Sequence[ClaimPlanRow]
    again: Sequence[PeerRestart]
    findings: Sequence[FindingRow]
    files: Mapping[str, str]
    snapshots: int


def audit_result(audit: AuditResult) -> dict[str, object]:
    """Returns the audit's part of the JSON object; keys are the column names of the tables."""
    return {
        "files_started_at": format_instant(audit.cluster.servers.at),
        "storage": audit.cluster.storage.name,
        "snapshots": audit.snapshots,
        "classes": dict(sorted(_classes(audit.rows).items())),
        "queues": [asdict(row) for row in audit.rows],
        "claims": [asdict(row) for row in audit.claims],
        "plan": [asdict(row) for row in audit.plan],
        "shipped_again": [asdict(row) for row in audit.again],
        "plan_files": dict(audit.files),
    }


def audit_lines(audit: AuditResult) -> Iterator[str]:
    """Yields the text for the on-call engineer."""
    for part in (_head(audit), _row_lines(audit.rows), _claim_lines(audit), _plan_lines(audit), _known_lines(audit)):
        yield from part


def _classes(rows: Sequence[AuditRow]) -> Counter[str]:
    return Counter(row.queue_class for row in rows)


def _head(audit: AuditResult) -> Iterator[str]:
    queues = [row for row in audit.rows if row.queue_class not in NO_QUEUE]
    at = human_instant(audit.cluster.servers.at)
    yield f"cluster {audit.key.cluster}: {human_count(len(queues), 'queue')} in {audit.cluster.storage.place}, {at}"
    if audit.cluster.restless is not None:
        words = (
            f"The capture was not quiet: {audit.cluster.restless}. This is its last reading. Orphans and duplicates "
            "may be claims under way: no finding is raised for them; capture again before you have one claimed."
        )
        yield wrapped(words, "  ")
    order = [one.value for one in QueueClass]
    sizes: Counter[str] = Counter()
    for row in audit.rows:
        sizes[row.queue_class] += row.pending_bytes
    yield ""
    counts = _classes(audit.rows)
    rows = [(name, counts[name], human_bytes(sizes[name])) for name in sorted(counts, key=order.index)]
    yield from text_table("  {:<16} {:>6} {:>10}", [("class", "queues", "to ship"), *rows])


def _row_lines(rows: Sequence[AuditRow]) -> Iterator[str]:
    odd = [row for row in rows if row.queue_class not in AS_IT_SHOULD_BE]
    for row in odd[:_SHOWN]:
        yield ""
        also = f" (also {', '.join(row.also)})" if row.also else ""
        yield f"  {row.queue_class}{also}: {row.queue}"
        if row.peer_id is not None:
            state = row.peer_state or "removed"
            size = f"{human_amount(row.pending_files, row.pending_bytes)} under oldWALs"
            yield f"{_INDENT}peer {row.peer_id} ({state}); to ship: {size}; {human_bytes(row.alone_bytes)} for it alone"
        yield wrapped(row.evidence, _INDENT)
        if row.remedy:
            yield wrapped(f"-> {row.remedy}", _INDENT)
    if len(odd) > _SHOWN:
        yield f"  … and {len(odd) - _SHOWN:,} more; `queues` in the JSON has every one"


def _claim_lines(audit: AuditResult) -> Iterator[str]:
    if audit.claims:
        yield ""
        yield f"  timeline, from {human_count(audit.snapshots, 'snapshot')}"
    for row in audit.claims[:_SHOWN]:
        yield wrapped(f"peer {row.peer_id}, WALs of {row.source}: {_event(row)}", _INDENT)
    if len(audit.claims) > _SHOWN:
        yield f"    … and {len(audit.claims) - _SHOWN:,} more; `claims` in the JSON has every one"


def _event(row: ClaimRow) -> str:
    when = f"before {human_instant(row.happened_before)}"
    if row.happened_after is not None:
        when = f"between {human_instant(row.happened_after)} and {human_instant(row.happened_before)}"
    left = row.from_owner or "an unseen owner"
    if row.event == QueueEvent.WAITING.value:
        return f"with {left}, which is not online; waits for a claim{_waited(row, 'so far ')}"
    if row.event == QueueEvent.ENDED.value:
        return f"gone from {left} {when}"
    via = f" (by way of {', '.join(row.via)})" if row.via else ""
    return f"claimed by {row.to_owner} from {left}{via} {when}{_waited(row)}"


def _waited(row: ClaimRow, before: str = "after ") -> str:
    least, most = row.waited_min_ms, row.waited_max_ms
    bounds = [] if not least else [f"at least {human_duration(least)}"]
    bounds += [] if most is None else [f"at most {human_duration(most)}"]
    return f", {before}{' and '.join(bounds)}" if bounds else ""


def _plan_lines(audit: AuditResult) -> Iterator[str]:
    if not audit.plan and not audit.files:
        return
    yield ""
    size = human_bytes(sum(row.pending_bytes for row in audit.plan))
    yield f"  claim plan: {human_count(len(audit.plan), 'orphan queue')}, {size}"
    for row in audit.plan[:_SHOWN]:
        yield f"    step {row.step}: {row.queue}, {human_bytes(row.pending_bytes)}, to {row.target}"
    if len(audit.plan) > _SHOWN:
        yield f"    … and {len(audit.plan) - _SHOWN:,} more; `plan` in the JSON has every one"
    for one in audit.again[:_SHOWN]:
        yield wrapped(f"note: {one.server}: {again_words(one)}", _INDENT)
    if len(audit.again) > _SHOWN:
        yield f"    … and {len(audit.again) - _SHOWN:,} more; `shipped_again` in the JSON has every one"
    for name, where in audit.files.items():
        yield f"    {name}: {where}"


def _known_lines(audit: AuditResult) -> Iterator[str]:
    """Yields the keys of the findings; their details are printed above, with the queues."""
    if audit.findings:
        yield ""
        yield "  findings"
    for row in audit.findings[:_SHOWN]:
        known = ", acknowledged" if row.acknowledged else "" if row.is_new else f", for {row.nights} audits"
        yield f"    {row.severity:<8} {row.key}{known}"
    if len(audit.findings) > _SHOWN:
        yield f"    … and {len(audit.findings) - _SHOWN:,} more; `findings` in the JSON has every one"
