"""Which edits a peer takes (HBase `ReplicationPeerConfig.needToReplicate`, `SystemTableWALEntryFilter`)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.common.json_form import Form, read_json

SYSTEM_NAMESPACE = "hbase"
REPLICATED_SYSTEM_TABLES = ("hbase:acl", "hbase:labels")
DEFAULT_NAMESPACE = "default"
Tables = Mapping[str, tuple[str, ...]]
"""Families by table (`namespace:table`, the default namespace left out); no family = all of them."""
RULE_KEY = "walsafe.rule"
"""Of a peer's `config` in a snapshot, whose format has no place of its own for the rule and refuses other keys."""


@dataclass(frozen=True, slots=True)
class PeerRule:
    """The tables of one peer's configuration.

    Attributes:
        namespaces: replicated whole, where the peer does not replicate all.
        tables: replicated besides.
        exclude_namespaces: left out, where the peer replicates all.
        exclude_tables: left out besides, whole or some of their families.
    """

    namespaces: frozenset[str] = frozenset()
    tables: Tables = field(default_factory=dict)
    exclude_namespaces: frozenset[str] = frozenset()
    exclude_tables: Tables = field(default_factory=dict)


def wants(replicate_all: bool | None, rule: PeerRule | None, table: str, family: str) -> bool:
    """Whether the peer takes edits of a family of replication scope 1.

    Args:
        replicate_all: whether it takes what is not left out, or only what is named.
        rule: None = unknown.
        table: as in `Tables`.
        family: its name.

    Returns:
        True as well where the answer is not known.
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


def parse_rule(form: Form) -> PeerRule:
    """A rule as a document: the value of a peer's key `rule` in an export.

    Raises:
        SnapshotError: it is not of that form.
    """
    rule = PeerRule(
        namespaces=frozenset(form.optional_texts("namespaces") or ()),
        tables=_tables(form.optional_part("tables")),
        exclude_namespaces=frozenset(form.optional_texts("exclude_namespaces") or ()),
        exclude_tables=_tables(form.optional_part("exclude_tables")),
    )
    form.no_other_keys()
    return rule


def rule_document(rule: PeerRule) -> dict[str, object]:
    """The inverse of `parse_rule`."""
    return {
        "namespaces": sorted(rule.namespaces),
        "tables": {table: list(rule.tables[table]) for table in sorted(rule.tables)},
        "exclude_namespaces": sorted(rule.exclude_namespaces),
        "exclude_tables": {table: list(rule.exclude_tables[table]) for table in sorted(rule.exclude_tables)},
    }


def rule_of_text(text: str, where: str) -> PeerRule:
    """The value of `RULE_KEY`.

    Raises:
        SnapshotError: it is not JSON of that form.
    """
    return parse_rule(Form(read_json(text, where), where))


def rule_text(rule: PeerRule) -> str:
    """The inverse of `rule_of_text`."""
    return json.dumps(rule_document(rule), sort_keys=True)


def table_name(name: str) -> str:
    """A table's name without the default namespace, as WALs spell it."""
    return name.removeprefix(f"{DEFAULT_NAMESPACE}:")


def _tables(form: Form | None) -> Tables:
    return {} if form is None else {table_name(table): tuple(sorted(form.texts(table))) for table in form.names()}
