"""The answers of explain for a peer and for a server."""

from collections.abc import Collection, Mapping, Sequence

from pipelines.common.instants import format_instant
from pipelines.decide.reason_texts import REASON_TEXTS
from pipelines.lake.query import literal
from pipelines.lake.reader import LakeReader
from pipelines.lake.run_summary import HELD, PinnedRow, RunKey
from pipelines.reconcile.compared_nights import nights_of_holders
from pipelines.reconcile.explain.runs import NIGHTS, AnsweringRun, first_names, one_of
from pipelines.reconcile.explain.words import Json
from pipelines.reconcile.past import PastPeer
from schemas.peers import PEERS

NEXT_WALS = 10


def explain_peer(peer_id: str, runs: dict[str, AnsweringRun], lake: LakeReader) -> Json:
    """Returns what the peer holds, its queues by bytes, the WALs it waits for, and its trend.

    Raises:
        UsageError: there is no such peer, or several clusters have it.
    """
    keys = [run.record.key for run in runs.values()]
    all_pinned, all_queues = lake.pinned(keys), lake.queues(keys)
    having = sorted(
        {name for name, rows in all_pinned.items() if any(row.peer_id == peer_id for row in rows)}
        | {name for name, rows in all_queues.items() if any(row.peer_id == peer_id for row in rows)}
    )
    known = sorted({row.peer_id for rows in all_queues.values() for row in rows})
    cluster = one_of(
        f"peer {peer_id}",
        having,
        f"peer {peer_id} neither holds a file nor has a queue in the newest run of {first_names(sorted(runs))}"
        + (f"; peers with queues: {first_names(known)}" if known else ""),
    )
    run, pinned = runs[cluster], all_pinned.get(cluster, ())
    mine = [row for row in pinned if row.peer_id == peer_id]
    queues = [row for row in all_queues.get(cluster, ()) if row.peer_id == peer_id]
    total = next((row for row in mine if row.level == "peer"), None)
    history = lake.histories({cluster: run.record.night}, NIGHTS)[cluster]
    held = {one.files_started_ms: one.bytes for one in history.by_peer if one.group == peer_id}
    held[run.record.night] = total.bytes if total else 0
    return {
        **run.json(),
        "peer_id": peer_id,
        "exists": any(row.peer_exists for row in queues) if queues else True,
        **pin(total),
        **_state(total, peer_states(peer_id, [run.record.key], lake).get(run.record.key)),
        "queues": [
            {"owner": row.owner, "source": row.source, **pin(row)}
            for row in sorted(
                (row for row in mine if row.level == "queue"), key=lambda row: (-row.bytes, str(row.owner))
            )
        ],
        "next_wals": [
            {"path": file.path, "bytes": file.length, "timestamp": file.wal_timestamp}
            for file in lake.waiting(run.record.key, peer_id, NEXT_WALS)
        ],
        "trend": [
            {"listed_at": format_instant(night), "bytes": held.get(night, 0)}
            for night in (*nights_of_holders(history), run.record.night)
        ],
    }


def peer_states(peer_id: str, runs: Collection[RunKey], lake: LakeReader) -> Mapping[RunKey, PastPeer]:
    """Returns the state of a peer in each run; none if the peer was not there, or an older walsafe wrote the run."""
    found = lake.by_run(PEERS, runs, PastPeer, f"peer_id = {literal(peer_id)}") if lake.has(PEERS) else {}
    return {run: rows[0] for run, rows in found.items()}


def state_of(held: PinnedRow | None, peer: PastPeer | None) -> str | None:
    """Returns the state of a peer: an older walsafe recorded only that of a peer that holds files."""
    return peer.state if peer else held.peer_state if held else None


def _state(held: PinnedRow | None, peer: PastPeer | None) -> Json:
    return {
        "peer_state": state_of(held, peer),
        "state_since": format_instant(peer.state_since) if peer else None,
        "state_nights": peer.nights if peer else None,
    }


def explain_server(name: str, runs: dict[str, AnsweringRun], lake: LakeReader) -> Json:
    """Returns the server's files by reason, with what frees them, and the queues that hold them.

    Raises:
        UsageError: there is no such server, or several match.
    """
    cluster, server = find_server(name, [run.record.key for run in runs.values()], lake)
    run = runs[cluster]
    mine = [row for row in lake.pinned([run.record.key]).get(cluster, ()) if row.level == "queue"]
    return {
        **run.json(),
        "server": server,
        "files": [
            {
                "verdict": row.verdict,
                "reason": row.reason,
                "files": row.files,
                "bytes": row.bytes,
                "way_out": way_out(row.verdict, row.reason),
            }
            for row in lake.server_totals(run.record.key, server)
        ],
        "holders": [
            pinned_holder(row) for row in sorted(mine, key=lambda row: -row.bytes) if server in (row.owner, row.source)
        ],
    }


def find_server(
    name: str, runs: Collection[RunKey], lake: LakeReader, earlier: Collection[RunKey] = (), doubt: str = ""
) -> tuple[str, str]:
    """Returns the (cluster, server) that a name means; of those that fit best, a server of `runs` goes first.

    Args:
        name: any part of the server's name.
        runs: the newest run of each cluster.
        lake: reads the tables.
        earlier: runs whose servers may be meant, too.
        doubt: ends the message that there is no such server.

    Raises:
        UsageError: there is no such server, or several match.
    """
    newest = lake.servers(runs, name)
    fitting = best_fits(name, sorted({*newest, *(lake.servers(earlier, name) if earlier else ())}))
    found = [one for one in fitting if one in newest] or fitting
    labels = [f"{server} of {cluster}" for cluster, server in found]
    clusters = first_names(sorted({run.cluster for run in runs}))
    where = f"the newest run of {clusters}" + "".join(f" and in run {run.run_id}" for run in earlier)
    chosen = one_of(
        f"server {name} ({len(labels)} fit)",
        labels,
        f"server {name}: no queue and no file below oldWALs in {where}; write any part of host,port,startcode{doubt}",
    )
    return found[labels.index(chosen)]


def best_fits(name: str, found: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns the (cluster, server) pairs that a name fits best.

    These are the servers of that name, host, or host and port; else those whose host without its domain it is; else
    those that begin with it; else all.
    """
    for start in (f"{name},".lower(), f"{name}.".lower(), name.lower()):
        fitting = [pair for pair in found if f"{pair[1]},".lower().startswith(start)]
        if fitting:
            return fitting
    return list(found)


def way_out(verdict: str, reason: str) -> str:
    """Returns what frees a file with this verdict; empty if nobody need do anything, or a newer walsafe gave it."""
    return REASON_TEXTS[reason].way_out if verdict == HELD and reason in REASON_TEXTS else ""


def pinned_holder(row: PinnedRow) -> Json:
    """Returns what a row of `pinned_bytes` says, with its holder."""
    return {"peer_id": row.peer_id, "owner": row.owner, "source": row.source, **pin(row)}


def pin(row: PinnedRow | None) -> Json:
    """Returns what a row of `pinned_bytes` says, without its holder; None = nothing is held."""
    return {
        "peer_state": row.peer_state if row else None,
        "files": row.files if row else 0,
        "bytes": row.bytes if row else 0,
        "exclusive_bytes": row.exclusive_bytes if row else 0,
        "joint_bytes": row.joint_bytes if row else 0,
        "frees_files": row.freed_files if row else 0,
        "frees_bytes": row.freed_bytes if row else 0,
        "oldest_age_ms": row.oldest_age_ms if row else None,
        "remedy": row.remedy if row else None,
    }
