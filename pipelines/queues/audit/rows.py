"""Rows of the tables of an audit. Field names equal column names; a test compares them."""

from dataclasses import dataclass

AUDIT_SUFFIX = "-queues"
"""Suffix of the run ids of audits, which separates their rows in shared tables from those of reconcile."""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A row of `queue_audits`; bytes, and ms since the epoch."""

    queue: str
    queue_class: str
    also: tuple[str, ...]
    storage: str
    peer_id: str | None
    peer_state: str | None
    owner: str
    owner_state: str
    source: str | None
    hops: tuple[str, ...]
    pending_files: int
    pending_bytes: int
    live_pending_files: int
    live_pending_bytes: int
    alone_files: int
    alone_bytes: int
    oldest_pending_timestamp: int | None
    missing_wals: tuple[str, ...]
    evidence: str
    remedy: str | None
    observed_at: int

    @property
    def classes(self) -> tuple[str, ...]:
        """All classes of the queue, the first one first."""
        return (self.queue_class, *self.also)


@dataclass(frozen=True, slots=True)
class SeenRow:
    """The columns of a row of `queue_audits` that tell a later audit who owned the queue."""

    queue_class: str
    storage: str
    peer_id: str | None
    owner: str
    owner_state: str
    source: str | None
    hops: tuple[str, ...]
    observed_at: int


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """A row of `queue_claims`, one event of a queue; instants in ms since the epoch, durations in ms."""

    peer_id: str
    source: str
    event: str
    from_owner: str | None
    to_owner: str | None
    via: tuple[str, ...]
    died_after: int | None
    died_before: int | None
    happened_after: int | None
    happened_before: int
    waited_min_ms: int | None
    waited_max_ms: int | None


@dataclass(frozen=True, slots=True)
class ClaimPlanRow:
    """A row of `claim_plans`: one orphan and the server that the plan assigns it to; bytes, and ms since the epoch."""

    step: int
    server: str
    queue: str
    peer_id: str
    source: str
    pending_files: int
    pending_bytes: int
    oldest_pending_timestamp: int | None
    target: str
    target_bytes: int
