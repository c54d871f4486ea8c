"""Directories below `remoteWALs/` (`ReplicationUtils`, `SyncReplicationReplayWALManager`).

The ACTIVE cluster writes a second copy of each WAL to `remoteWALs/<peer>` of the STANDBY cluster. When the STANDBY
cluster takes over, HBase renames that directory to `<peer>-replay`, replays it, truncates each file to length 0 when it
is done, and then keeps the directory as `<peer>-snapshot`. Nothing here is ever a candidate for deletion.
"""

from dataclasses import dataclass
from enum import StrEnum

from pipelines.hbase.wal_root import REMOTE_WALS

UNFINISHED_SUFFIX = ".syncrep.ren"
"""Suffix of a copy of which HBase does not know yet whether all of it arrived."""


class RemoteKind(StrEnum):
    """The use that HBase makes of a directory."""

    REMOTE = "REMOTE"
    """`<peer>`: copies that the ACTIVE cluster writes."""
    REPLAY = "REPLAY"
    """`<peer>-replay`: HBase is replaying it."""
    SNAPSHOT = "SNAPSHOT"
    """`<peer>-snapshot`: the source of the last replay."""


_SUFFIXES = {"-replay": RemoteKind.REPLAY, "-snapshot": RemoteKind.SNAPSHOT}


@dataclass(frozen=True, slots=True)
class RemoteDirectory:
    """The files of one directory below `remoteWALs/`, its sub-directories included.

    Attributes:
        name: name of the directory; empty for files directly in `remoteWALs/`.
        files: number of files.
        bytes: total length.
        empty_files: files of length 0: replayed, or being written.
        unfinished_files: files with the suffix `.syncrep.ren`.
        oldest_modification: of the files that are not empty, ms since the epoch; None = there is none.
        newest_modification: of all files, ms since the epoch.
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
        """The kind according to the name; no peer id contains a `-`."""
        return next((kind for suffix, kind in _SUFFIXES.items() if self.name.endswith(suffix)), RemoteKind.REMOTE)

    @property
    def peer_id(self) -> str:
        """The peer that the directory is named after."""
        for suffix in _SUFFIXES:
            if self.name.endswith(suffix):
                return self.name.removesuffix(suffix)
        return self.name

    @property
    def path(self) -> str:
        """The path relative to wal_root."""
        return f"{REMOTE_WALS}/{self.name}" if self.name else REMOTE_WALS

    def row(self) -> dict[str, object]:
        """Returns its columns of `remote_wals`."""
        return {
            "directory": self.path,
            "peer_id": self.peer_id,
            "kind": self.kind.value,
            "files": self.files,
            "bytes": self.bytes,
            "empty_files": self.empty_files,
            "unfinished_files": self.unfinished_files,
            "oldest_modification": self.oldest_modification,
            "newest_modification": self.newest_modification,
        }
