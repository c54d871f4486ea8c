"""Parses the data that HBase keeps in the znodes of replication.

`tests/golden/hbase/zk.tsv` records the answers of HBase's classes.
"""

from collections.abc import Iterable, Mapping

from pipelines.common.errors import MalformedError
from pipelines.hbase.peer_rules import DEFAULT_NAMESPACE, PeerRule, Tables, table_name
from pipelines.hbase.peers import SYNC_REPLICATION_STATES, Peer
from pipelines.hbase.protobuf_wire import signed_int64
from pipelines.hbase.zookeeper.wire import (
    MAGIC,
    Value,
    fields_by_number,
    last_number,
    last_text,
    without_metadata,
)

SYNC_STATE = "sync-rep-state"
PEER_CHILDREN = ("peer-state", SYNC_STATE, "tableCFs")
"""The children of a peer's znode: its states, and the tables that an HBase before 1.4 limits it to."""
_LONG = 8
_ENABLED = MAGIC + b"\x08\x00"


def parse_position(data: bytes | None) -> int:
    """Parses a position in a WAL, or a last pushed sequence id (`ZKUtil.parseWALPositionFrom`).

    It reads exactly as HBase does: no bytes mean 0; after the magic comes a message; otherwise the first eight bytes
    are a big-endian number, even if they are digits.

    Raises:
        MalformedError: HBase throws.
    """
    if data is None:
        raise MalformedError("a WAL position without data")
    if data.startswith(MAGIC):
        position = last_number(fields_by_number(data[len(MAGIC) :]), 1)
        if position is None:
            raise MalformedError("a WAL position (protobuf) without its field `position`")
        return signed_int64(position)
    if not data:
        return 0
    if len(data) < _LONG:
        raise MalformedError(f"a WAL position of {len(data)} bytes: {data!r}")
    return int.from_bytes(data[:_LONG], "big", signed=True)


def parse_peer_state(data: bytes | None) -> str:
    """Parses `peer-state`: ENABLED only if the bytes match exactly (`ZKReplicationPeerStorage.isPeerEnabled`)."""
    return "ENABLED" if data == _ENABLED else "DISABLED"


def parse_sync_state(data: bytes) -> str:
    """Parses `sync-rep-state` or `new-sync-rep-state` of HBase 3 (`SyncReplicationState.parseFrom`).

    Raises:
        MalformedError: HBase throws.
    """
    if not data.startswith(MAGIC):
        raise MalformedError(f"a synchronous replication state without the magic: {data[:80]!r}")
    state = last_number(fields_by_number(data[len(MAGIC) :]), 1)
    if state is None or not 0 <= state < len(SYNC_REPLICATION_STATES):
        raise MalformedError(f"not a synchronous replication state: {state}")
    return SYNC_REPLICATION_STATES[state]


def parse_lock_owner(data: bytes) -> str | None:
    """Returns the owner in `rs/<server>/lock` (`ReplicationLock`, HBase 1.x without multi).

    None if the lock names no owner.
    """
    if not data.startswith(MAGIC):
        return None
    try:
        return last_text(fields_by_number(data[len(MAGIC) :]), 1)
    except MalformedError:
        return None


def parse_peer(
    peer_id: str,
    data: bytes,
    state: bytes | None,
    sync_state: bytes | None = None,
    table_cfs: bytes | None = None,
) -> Peer:
    """Parses a peer from `peers/<id>` (`ReplicationPeerConfigUtil.parsePeerFrom`); text without magic is a cluster key.

    Which tables a peer takes changes no verdict: every WAL in a queue is held, for whatever the peer wants of it. It
    matters for what `inspect-wals` counts, and for the tables that show it.

    Args:
        peer_id: the name of the znode.
        data: the data of the znode.
        state: the data of its child `peer-state`; None = there is no such znode, which HBase 2 reads as disabled.
        sync_state: the data of `sync-rep-state`; None = there is no such znode, as always before HBase 3.
        table_cfs: the data of `tableCFs`, which only an HBase before 1.4 reads; None = there is no such znode.

    Returns:
        The peer; `replicate_all` is None if the peer names tables, but not whether it takes all others, too. HBase 1
        writes this, and sends it only the named tables; HBase 2 reads the same znode as a peer that takes all.

    Raises:
        MalformedError: HBase throws.
    """
    enabled = parse_peer_state(state)
    sync = None if sync_state is None else parse_sync_state(sync_state)
    if not data.startswith(MAGIC):
        try:
            key = data.decode("utf-8")
        except UnicodeDecodeError:
            raise MalformedError(f"peer {peer_id}: its cluster key is not UTF-8") from None
        everything = None if table_cfs else True
        return Peer(peer_id, enabled, key, serial=False, replicate_all=everything, sync_replication_state=sync)
    try:
        fields = fields_by_number(data[len(MAGIC) :])
        return Peer(
            peer_id=peer_id,
            state=enabled,
            cluster_key=last_text(fields, 1),
            endpoint=last_text(fields, 2),
            serial=bool(last_number(fields, 11)),
            replicate_all=_replicates_all(fields, table_cfs),
            sync_replication_state=sync,
            remote_wal_dir=last_text(fields, 12),
            config=_configuration(fields),
            rule=_rule(fields),
        )
    except MalformedError as error:
        raise MalformedError(f"peer {peer_id}: {error}") from None


def parse_peers(parent: str, znodes: Mapping[str, bytes]) -> tuple[Peer, ...]:
    """Parses all peers (`ZKReplicationPeerStorage`).

    Args:
        parent: the path of the znode `peers`.
        znodes: the data, with HBase's metadata, by path: each peer and those of `PEER_CHILDREN` that it has. Children
            without their peer do not count: the peer was removed meanwhile.

    Raises:
        MalformedError: HBase throws.
    """
    plain = {path: without_metadata(data) for path, data in znodes.items()}
    return tuple(
        parse_peer(name, data, *(plain.get(f"{path}/{child}") for child in PEER_CHILDREN))
        for path, data in plain.items()
        for above, _, name in [path.rpartition("/")]
        if above == parent
    )


def parse_cluster_id(data: bytes) -> str | None:
    """Returns the id in the znode `hbaseid`; None if no HBase from 0.96 on writes this form."""
    try:
        plain = without_metadata(data)
        return last_text(fields_by_number(plain[len(MAGIC) :]), 1) if plain.startswith(MAGIC) else None
    except MalformedError:
        return None


def _replicates_all(fields: Mapping[int, tuple[Value, ...]], table_cfs: bytes | None) -> bool | None:
    """See `parse_peer`. HBase 2's builder takes all tables if the field is absent; HBase 1 never writes the field.

    Field 6 is text, a namespace, in HBase 2; in HBase 1 it is a number, the bandwidth.
    """
    said = last_number(fields, 8)
    if said is not None:
        return bool(said)
    return None if fields.get(5) or _texts(fields, 6) or table_cfs else True


def _configuration(fields: Mapping[int, tuple[Value, ...]]) -> dict[str, str]:
    found = {}
    for pair in fields.get(4, ()):
        if isinstance(pair, bytes):
            names = fields_by_number(pair)
            found[last_text(names, 1) or ""] = last_text(names, 2) or ""
    return found


def _rule(fields: Mapping[int, tuple[Value, ...]]) -> PeerRule:
    return PeerRule(
        namespaces=frozenset(_texts(fields, 6)),
        tables=_tables(fields.get(5, ())),
        exclude_namespaces=frozenset(_texts(fields, 10)),
        exclude_tables=_tables(fields.get(9, ())),
    )


def _tables(values: Iterable[Value]) -> Tables:
    """Parses `TableCF` messages: a `TableName` of namespace and qualifier, and families; none means all families."""
    found = {}
    for value in values:
        table = fields_by_number(value) if isinstance(value, bytes) else {}
        name = next((fields_by_number(one) for one in table.get(1, ()) if isinstance(one, bytes)), {})
        whole = f"{last_text(name, 1) or DEFAULT_NAMESPACE}:{last_text(name, 2) or ''}"
        found[table_name(whole)] = tuple(sorted(_texts(table, 2)))
    return found


def _texts(fields: Mapping[int, tuple[Value, ...]], field: int) -> list[str]:
    """Returns every text of a repeated field."""
    return [last_text({field: (value,)}, field) or "" for value in fields.get(field, ()) if isinstance(value, bytes)]
