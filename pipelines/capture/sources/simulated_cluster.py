"""Plays a live cluster from a directory: its files are real, and two more files contain what HBase would answer.

    <directory>/hbase/oldWALs/…    files with their names, lengths and times
    <directory>/state.json         a snapshot.json: peers, membership, flags, configuration; its steps are ignored
    <directory>/queues.jsonl       cells of hbase:replication, as in a snapshot's queues-1.jsonl, then `N row(s)`

For the demo, for trying a whole night with its clean-up on a laptop, and for tests. The files are read anew at each
step, so a cluster can change while it is captured; the clock stamps the steps as it does those of a real cluster.
"""

from collections.abc import Iterator
from pathlib import Path

from pipelines.capture.ports import ClusterSettings, LiveSource
from pipelines.capture.sources.saved_scans import complete_scan, parse_cell
from pipelines.common.errors import SnapshotError, UnavailableError
from pipelines.common.strict_json import read_json
from pipelines.hbase.known_servers import KnownServers
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.backup import BackupSession
from pipelines.snapshot.barriers import RegionBarriers
from pipelines.snapshot.model import MasterFlags, Membership, Snapshot
from pipelines.snapshot.snapshot_json import parse_snapshot

STATE, QUEUES = "state.json", "queues.jsonl"


class SimulatedQueues(LiveSource):
    """Reads `queues.jsonl` as a `QueueSource`."""

    def __init__(self, directory: str) -> None:
        self._file = Path(directory) / QUEUES

    def cells(self, _step: str) -> Iterator[Cell]:
        """See `QueueSource.cells`."""
        lines = enumerate(_text(self._file).splitlines(), start=1)
        return complete_scan(lines, str(self._file), parse_cell, "write all rows, and their count as the last line")


class SimulatedState(LiveSource):
    """Reads `state.json` as a `StateSource`."""

    def __init__(self, directory: str) -> None:
        self._file = Path(directory) / STATE

    def settings(self) -> ClusterSettings:
        """See `StateSource.settings`."""
        state = self._state()
        return ClusterSettings(
            state.cluster_id,
            state.hbase_version,
            state.retention,
            state.log_cleaner_plugins,
            state.backup,
        )

    def active_master(self, _step: str) -> str:
        """See `StateSource.active_master`."""
        return self._membership().active_master or ""

    def servers(self, _step: str) -> KnownServers:
        """See `StateSource.servers`. No server of a simulated cluster is dead."""
        return KnownServers(self._membership().online, frozenset())

    def crashing(self, _step: str) -> frozenset[ServerName]:
        """See `StateSource.crashing`."""
        return self._membership().crashing

    def peers(self) -> tuple[Peer, ...]:
        """See `StateSource.peers`."""
        return self._state().peers

    def has_backup_table(self) -> bool | None:
        """See `PeerSource.has_backup_table`. Returns None: only `state.json` can say whether backup is on."""
        return None

    def backups(self) -> tuple[BackupSession, ...] | None:
        """See `PeerSource.backups`. Returns None: no other file says more than `state.json`."""
        return None

    def barriers(self) -> tuple[RegionBarriers, ...] | None:
        """See `PeerSource.barriers`. Returns None, as `backups`."""
        return None

    def flags(self, _step: str) -> MasterFlags:
        """See `StateSource.flags`."""
        flags = self._state().flags
        if flags is None:
            raise UnavailableError(f"{self._file} has no flags")
        return flags

    def _membership(self) -> Membership:
        membership = self._state().membership
        if membership is None or not membership.active_master:
            raise UnavailableError(f"{self._file} has no active master")
        return membership

    def _state(self) -> Snapshot:
        try:
            document = read_json(_text(self._file), str(self._file))
        except SnapshotError as error:
            raise UnavailableError(f"{error}; write it again") from error
        return parse_snapshot(document)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnavailableError(f"the simulated cluster cannot be read: {error}") from error
