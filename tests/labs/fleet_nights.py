"""Provides four nights of a fleet in which each cluster has one fault to be found."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from jobs.cli.config.configuration import parse_config
from jobs.demo.cluster.model import GeneratedCapture
from pipelines.common.instants import DAY_MS, HOUR_MS
from pipelines.common.job_result import JobResult
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.model import Retention, WalDirectory
from tests.labs.small_cluster import (
    D1,
    GIB,
    H1,
    H2,
    NOW,
    archived,
    clusters_of,
    group,
    row,
    timestamp,
    wal,
    with_cells,
    with_files,
    with_snapshot,
)

NIGHTS = 4
Night = Callable[[GeneratedCapture, int], GeneratedCapture]


def orphan(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    return with_cells(made, row(f"9-{H1}", group(H1), wal(H1, 1), 0))


def orphan_of_a_dead_owner(made: GeneratedCapture, night: int) -> GeneratedCapture:
    dead = ServerName("d2.example.org", 16020, 5)
    without = replace(made, pass_1=made.pass_1[1:], pass_2=made.pass_2[1:])
    return with_cells(without, row(f"1-{H1}", group(H1), wal(H1, 4), night), row(f"1-{dead}", "g", "g.5", -1))


def duplicate(made: GeneratedCapture, night: int) -> GeneratedCapture:
    return with_cells(made, row(f"1-{H2}/{D1}", group(D1), wal(D1, 3), night))


def poison(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    return with_files(made, ArchivedFile("oldWALs/wal.1234567890123", 1024, NOW - HOUR_MS))


def acknowledged(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    return with_files(made, ArchivedFile("oldWALs/known/wal.1234567890123", 1024, NOW - HOUR_MS))


def leaked(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    name = f"{group(H1)}.rep.{timestamp(1)}"
    return with_files(made, ArchivedFile(f"oldWALs/{name}", 1024, timestamp(2)))


def leftover(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    first = made.snapshot.membership
    assert first is not None
    stays = WalDirectory(D1, 1, timestamp(1))
    return with_snapshot(made, membership=replace(first, wal_directories=(*first.wal_directories, stays)))


def rewound(made: GeneratedCapture, night: int) -> GeneratedCapture:
    """Restores the table after the first night, so that peer 1 needs the first WAL again."""
    return with_cells(made, row(f"1-{H1}", group(H1), wal(H1, 1), 0)) if night else made


def cleaner(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    name = f"{group(H2)}.meta.{timestamp(1)}.meta"
    return with_files(made, ArchivedFile(f"oldWALs/{name}", 1024, timestamp(2)))


def stalled(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    return with_cells(made, row(f"1-{H1}", group(H1), wal(H1, 4), 3))


def growth(made: GeneratedCapture, night: int) -> GeneratedCapture:
    return with_files(made, archived(H1, 3, 4 + night * GIB))


def missing(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    return with_cells(made, row(f"1-{H1}", group(H1), f"{group(H1)}.{timestamp(3) + 1}", 0))


def beyond(made: GeneratedCapture, night: int) -> GeneratedCapture:
    return with_cells(made, row(f"1-{H1}", group(H1), wal(H1, 4), 9 + night))


def moved(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    """Lets a server leave during the capture, so that the missing queue of the dead server proves nothing."""
    second = made.snapshot.membership_2
    assert second is not None
    return with_snapshot(made, membership_2=replace(second, online=frozenset({H1})))


def nothing(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    """Makes every file younger than its time to live, so that nothing is deletable."""
    return with_snapshot(made, retention=Retention(365 * DAY_MS, 365 * DAY_MS, 365 * DAY_MS))


def same(made: GeneratedCapture, _night: int) -> GeneratedCapture:
    return made


CLUSTERS: Mapping[str, Night] = {
    "healthy": same,
    "orphan": orphan,
    "dead-owner": orphan_of_a_dead_owner,
    "duplicate": duplicate,
    "poison": poison,
    "acknowledged": acknowledged,
    "leaked": leaked,
    "leftover": leftover,
    "rewound": rewound,
    "cleaner": cleaner,
    "stalled": stalled,
    "growth": growth,
    "missing": missing,
    "beyond": beyond,
    "moved": moved,
    "nothing": nothing,
    "mutant-rule": same,
    "mutant-cleaner": same,
}
CONFIG = parse_config(
    """
    findings:
      stalled_nights: 3
      growth_nights: 3
      growth_min_bytes: 1GiB
      acknowledged:
        - {key: "POISON_FILE:oldWALs/known", reason: "restored on purpose, soon gone", until: 2027-01-31}
    """,
    "test.yaml",
)


def findings(outcome: JobResult, cluster: str) -> dict[str, dict[str, Any]]:
    return {one["key"]: one for one in clusters_of(outcome)[cluster]["findings"]}
