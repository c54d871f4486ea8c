"""What the configuration can say about a decision; defaults are the safe values (docs/configuration.md)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.common.acknowledgement import Acknowledgement
from pipelines.common.instants import DAY_MS
from pipelines.hbase.replication_queues import RowLayout

LONGEST_VALID_MS = 7 * DAY_MS
"""For longer than this a list is valid only with a person's reason."""


@dataclass(frozen=True, slots=True)
class Release:
    """Opt-ins that turn HELD into DELETABLE, each a person's decision.

    Attributes:
        replication_table_wals: free the WALs of `hbase:replication` itself, which HBase 3 never frees.
        orphan_queues: believe a snapshot that has queue rows but no peer.
        empty_wal_directories: ignore an empty directory below `WALs/` that is older than 24 h.
    """

    replication_table_wals: bool = False
    orphan_queues: bool = False
    empty_wal_directories: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of reconcile.

    Attributes:
        release: opt-ins.
        row_layout: how queue rows are written.
        harmless_cleaners: further log-cleaner plugin classes known to need no file.
        log_cleaner_plugins: what stands for the snapshot's list where that is unknown; None = stays unknown.
        backup_enabled: the same for HBase backup: False states that it is off; None = stays unknown.
        valid_for_ms: how long after the start of step `files` a list may be emitted and acted on.
        valid_for_reason: why that is more than `LONGEST_VALID_MS`, in a person's words.
        max_deletable_share: largest share of all bytes under oldWALs that one run may list without --accept.
        share_from_bytes: that limit holds where oldWALs has at least so many bytes.
        cleaner_interval_ms: `hbase.master.cleaner.interval`.
        stalled_nights: nights without progress of a pending offset before QUEUE_STALLED.
        growth_nights: nights of rising held bytes before GROWTH.
        growth_min_bytes: growth below this over those nights is no finding.
        backup_age_ms: the newest backup of a root may reach so far back before BACKUP_BEHIND.
        acknowledged: known findings.
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


@dataclass(frozen=True, slots=True)
class Acceptances:
    """`--accept EXPECTATION=REASON` of one run."""

    reasons: Mapping[str, str] = field(default_factory=dict)
