"""Classes of queues and states of their owners."""

from enum import StrEnum


class QueueClass(StrEnum):
    """The class of a queue. If several apply, the first in this order is the class and `also` lists the others."""

    UNDELETED_PEER = "UNDELETED_PEER"
    """Its peer does not exist, so no server will ship it."""
    LOST_WALS = "LOST_WALS"
    """A WAL that it must read is missing, and the listing has no later one."""
    MISSING_WAL = "MISSING_WAL"
    """A WAL that it must read is missing, but later ones exist: replication cannot continue."""
    SUSPECT = "SUSPECT"
    """It was claimed from a server that is online: a false death, and both servers may ship."""
    DUPLICATE = "DUPLICATE"
    """Another queue of the peer reads the WALs of the same server."""
    STALE_LOCK = "STALE_LOCK"
    """Not a queue: a lock that a server left when it died in the middle of a claim (HBASE-16144)."""
    CLAIM_LOCK = "CLAIM_LOCK"
    """Not a queue: the lock of a live server that is copying the queues of this server (HBase 1.x)."""
    ORPHAN = "ORPHAN"
    """Its owner is fully dead, and nothing in progress will have it claimed."""
    IN_FAILOVER = "IN_FAILOVER"
    """Its owner died, and HBase is still processing the crash."""
    UNPROVEN = "UNPROVEN"
    """The snapshot does not say which servers are online."""
    EMPTY_REPLICATOR = "EMPTY_REPLICATOR"
    """Not a queue: the znode of a dead server that has no queues."""
    FINISHED = "FINISHED"
    """A claimed queue with nothing left to ship; its owner removes it."""
    RECOVERED = "RECOVERED"
    """An online server claimed it from a dead server."""
    NORMAL = "NORMAL"
    """Its owner is online and wrote its WALs."""


NO_QUEUE = (QueueClass.STALE_LOCK, QueueClass.CLAIM_LOCK, QueueClass.EMPTY_REPLICATOR)
"""Classes of znodes that are not queues."""
AS_IT_SHOULD_BE = (QueueClass.NORMAL, QueueClass.RECOVERED, QueueClass.FINISHED, QueueClass.CLAIM_LOCK)
"""Classes that need no attention."""


class OwnerState(StrEnum):
    """The state of a server in a snapshot."""

    ONLINE = "ONLINE"
    CRASHING = "CRASHING"
    """Its crash procedure has not finished."""
    DIRECTORY = "DIRECTORY"
    """Not online and not known to be crashing, but `WALs/<server>` or `WALs/<server>-splitting` exists."""
    RECENT = "RECENT"
    """Dead, but its WALs were archived so recently that its queues may still be about to be claimed."""
    DEAD = "DEAD"
    """Fully dead: none of the above."""
    UNKNOWN = "UNKNOWN"
    """The capture did not read which servers are online."""


DYING = (OwnerState.CRASHING, OwnerState.DIRECTORY, OwnerState.RECENT)
"""States of a server that is no longer online and not yet fully dead."""
