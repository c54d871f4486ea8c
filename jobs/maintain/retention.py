"""How long maintain keeps what, from the configuration, checked before a JVM starts."""

from jobs.cli.config.configuration import Config
from pipelines.common.errors import UsageError
from pipelines.common.human import human_duration
from pipelines.common.instants import HOUR_MS
from pipelines.lake.retention import RetentionPolicy
from schemas.registry import TABLES
from schemas.wal_verdicts import WAL_VERDICTS


def retention_policy(config: Config) -> RetentionPolicy:
    """Returns the retention of each table, of lists, snapshots and pages.

    Raises:
        UsageError: an unknown table, or a retention shorter than the validity of lists.
    """
    section, valid_for = config.maintain, config.list.valid_for
    keep = section.keep
    names = [table.name for table in TABLES]
    for name in keep.tables:
        if name not in names:
            raise UsageError(f"maintain.keep.tables: there is no table {name!r}; tables: {', '.join(names)}")
    tables_ms = dict.fromkeys(names, keep.other_tables) | {WAL_VERDICTS.name: keep.wal_verdicts} | keep.tables
    times = {f"a night of {name}": time for name, time in tables_ms.items()} | {"lists": keep.lists}
    for what, time in times.items():
        if time < valid_for:
            raise UsageError(
                f"maintain.keep: {what} would go after {human_duration(time)}, while a list is valid for "
                f"{human_duration(valid_for)} (list.valid_for); keep it as long at least"
            )
    return RetentionPolicy(
        tables_ms=tables_ms,
        lists_ms=keep.lists,
        snapshots_ms=keep.snapshots,
        reports_ms=keep.reports,
        compact_from=section.compact_from,
        # whole hours, rounded up: tables store it so, and maintain compares it with what they store
        grace_ms=None if section.vacuum_grace is None else -(-section.vacuum_grace // HOUR_MS) * HOUR_MS,
        # findings compare tonight with this many nights; one more in case the newest run was repeated and failed
        nights=max(config.findings.stalled_nights, config.findings.growth_nights) + 1,
    )
