"""Values and parser of the facts that logs do not contain: registrations of children, durable decrees, duplication."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.common.errors import UsageError


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
