"""Small clusters for the rules of audit-queues: servers a to e, named by the first letter of their host."""

from collections.abc import Sequence
from dataclasses import replace

from pipelines.hbase.replication_queues import QueueId
from pipelines.hbase.server_names import ServerName
from pipelines.lake.run_summary import RunKey
from pipelines.queues.audit.classify import audit_rows
from pipelines.queues.audit.observed_cluster import Backlog, ObservedCluster, ObservedQueue, ObservedServers
from pipelines.queues.audit.rows import AuditRow
from pipelines.queues.audit.storages import IN_TABLE

AT = 1_790_000_000_000
MINUTE, HOUR = 60_000, 3_600_000
A, B, C, D, E = (ServerName(f"{host}.example.org", 16020, 1_789_000_000_000) for host in "abcde")
KEY = RunKey.of("c", "r-queues", AT)


def servers(online: str = "ab", crashing: str = "", directories: str = "", at: int = AT) -> ObservedServers:
    """Returns servers that are named by the first letter of their host."""
    every = {server.host[0]: server for server in (A, B, C, D, E)}
    return ObservedServers(
        at,
        frozenset(every[one] for one in online),
        frozenset(every[one] for one in crashing),
        frozenset(every[one] for one in directories),
    )


def queue(row: str, size: int = 0, **fields_: object) -> ObservedQueue:
    """Returns a queue in the table from a short row key, such as `1-a/b`."""
    peer, _, names = row.partition("-")
    owner, _, source = names.partition("/")
    every = {server.host[0]: server for server in (A, B, C, D, E)}
    key = QueueId(peer, every[owner], every[source] if source else None)
    backlog = Backlog(files=bool(size), bytes=size, oldest=AT - HOUR if size else None)
    return replace(
        ObservedQueue(str(key), key, (every[source],) if source else (), backlog),
        **fields_,  # type: ignore[arg-type]
    )


def cluster(*queues: ObservedQueue, who: ObservedServers | None = None, **fields_: object) -> ObservedCluster:
    """An HBase 3 with two peers, of which 2 is disabled; a and b are online."""
    plain = ObservedCluster("c", IN_TABLE, "3.0.0", {"1": "ENABLED", "2": "DISABLED"}, who or servers(), queues)
    return replace(plain, **fields_)  # type: ignore[arg-type]


def classes(found: Sequence[AuditRow]) -> dict[str, tuple[str, ...]]:
    """Returns all classes of each queue."""
    return {row.queue: row.classes for row in found}


def only(picture: ObservedCluster) -> AuditRow:
    """Returns the only row of the cluster's audit."""
    (row,) = audit_rows(picture)
    return row
