"""The ports of audit-queues that it does not share with other jobs."""

from collections.abc import Sequence
from typing import Protocol

from pipelines.queues.audit.rows import AuditRow


class PastAudits(Protocol):
    """Reads the rows of earlier audits."""

    def audits_before(self, cluster: str, before: int) -> Sequence[Sequence[AuditRow]]:
        """Returns the rows of each audit of the 30 days before an instant (ms since the epoch), the oldest audit first.

        Only audits whose snapshot is older than the instant are returned.
        """
        ...


class PlanSink(Protocol):
    """Writes a claim plan to a folder of small files, outside the cluster's own directories."""

    def write(self, name: str, text: str) -> str:
        """Writes a whole file, replacing an earlier one.

        Returns:
            The URI of the file.

        Raises:
            UnavailableError: the file cannot be written.
        """
        ...
