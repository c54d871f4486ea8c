"""The words of an audit: what a queue can be, and what its owner is."""

from enum import Enum


class QueueClass(str, Enum):
    """What a queue is; the first that applies is the queue's class, the others stand beside it."""

    UNDELETED_PEER = "UNDELETED_PEER"
    """Its peer does not exist: nobody will ever ship it."""
    LOST_WALS = "LOST_WALS"
    """A WAL that it is to read is nowhere, and neither is any after it."""
    MISSING_WAL = "MISSING_WAL"
    """A WAL that it is to read is nowhere, later ones are: replication cannot go on."""
    SUSPECT = "SUSPECT"
    """It was claimed from a server that is online: a false death, and both may ship."""
    DUPLICATE = "DUPLICATE"
    """Another queue of the peer reads the WALs of the same server."""
    STALE_LOCK = "STALE_LOCK"
    """No queue, but a lock that a server left when it died in the middle of a claim (HBASE-16144)."""
    CLAIM_LOCK = "CLAIM_LOCK"
    """No queue, but a lock: a live server is copying the queues beside it (HBase 1.x)."""
    ORPHAN = "ORPHAN"
    """Its owner is fully dead, and nothing is under way that would have it claimed."""
    IN_FAILOVER = "IN_FAILOVER"
    """Its owner died, and its crash is still being processed."""
    UNPROVEN = "UNPROVEN"
    """The snapshot does not say which servers are online."""
    EMPTY_REPLICATOR = "EMPTY_REPLICATOR"
    """No queue: a dead server's znode without any."""
    FINISHED = "FINISHED"
    """A claimed queue with nothing left to ship; its owner removes it."""
    RECOVERED = "RECOVERED"
    """Claimed from a dead server, by one that is online."""
    NORMAL = "NORMAL"
    """Of a server that is online, for its own WALs."""


NO_QUEUE = (QueueClass.STALE_LOCK, QueueClass.CLAIM_LOCK, QueueClass.EMPTY_REPLICATOR)
"""Classes of znodes that are no queues."""
AS_IT_SHOULD_BE = (QueueClass.NORMAL, QueueClass.RECOVERED, QueueClass.FINISHED, QueueClass.CLAIM_LOCK)
"""Classes with which nothing is wrong."""


class OwnerState(str, Enum):
    """What a snapshot says of a server."""

    ONLINE = "ONLINE"
    CRASHING = "CRASHING"
    """Its crash procedure is unfinished."""
    DIRECTORY = "DIRECTORY"
    """Neither online nor known to crash, but `WALs/<server>` or its `-splitting` stands."""
    RECENT = "RECENT"
    """Dead, and its WALs were archived so lately that its queues may just be on their way."""
    DEAD = "DEAD"
    """Fully dead: none of the above."""
    UNKNOWN = "UNKNOWN"
    """Nobody read which servers are online."""


DYING = (OwnerState.CRASHING, OwnerState.DIRECTORY, OwnerState.RECENT)
"""Not online any more, and not fully dead yet."""
