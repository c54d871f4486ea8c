"""Directories below `remoteWALs/` (`ReplicationUtils`, `SyncReplicationReplayWALManager`).

On a STANDBY cluster the ACTIVE one writes a second copy of each WAL to `remoteWALs/<peer>`. When the STANDBY cluster
takes over, that directory is renamed to `<peer>-replay`, replayed, each file cut to nothing when done, and then kept as
`<peer>-snapshot`. Nothing here is ever a candidate for deletion.
"""

from dataclasses import dataclass
from enum import Enum

REMOTE_WALS = "remoteWALs"
UNFINISHED_SUFFIX = ".syncrep.ren"
"""A copy of which HBase does not know yet whether all of it arrived."""


class RemoteKind(str, Enum):
    """What HBase uses a directory for."""

    REMOTE = "REMOTE"
    """`<peer>`: copies that the ACTIVE cluster writes."""
    REPLAY = "REPLAY"
    """`<peer>-replay`: being replayed."""
    SNAPSHOT = "SNAPSHOT"
    """`<peer>-snapshot`: what the last replay was made of."""


_SUFFIXES = {"-replay": RemoteKind.REPLAY, "-snapshot": RemoteKind.SNAPSHOT}


@dataclass(frozen=True, slots=True)
class RemoteDirectory:
    """Files of one directory below `remoteWALs/`, its sub-directories included.

    Attributes:
        name: of the directory; empty for files that lie in `remoteWALs/` itself.
        files: all of them.
        bytes: their lengths.
        empty_files: of length 0: a replayed file, or one that is being written.
        unfinished_files: with the suffix `.syncrep.ren`.
        oldest_modification: of a file that is not empty, ms since the epoch; None = there is none.
        newest_modification: of any file, ms since the epoch.
    """

    name: str
    files: int
    bytes: int
    empty_files: int
    unfinished_files: int
    oldest_modification: int | None
    newest_modification: int | None

    @property
    def kind(self) -> RemoteKind:
        """By its name; no id of a peer holds a `-`."""
        return next((kind for suffix, kind in _SUFFIXES.items() if self.name.endswith(suffix)), RemoteKind.REMOTE)

    @property
    def peer_id(self) -> str:
        """The peer it is named after."""
        for suffix in _SUFFIXES:
            if self.name.endswith(suffix):
                return self.name.removesuffix(suffix)
        return self.name

    @property
    def path(self) -> str:
        """Relative to wal_root."""
        return f"{REMOTE_WALS}/{self.name}" if self.name else REMOTE_WALS
