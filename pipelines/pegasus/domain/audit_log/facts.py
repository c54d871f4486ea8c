"""The facts that logs do not contain (registrations of children, durable decrees, duplication), and their file."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, TypeAdapter

from pipelines.common.errors import SnapshotError, UsageError
from pipelines.common.forms import Count, Form, Many, MayBeAbsent, Name, Text, WrittenAs, exactly, read_value
from pipelines.pegasus.domain.partitions import MOST_PARTITIONS, is_power_of_two

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


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
        old_count: the number of partitions before the newest split; None = no split, or unknown.
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

    def refuse_later_split(self, partition: int, where: str) -> None:
        """Refuses a partition that only a later split can have made: its parent would be taken for another one.

        Args:
            partition: the index of the partition.
            where: the place of the partition in the message.

        Raises:
            UsageError: the index is not below twice `old_count`.
        """
        if self.old_count is not None and partition >= 2 * self.old_count:
            raise UsageError(
                f"{where} is of partition {partition}, and the facts are of a split from {self.old_count} to "
                f"{2 * self.old_count} partitions. Give the facts of the newest split"
            )


_Index = Annotated[Count, Field(lt=MOST_PARTITIONS)]


def _power_of_two(count: int) -> int:
    if not is_power_of_two(count):
        raise ValueError(f"{count} is no power of two")
    return count


class _Group(Form):
    parent: _Index
    child_ballot: MayBeAbsent[Count] = None
    sync_point: MayBeAbsent[Count] = None
    committed: MayBeAbsent[Count] = None


class _Replica(Form):
    node: Text
    pidx: _Index
    last_durable_decree: Count


class _Duplication(Form):
    pidx: _Index
    confirmed_decree: Count


class _Facts(Form):
    format: Annotated[int, exactly(1)]
    cluster: Name
    app_id: Count
    old_count: MayBeAbsent[Annotated[Count, Field(le=MOST_PARTITIONS // 2), AfterValidator(_power_of_two)]] = None
    groups: Many[Annotated[ParentAndChild, WrittenAs(_Group)]] = ()
    replicas: Many[_Replica] = ()
    duplicating: bool | None = None
    duplication: Many[_Duplication] = ()


def _facts(form: _Facts) -> SplitFacts:
    for group in form.groups:
        if form.old_count is None or group.parent >= form.old_count:
            raise ValueError(f"'groups': 'parent' {group.parent} is not below 'old_count'")
    if form.duplication and form.duplicating is False:
        raise ValueError("'duplicating' is false, but 'duplication' has confirmed decrees: remove one of the two")
    return SplitFacts(
        cluster=form.cluster,
        app_id=form.app_id,
        old_count=form.old_count,
        groups=_once("groups", ((one.parent, one) for one in form.groups)),
        durable=_once("replicas", (((one.node, one.pidx), one.last_durable_decree) for one in form.replicas)),
        duplicating=form.duplicating,
        confirmed=_once("duplication", ((one.pidx, one.confirmed_decree) for one in form.duplication)),
    )


def _once(key: str, pairs: Iterable[tuple[KeyT, ValueT]]) -> Mapping[KeyT, ValueT]:
    found: dict[KeyT, ValueT] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{key!r}: {name!r} is given twice")
        found[name] = value
    return found


_FACTS: TypeAdapter[SplitFacts] = TypeAdapter(Annotated[SplitFacts, WrittenAs(_Facts, _facts)])


def parse_facts(text: str | bytes, where: str) -> SplitFacts:
    """Parses a facts file, format 1 (docs/split-audit-log.md).

    Raises:
        UsageError: the file is invalid; the message names file and key.
    """
    try:
        return read_value(_FACTS, text, where)
    except SnapshotError as error:
        raise UsageError(f"{error}; the format is docs/split-audit-log.md") from None
