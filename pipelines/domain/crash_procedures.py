"""The master's crash procedures as two looks tell them: whether one may have moved queue rows in between."""

from dataclasses import dataclass

from pipelines.domain.server_names import ServerName

REMEMBERED_MS = 15 * 60 * 1000
"""The master lists a procedure so long after its end (`ProcedureExecutor`, `hbase.procedure.cleaner.evict.ttl`)."""


@dataclass(frozen=True, slots=True)
class Crashes:
    """The master's crash procedures, HBCK's among them, as one answer tells them.

    Attributes:
        unfinished: servers of every one whose state is not SUCCESS.
        ended: number and server of those that it remembers as ended (for `REMEMBERED_MS`); HBCK2 can start more than
            one for a server.
    """

    unfinished: frozenset[ServerName]
    ended: frozenset[tuple[str, ServerName]]

    def since(self, earlier: "Crashes") -> frozenset[ServerName]:
        """Servers that count as crashing in the second of two looks; the same as in the first = nothing began or ended.

        Those of unfinished procedures, and those of procedures that have begun *and* ended since the earlier look,
        which may have moved rows behind both queue passes. A procedure that was unfinished then and has ended is the
        one that is missing here: it shows, too.
        """
        return self.unfinished | ({server for _, server in self.ended - earlier.ended} - earlier.unfinished)
