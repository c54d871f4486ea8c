"""Decides which edits a peer receives (HBase `ReplicationPeerConfig.needToReplicate`, `SystemTableWALEntryFilter`)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

SYSTEM_NAMESPACE = "hbase"
REPLICATED_SYSTEM_TABLES = ("hbase:acl", "hbase:labels")
DEFAULT_NAMESPACE = "default"
Tables = Mapping[str, tuple[str, ...]]
"""The column families by table (`namespace:table`, without the default namespace); an empty tuple = all families."""
RULE_KEY = "walsafe.rule"
"""Key in a peer's `config` that holds the rule. Snapshot format 1 has no field for the rule and refuses unknown
keys."""


@dataclass(frozen=True, slots=True)
class PeerRule:
    """The tables and namespaces in a peer's configuration.

    Attributes:
        namespaces: the namespaces that the peer replicates as a whole, if it does not replicate all tables.
        tables: further tables that it replicates.
        exclude_namespaces: the namespaces that the peer does not replicate, if it replicates all other tables.
        exclude_tables: further tables that it does not replicate, as a whole or some of their families.
    """

    namespaces: frozenset[str] = frozenset()
    tables: Tables = field(default_factory=dict)
    exclude_namespaces: frozenset[str] = frozenset()
    exclude_tables: Tables = field(default_factory=dict)


def replicates_family(replicate_all: bool | None, rule: PeerRule | None, table: str, family: str) -> bool:
    """Returns whether the peer replicates edits of a family that has replication scope 1.

    Args:
        replicate_all: True = everything except the exclusions; False = only the named tables and namespaces; None =
            unknown.
        rule: the peer's rule; None = unknown.
        table: the table name as in `Tables`.
        family: the name of the column family.

    Returns:
        True also if the rule is unknown, except for system tables that HBase never replicates.
    """
    namespace = table.partition(":")[0] if ":" in table else DEFAULT_NAMESPACE
    if namespace == SYSTEM_NAMESPACE and table not in REPLICATED_SYSTEM_TABLES:
        return False
    if replicate_all is None or rule is None:
        return True
    if replicate_all:
        if namespace in rule.exclude_namespaces:
            return False
        excluded = rule.exclude_tables.get(table)
        return excluded is None or (bool(excluded) and family not in excluded)
    if namespace in rule.namespaces:
        return True
    named = rule.tables.get(table)
    return named is not None and (not named or family in named)


def rule_document(rule: PeerRule) -> dict[str, object]:
    """Returns the rule as a JSON document; `pipelines.snapshot.peer_forms.RULE` is the inverse."""
    return {
        "namespaces": sorted(rule.namespaces),
        "tables": {table: list(rule.tables[table]) for table in sorted(rule.tables)},
        "exclude_namespaces": sorted(rule.exclude_namespaces),
        "exclude_tables": {table: list(rule.exclude_tables[table]) for table in sorted(rule.exclude_tables)},
    }


def rule_text(rule: PeerRule) -> str:
    """Returns the rule as JSON text."""
    return json.dumps(rule_document(rule), sort_keys=True)


def table_name(name: str) -> str:
    """Returns a table's name without the default namespace, as WALs write it."""
    return name.removeprefix(f"{DEFAULT_NAMESPACE}:")
