"""Words that all answers of explain share."""

from typing import Any

from pipelines.common.human import human_bytes, human_count

Json = dict[str, Any]


def peer_name(one: Json) -> str:
    """Returns the peer, with its state unless that is ENABLED."""
    state = one["peer_state"]
    return f"peer {one['peer_id']}" + (f" ({state})" if state and state != "ENABLED" else "")


def size(row: Json) -> str:
    """Returns bytes and files in two columns."""
    return f"{human_bytes(row['bytes']):>10}  {human_count(row['files'], 'file'):>14}"


def frees(size: int, remedy: str | None) -> str:
    """Returns how many bytes become free if a peer needs its WALs no more, and what to do for that."""
    return f"frees {human_bytes(size)}: {remedy or 'see the findings'}" if size else "frees nothing alone"


def queue_name(row: Json) -> str:
    """Returns the queue by its owner, and by the source of its WALs if it was claimed."""
    if row["owner"] is None:
        return f"no queue yet for {row['source']}"
    return f"queue of {row['owner']}" + (f", claimed from {row['source']}" if row["owner"] != row["source"] else "")


def minute(instant: str) -> str:
    """Returns an instant of a JSON answer to the minute."""
    return f"{instant[:10]} {instant[11:16]} UTC"
