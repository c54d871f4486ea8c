"""The ports of audit-queues, besides those that it shares."""

from collections.abc import Sequence
from typing import Protocol

from pipelines.queues.audit.rows import AuditRow


class PastAudits(Protocol):
    """Reads what earlier audits saw."""

    def audits_before(self, cluster: str, before: int) -> Sequence[Sequence[AuditRow]]:
        """The rows of each audit of the last 30 days whose snapshot is older than an instant (ms), oldest first."""
        ...


class PlanSink(Protocol):
    """Where a claim plan goes: a folder of small files, none of them in the cluster's own directories."""

    def write(self, name: str, text: str) -> str:
        """Write one file whole, in place of an earlier one; its address.

        Raises:
            UnavailableError: it cannot be written.
        """
        ...
