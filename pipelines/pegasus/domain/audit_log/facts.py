"""Values and parser of the facts that logs do not contain: registrations of children, durable decrees, duplication."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError, UsageError
from pipelines.common.json_object import JsonObject, read_json
from pipelines.common.names import NAME
from pipelines.pegasus.domain.partitions import is_power_of_two


@dataclass(frozen=True, slots=True)
class ParentAndChild:
    """A parent and its child; None = unknown.

    Attributes:
        child_ballot: the ballot with which the child was registered; None = not registered, or unknown.
        sync_point: the first decree that was replicated to the child synchronously.
        committed: the parent's last committed decree when it registered the child.
    """

    parent: int
    child_ballot: int | None = None
    sync_point: int | None = None
    committed: int | None = None


@dataclass(frozen=True, slots=True)
class SplitFacts:
    """The facts of one table that its logs do not contain.

    Attributes:
        old_count: the number of partitions before the split; None = no split, or unknown.
        groups: the parents with their children, by parent.
        durable: the last durable decree by (node, partition).
        duplicating: whether the table is duplicated; None = unknown.
        confirmed: the confirmed decree of the duplication, by partition.
    """

    cluster: str
    app_id: int
    old_count: int | None = None
    groups: Mapping[int, ParentAndChild] = field(default_factory=dict)
    durable: Mapping[tuple[str, int], int] = field(default_factory=dict)
    duplicating: bool | None = None
    confirmed: Mapping[int, int] = field(default_factory=dict)

    def group_of(self, partition: int) -> ParentAndChild | None:
        """Returns the parent and child to which a partition belongs; None if its group is not known."""
        return None if self.old_count is None else self.groups.get(partition % self.old_count)

    def is_child(self, partition: int) -> bool:
        """Returns whether the split created this partition."""
        return self.old_count is not None and partition >= self.old_count


def parse_facts(text: str | bytes, where: str) -> SplitFacts:
    """Parses a facts file (docs/split-audit-log.md).

    Raises:
        UsageError: the file is invalid; the message names file and key.
    """
    try:
        return _facts(JsonObject(read_json(text, where), where))
    except SnapshotError as error:
        raise UsageError(f"{error}; the format is docs/split-audit-log.md") from None


def _facts(form: JsonObject) -> SplitFacts:
    if form.integer("format") != 1:
        raise SnapshotError(Condition.DOCUMENT_MALFORMED, f"{form.where}: 'format' must be 1")
    names = tuple(form.names())
    old_count = form.count("old_count") if "old_count" in names else None
    if old_count is not None and not is_power_of_two(old_count):
        raise SnapshotError(
            Condition.DOCUMENT_MALFORMED, f"{form.where}: 'old_count' {old_count} is not a power of two"
        )
    groups: dict[int, ParentAndChild] = {}
    durable: dict[tuple[str, int], int] = {}
    confirmed: dict[int, int] = {}
    for part in form.parts("groups") if "groups" in names else ():
        group = _group(part)
        if old_count is None or group.parent >= old_count or group.parent in groups:
            raise SnapshotError(
                Condition.DOCUMENT_MALFORMED,
                f"{part.where}: 'parent' {group.parent} is given twice, or is not below 'old_count'",
            )
        groups[group.parent] = group
    for part in form.parts("replicas") if "replicas" in names else ():
        replica = part.text("node"), part.count("pidx")
        if replica in durable:
            raise SnapshotError(
                Condition.DOCUMENT_MALFORMED, f"{part.where}: 'pidx' {replica[1]} of {replica[0]} is given twice"
            )
        durable[replica] = part.count("last_durable_decree")
        part.no_other_keys()
    for part in form.parts("duplication") if "duplication" in names else ():
        partition = part.count("pidx")
        if partition in confirmed:
            raise SnapshotError(Condition.DOCUMENT_MALFORMED, f"{part.where}: 'pidx' {partition} is given twice")
        confirmed[partition] = part.count("confirmed_decree")
        part.no_other_keys()
    facts = SplitFacts(
        form.matching("cluster", NAME), form.count("app_id"), old_count, groups, durable,
        form.optional_flag("duplicating"), confirmed,
    )  # fmt: skip
    form.no_other_keys()
    return facts


def _group(form: JsonObject) -> ParentAndChild:
    names = tuple(form.names())
    known = [form.count(name) if name in names else None for name in ("child_ballot", "sync_point", "committed")]
    group = ParentAndChild(form.count("parent"), *known)
    form.no_other_keys()
    return group
