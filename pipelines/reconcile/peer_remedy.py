"""The remedies for a peer that holds WALs, with what they cost."""

from pipelines.common.human import human_bytes


def remove_peer(peer_id: str, size: int) -> str:
    """Returns the text that proposes `remove_peer`; no other text proposes it.

    Args:
        peer_id: the peer.
        size: bytes below oldWALs that it holds, alone or with others.
    """
    return (
        f"remove_peer '{peer_id}', which gives up everything not yet shipped to it: {human_bytes(size)} of WALs below "
        "oldWALs, and what is still below WALs/"
    )


def disabled_peer(peer_id: str, size: int) -> str:
    """Returns how to free the WALs of a disabled peer; see `remove_peer`."""
    return f"enable_peer '{peer_id}' to ship; or, if its cluster is gone, {remove_peer(peer_id, size)}"
