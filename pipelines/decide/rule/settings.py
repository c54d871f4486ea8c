"""Settings that change a decision; the defaults are the safe values (docs/configuration.md)."""

from dataclasses import dataclass, field

from pipelines.common.instants import DAY_MS
from pipelines.hbase.replication_queues import RowLayout
from pipelines.lake.findings import Acknowledgement

LONGEST_VALID_MS = 7 * DAY_MS
"""A list can be valid for longer than this only with the operator's reason."""


@dataclass(frozen=True, slots=True)
class Release:
    """Opt-ins that turn HELD into DELETABLE; the operator decides on each.

    Attributes:
        replication_table_wals: release the WALs of `hbase:replication` itself, which HBase 3 never releases.
        orphan_queues: trust a snapshot that has queue rows but no peer.
        empty_wal_directories: ignore an empty directory below `WALs/` that is older than 24 h.
    """

    replication_table_wals: bool = False
    orphan_queues: bool = False
    empty_wal_directories: bool = False


@dataclass(frozen=True, slots=True)
class ReconcileSettings:
    """Settings of reconcile.

    Attributes:
        release: opt-ins.
        row_layout: layout of the keys of queue rows.
        harmless_cleaners: further log-cleaner plugin classes known to need no file.
        log_cleaner_plugins: used if the snapshot's list is unknown; None = it stays unknown.
        backup_enabled: the same for HBase backup: False states that it is off; None = it stays unknown.
        valid_for_ms: how long after the start of step `files` a list can be emitted and acted on.
        valid_for_reason: the operator's reason why that is more than `LONGEST_VALID_MS`.
        max_deletable_share: largest share of all bytes under oldWALs that one run can list without `--accept`.
        share_from_bytes: that limit applies if oldWALs has at least this many bytes.
        cleaner_interval_ms: `hbase.master.cleaner.interval`.
        stalled_nights: nights without progress of a pending offset before the finding QUEUE_STALLED.
        growth_nights: nights of rising held bytes before the finding GROWTH.
        growth_min_bytes: growth below this over those nights is no finding.
        backup_age_ms: maximum age of the newest backup of a root before the finding BACKUP_BEHIND.
        acknowledged: findings that the operator acknowledged.
        capacity_bytes: bytes that oldWALs and the quarantine can take together; changes no decision.
    """

    release: Release = field(default_factory=Release)
    row_layout: RowLayout = RowLayout.SHIPPED
    harmless_cleaners: tuple[str, ...] = ()
    log_cleaner_plugins: tuple[str, ...] | None = None
    backup_enabled: bool | None = None
    valid_for_ms: int = DAY_MS
    valid_for_reason: str | None = None
    max_deletable_share: float = 0.95
    share_from_bytes: int = 100 << 30
    cleaner_interval_ms: int = 600_000
    stalled_nights: int = 3
    growth_nights: int = 3
    growth_min_bytes: int = 1 << 30
    backup_age_ms: int = 8 * DAY_MS
    acknowledged: tuple[Acknowledgement, ...] = ()
    capacity_bytes: int | None = None
