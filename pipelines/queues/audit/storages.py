"""How HBase treats a queue in each storage, as far as an audit tells it."""

from dataclasses import dataclass

from pipelines.decide.rule.table_queue_storage import TABLE
from pipelines.decide.rule.zookeeper_queue_storage import ZOOKEEPER


@dataclass(frozen=True, slots=True)
class AuditedStorage:
    """One storage.

    Attributes:
        name: as in snapshot.json.
        place: where the queues are, for people.
        all_hops: whether a queue names every earlier owner, or only the first one.
        placeholders: whether a recovery writes a placeholder for each peer without a queue of the dead server.
        sync_up_marks: whether ReplicationSyncUp leaves a mark, with which the master removes the queues of a server.
        procedure_since: HBase version from which the master has queues claimed after a crash (HBASE-26029); None = in
            every version. Before, every region server looks for queues of dead servers itself, the last time at its
            own start.
        hbck2_since: HBase version from which HBCK2 repairs the queues, instead of `hbase hbck`; None = every version.
    """

    name: str
    place: str
    all_hops: bool
    placeholders: bool
    sync_up_marks: bool
    procedure_since: tuple[int, int] | None
    hbck2_since: tuple[int, int] | None

    def claims_by_procedure(self, hbase_version: str | None) -> bool | None:
        """Tell whether the master has queues claimed after a crash; None = unknown."""
        return _reaches(hbase_version, self.procedure_since)

    def repaired_by_hbck2(self, hbase_version: str | None) -> bool | None:
        """Tell whether HBCK2 repairs the queues; None = unknown."""
        return _reaches(hbase_version, self.hbck2_since)


def _reaches(hbase_version: str | None, since: tuple[int, int] | None) -> bool | None:
    """Tell whether a version is `since` or a later one; None = the version is unknown."""
    if since is None:
        return True
    parts = (hbase_version or "").split(".")
    if len(parts) < 2 or not all(part.isascii() and part.isdigit() for part in parts[:2]):
        return None
    return (int(parts[0]), int(parts[1])) >= since


IN_TABLE = AuditedStorage(
    TABLE.name,
    "hbase:replication",
    all_hops=False,
    placeholders=True,
    sync_up_marks=True,
    procedure_since=None,
    hbck2_since=None,
)
IN_ZOOKEEPER = AuditedStorage(
    ZOOKEEPER.name,
    "ZooKeeper",
    all_hops=True,
    placeholders=False,
    sync_up_marks=False,
    procedure_since=(2, 5),
    hbck2_since=(2, 0),
)
AUDITED_STORAGES = {storage.name: storage for storage in (IN_TABLE, IN_ZOOKEEPER)}
"""By name."""
