"""Findings that compare with earlier nights."""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pipelines.common.human import human_bytes
from pipelines.common.instants import utc_day
from pipelines.lake.findings import ERROR, WARNING, finding
from pipelines.lake.look_back import last_of_each_night
from pipelines.lake.run_summary import FindingRow, QueueGroup, QueueOffsetRow, queue_group, smallest_needs
from pipelines.reconcile.findings.evidence import Evidence
from pipelines.reconcile.findings.storage_words import storage_words
from pipelines.reconcile.past import PastNight, PastOffset

REWOUND = "QUEUE_TABLE_REWOUND"


def rewound(evidence: Evidence) -> Iterator[FindingRow]:
    """Yields QUEUE_TABLE_REWOUND for queues behind their furthest known position, until they catch up or are gone.

    A queue that went back since the last night is always reported. A queue that went back earlier is not reported again
    if its row costs nothing: see `_costs_nothing`.
    """
    if not evidence.past:
        return
    words, last = storage_words(evidence.view), evidence.past[0].offsets
    for key, row in sorted(smallest_needs(evidence.queues).items()):
        stood = _furthest(key, evidence.past)
        if stood is None or not _is_behind(row, stood):
            continue
        went_back_now = key in last and _is_behind(row, last[key])
        if not went_back_now and _costs_nothing(row, stood, evidence):
            continue
        peer, source, group = key
        yield finding(
            "QUEUE_TABLE_REWOUND",
            ERROR,
            f"{peer}/{source}/{group}",
            f"Peer {peer} stood at {stood.wal}:{stood.offset}, and is back at {row.wal}:{row.offset}.",
            f"{words.restored}. WALs already deleted cannot be shipped again: clean and purge wait until the "
            "queue is back where it stood. Compare the tables with VerifyReplication.",
            peer_id=peer,
            server=source,
            before=f"{stood.wal}:{stood.offset}",
            now=f"{row.wal}:{row.offset}",
            stood={"need": stood.need, "wal": stood.wal, "offset": stood.offset},
        )


def _furthest(key: QueueGroup, past: Sequence[PastNight]) -> PastOffset | None:
    """Returns the furthest position of a queue on these nights, and on earlier ones that last night's finding keeps."""
    known = [night.offsets[key] for night in past if key in night.offsets]
    found = past[0].findings.get(f"{REWOUND}:{'/'.join(key)}")
    remembered = _remembered(found.evidence) if found and found.evidence else None
    known += [remembered] if remembered else []
    return max(known, key=lambda one: (one.need, one.wal or "", one.offset or 0), default=None)


def _remembered(evidence: str) -> PastOffset | None:
    stood = json.loads(evidence).get("stood")  # an older walsafe did not write it
    return None if stood is None else PastOffset(stood["need"], stood["wal"], stood["offset"], 0)


def _is_behind(row: QueueOffsetRow, past: PastOffset) -> bool:
    if row.need_timestamp is None:
        return False
    same_wal = row.wal == past.wal and row.offset is not None and past.offset is not None
    back = same_wal and 0 <= (row.offset or 0) < (past.offset or 0)
    return row.need_timestamp < past.need or back


def _costs_nothing(row: QueueOffsetRow, stood: PastOffset, evidence: Evidence) -> bool:
    """Whether a row that is behind only asks again for what was shipped, and does not hide the loss of another row.

    This is so if its peer does not exist. It is also so if a region server that was taken for dead wrote the row, and
    the row of the server that claimed the queue and continues with it exists too.
    """
    if not row.peer_exists:
        return True
    if not storage_words(evidence.view).dead_writers or row.owner in {str(server) for server in evidence.view.online}:
        return False
    return any(
        queue_group(other) == queue_group(row) and not _is_behind(other, stood)
        for other in evidence.queues
        if other.need_timestamp is not None
    )


def stalled(evidence: Evidence) -> Iterator[FindingRow]:
    """Yields QUEUE_STALLED for offsets that have not moved for `stalled_nights` nights while files wait.

    A peer that was disabled on one of these nights could not move; the night before has since when it is enabled.
    """
    nights = evidence.settings.stalled_nights
    before = _nights(evidence)
    if len(before) < nights:
        return
    first = before[nights - 1].files_started
    disabled = {peer.peer_id for peer in evidence.snapshot.peers if peer.state == "DISABLED"}
    last = evidence.past[0].peers.values()
    disabled |= {peer.peer_id for peer in last if peer.state == "DISABLED" or peer.state_since > first}
    for (peer, source, group), row in sorted(smallest_needs(evidence.queues).items()):
        if not row.pending_files or not row.peer_exists or peer in disabled:
            continue
        past = [night.offsets.get((peer, source, group)) for night in before[:nights]]
        if all(one and one.pending_files and (one.wal, one.offset) == (row.wal, row.offset) for one in past):
            yield finding(
                "QUEUE_STALLED",
                WARNING,
                f"{peer}/{source}/{group}",
                f"Peer {peer} has not moved from {row.wal}:{row.offset} for {nights} nights, with files waiting.",
                "Look at that server's log for the replication source (unreachable peer, zero-length WAL, serial gap).",
                peer_id=peer,
                server=row.owner,
                files=row.pending_files,
                size=row.pending_bytes,
                nights_looked_at=nights,
            )


def growth(evidence: Evidence) -> Iterator[FindingRow]:
    """Yields GROWTH for peers whose held bytes rose every night for `growth_nights`, `growth_min_bytes` in all."""
    nights = evidence.settings.growth_nights
    before = _nights(evidence)
    if len(before) < nights:
        return
    for row in evidence.pinned:
        if row.level != "peer":
            continue
        curve = [night.held_by_peer.get(row.peer_id, 0) for night in reversed(before[:nights])] + [row.bytes]
        rising = all(one < next_one for one, next_one in pairwise(curve))
        if rising and curve[-1] - curve[0] >= evidence.settings.growth_min_bytes:
            yield finding(
                "GROWTH",
                WARNING,
                row.peer_id,
                f"Bytes held for peer {row.peer_id} rose by {human_bytes(curve[-1] - curve[0])} in {nights} nights.",
                row.remedy or "",
                peer_id=row.peer_id,
                files=row.files,
                size=row.bytes,
                bytes_by_night=curve,
            )


def _nights(evidence: Evidence) -> list[PastNight]:
    """Returns the last run of each earlier date, newest first: a run by hand between two nights is no night."""
    today = utc_day(evidence.view.files_started)
    return last_of_each_night(evidence.past, lambda night: utc_day(night.files_started), today)
