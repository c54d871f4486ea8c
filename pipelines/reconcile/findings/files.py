"""Findings about files and directories, and about HBase's own cleaner."""

from collections.abc import Iterator

from pipelines.common.human import human_count
from pipelines.decide.rule.verdict import Reason
from pipelines.lake.findings import ERROR, INFO, WARNING, finding
from pipelines.lake.run_summary import FindingRow
from pipelines.reconcile.findings.evidence import Evidence, of_reason
from pipelines.reconcile.findings.storage_words import storage_words


def bad_names(evidence: Evidence) -> Iterator[FindingRow]:
    """Yields POISON_FILE, INVALID_NAME and CLOCK_SKEW, by directory."""
    for reason, severity, what, remedy in (
        (
            Reason.POISON_NAME,
            ERROR,
            "a WAL name without a readable server or timestamp: HBase's cleaner throws and skips the whole directory",
            "Move these files out of oldWALs by hand after looking at them.",
        ),
        (
            Reason.INVALID_NAME,
            INFO,
            "not a WAL: HBase's cleaner deletes it without waiting for any TTL",
            "Move it elsewhere if it is wanted; nothing but WALs belongs into oldWALs.",
        ),
        (
            Reason.FUTURE_TIMESTAMP,
            WARNING,
            "a modification time after the end of the listing: the clocks differ",
            "Check NTP on the region servers, the NameNode and the host that captured.",
        ),
    ):
        for odd in evidence.odd_names:
            if odd.reason == reason.value:
                yield finding(
                    {"POISON_NAME": "POISON_FILE", "FUTURE_TIMESTAMP": "CLOCK_SKEW"}.get(reason.value, reason.value),
                    severity,
                    odd.directory,
                    f"{human_count(odd.files, 'file')} in {odd.directory}, such as {odd.example}: {what}.",
                    remedy,
                    files=odd.files,
                    size=odd.bytes,
                    example=odd.example,
                )


def leaked_rep_wals(evidence: Evidence) -> Iterator[FindingRow]:
    """Yields LEAKED_REP_WAL: WALs of hbase:replication, which HBase 3 never frees while their server lives."""
    files, size = of_reason(evidence, Reason.REPLICATION_TABLE_WAL)
    released = evidence.settings.release.replication_table_wals
    if files and not released:
        yield finding(
            "LEAKED_REP_WAL",
            INFO,
            "",
            f"{human_count(files, 'WAL')} of hbase:replication itself: no peer wants such WALs, and HBase 3 never "
            "deletes them while their server lives.",
            "Set release.replication_table_wals: true to have them listed.",
            files=files,
            size=size,
        )


def leftover_directories(evidence: Evidence) -> Iterator[FindingRow]:
    """Yields LEFTOVER_WAL_DIRECTORY: directories below `WALs/` of servers that are neither online nor crashing."""
    view, membership = evidence.view, evidence.snapshot.membership
    for directory in membership.wal_directories if membership else ():
        server = directory.server
        # a server that has just crashed has its procedure in one of the two readings
        if server in view.online or server in view.crashing or view.restless is not None:
            continue
        if server not in view.wal_directories:  # ignored by release.empty_wal_directories
            continue
        empty = directory.entries == 0
        yield finding(
            "LEFTOVER_WAL_DIRECTORY",
            WARNING,
            str(server),
            f"WALs/{server} (or {server}-splitting) stands, but the server is neither online nor has a crash "
            "procedure.",
            "It is empty: remove it, or set release.empty_wal_directories."
            if empty
            else f"Its WALs were never split: HBCK2 'scheduleRecoveries {server}'.",
            server=str(server),
            entries=directory.entries,
        )


def cleaner_not_running(evidence: Evidence) -> Iterator[FindingRow]:
    """Yields CLEANER_NOT_RUNNING: files that HBase's own cleaner chain should have deleted long ago.

    Only names that never wait for a queue are evidence: WALs of hbase:meta, procedure WALs and non-WALs. Any other
    backlog may be WALs that a peer has just shipped, which is new work for the cleaner however old the files are. While
    AddPeer or a migration stops the cleaner, walsafe holds every file for that reason, and none is evidence.
    """
    certain = {Reason.META_WAL.value, Reason.INVALID_NAME.value, Reason.PROCEDURE_WAL.value}
    totals = [total for total in evidence.totals if total.archived and total.reason in certain and total.overdue_files]
    if not totals:
        return
    poison = sorted(odd.directory for odd in evidence.odd_names if odd.reason == Reason.POISON_NAME.value)
    cause = "the cleaner switch is off or its chore has died"
    remedy = "hbase shell: cleaner_chore_enabled, then look at the master's log."
    if poison:  # it blocks its own directory alone, and nobody knows here where the overdue files are
        cause += f", or a poison file blocks {poison[0]}"
        remedy += " Move the file away that POISON_FILE names."
    files, size = sum(total.overdue_files for total in totals), sum(total.overdue_bytes for total in totals)
    yield finding(
        "CLEANER_NOT_RUNNING",
        ERROR,
        "",
        f"HBase's own cleaner should have deleted {human_count(files, 'file')} more than three intervals ago; "
        f"likely {cause}.",
        remedy,
        files=files,
        size=size,
        cause=cause,
        reasons=sorted({str(total.reason) for total in totals}),
    )


def whole_cluster(evidence: Evidence) -> Iterator[FindingRow]:
    """Yields FOREIGN_CLEANER, ADD_PEER_RUNNING and CLUSTER_MOVED, which hold all files or all files of dead servers."""
    view = evidence.view
    if view.foreign_cleaner is not None:
        yield finding(
            "FOREIGN_CLEANER",
            WARNING,
            "",
            f"Everything past its TTL is held: {view.foreign_cleaner}.",
            "In the configuration: add a plugin that keeps no WAL you need to cleaners.harmless; set backup.enabled: "
            "false if HBase backup is off; state an unknown list of plugins in cleaners.plugins.",
        )
    if view.add_peer_running:
        yield finding(
            "ADD_PEER_RUNNING",
            INFO,
            "",
            "AddPeer was running during the capture (or that is unknown), so everything is held for this night.",
            "Capture again once it has finished.",
        )
    moved, size = of_reason(evidence, Reason.CLUSTER_MOVED)
    whose = storage_words(view).held_while_moving
    if moved:
        yield finding(
            "CLUSTER_MOVED",
            INFO,
            "",
            f"Held, {human_count(moved, 'file')} {whose}: the cluster moved during the capture: {view.restless}.",
            "Nothing, if it is rare; else let capture retry (capture.quiet_attempts).",
            files=moved,
            size=size,
        )
