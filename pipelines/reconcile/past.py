"""Values of a cluster's earlier nights, for the findings that compare with them."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PastOffset:
    """The smallest need of one (peer, source server, group) over its queue rows on an earlier night."""

    need: int
    wal: str | None
    offset: int | None
    pending_files: int


@dataclass(frozen=True, slots=True)
class PastFinding:
    """A row of `findings` of the night before.

    Attributes:
        evidence: its JSON.
        first_seen: ms since the epoch.
        nights: consecutive nights up to that night.
    """

    key: str
    evidence: str
    first_seen: int
    nights: int


@dataclass(frozen=True, slots=True)
class PastPeer:
    """The state of one peer on the night before; `state_since` in ms since the epoch."""

    peer_id: str
    state: str
    state_since: int
    nights: int


@dataclass(frozen=True, slots=True)
class PastNight:
    """One earlier run that was DONE.

    Attributes:
        files_started: start of its step `files`, ms since the epoch.
        offsets: by (peer, source server, group).
        held_by_peer: bytes under oldWALs held by each peer, alone or with others.
        findings: by key; only for the newest earlier night.
        peers_seen: the peers that existed on any night of the look-back (`LOOK_BACK`).
        files: number of files under oldWALs.
        peers: rows of `peers` by peer; only for the newest earlier night.
    """

    run_id: str
    files_started: int
    offsets: Mapping[tuple[str, str, str], PastOffset] = field(default_factory=dict)
    held_by_peer: Mapping[str, int] = field(default_factory=dict)
    findings: Mapping[str, PastFinding] = field(default_factory=dict)
    peers_seen: frozenset[str] = frozenset()
    files: int = 0
    peers: Mapping[str, PastPeer] = field(default_factory=dict)
