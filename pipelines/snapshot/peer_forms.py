"""A replication peer as snapshot.json and the export script write it."""

from typing import Annotated

from pydantic import ConfigDict, TypeAdapter

from pipelines.common.forms import Form, Many, Text, WrittenAs, one_of, read_value
from pipelines.hbase.peer_rules import RULE_KEY, PeerRule, Tables, table_name
from pipelines.hbase.peers import PEER_STATES, SYNC_REPLICATION_STATES, Peer


class _Rule(Form):
    namespaces: Many[str] | None = None
    tables: dict[str, Many[str]] | None = None
    exclude_namespaces: Many[str] | None = None
    exclude_tables: dict[str, Many[str]] | None = None


class _PeerFields(Form):
    peer_id: Text
    state: Annotated[str, one_of(PEER_STATES)]
    cluster_key: str | None = None
    endpoint: str | None = None
    serial: bool | None = None
    replicate_all: bool | None = None
    remote_wal_dir: str | None = None
    config: dict[str, str] | None = None


class _PeerForm(_PeerFields):
    sync_replication_state: Annotated[str, one_of(SYNC_REPLICATION_STATES)] | None = None


def _rule(form: _Rule) -> PeerRule:
    return PeerRule(
        namespaces=frozenset(form.namespaces or ()),
        tables=_tables(form.tables),
        exclude_namespaces=frozenset(form.exclude_namespaces or ()),
        exclude_tables=_tables(form.exclude_tables),
    )


def _tables(families: dict[str, tuple[str, ...]] | None) -> Tables:
    return {table_name(table): tuple(sorted(names)) for table, names in (families or {}).items()}


_PeerRule = Annotated[PeerRule, WrittenAs(_Rule, _rule)]
RULE: TypeAdapter[PeerRule] = TypeAdapter(_PeerRule)
"""The inverse of `pipelines.hbase.peer_rules.rule_document`."""


def _peer(form: _PeerForm) -> Peer:
    """Returns the peer; format 1 keeps its rule as a text in its configuration."""
    config = None if form.config is None else {key: text for key, text in form.config.items() if key != RULE_KEY}
    text = (form.config or {}).get(RULE_KEY)
    where = f"snapshot.json, peer {form.peer_id!r}: {RULE_KEY}"
    rule = None if text is None else read_value(RULE, text, where)
    return Peer(**{**dict(form), "config": config, "rule": rule})


class _ExportedPeerForm(_PeerFields):
    model_config = ConfigDict(extra="ignore")

    sync_replication_state: Text | None = None
    rule: _PeerRule | None = None


SnapshotPeer = Annotated[Peer, WrittenAs(_PeerForm, _peer)]
ExportedPeer = Annotated[Peer, WrittenAs(_ExportedPeerForm)]
