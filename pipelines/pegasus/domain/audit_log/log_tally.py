"""Counts what one private log of a replica contains, while the log is read."""

from dataclasses import replace

from pipelines.pegasus.domain.audit_log.files import LogFile
from pipelines.pegasus.domain.private_log.blocks import LogEnd
from pipelines.pegasus.domain.private_log.mutations import Mutation
from pipelines.pegasus.domain.private_log.names import Gpid, parse_log_name
from pipelines.pegasus.domain.private_log.reader import PrivateLogReader


class LogTally:
    """Counts the mutations of one log.

    Attributes:
        gpid: the partition of the replica directory.
        file: the log as read so far; complete after `end` or `unreadable`.
    """

    def __init__(self, node: str, gpid: Gpid, log: str) -> None:
        name = parse_log_name(log)
        self.gpid = gpid
        self.file = LogFile(node, gpid.app_id, gpid.partition, log, name.index, name.start_offset)
        self._mutations = self._foreign = self._ballots_back = 0
        self._decrees: tuple[int, int] | None = None
        self._ballots: tuple[int, int] | None = None

    def add(self, mutation: Mutation) -> None:
        """Counts one mutation."""
        self._mutations += 1
        self._foreign += mutation.gpid != self.gpid
        self._ballots_back += self._ballots is not None and mutation.ballot < self._ballots[1]
        self._decrees = _widened(self._decrees, mutation.decree)
        self._ballots = _widened(self._ballots, mutation.ballot)

    def end(self, reader: PrivateLogReader, undecoded: int = 0) -> LogFile:
        """Returns the log after its reader has ended.

        Args:
            reader: the reader of the log.
            undecoded: the number of requests that cannot be replayed from the log alone.
        """
        header = reader.header
        foreign_header = header is not None and bool(header.max_decrees) and self.gpid not in header.max_decrees
        decrees, ballots = self._decrees or (None, None), self._ballots or (None, None)
        self.file = replace(
            self.file,
            length=reader.length,
            ending=reader.ending.value,
            problem=reader.problem,
            bad_blocks=reader.bad_blocks,
            mutations=self._mutations,
            min_decree=decrees[0],
            max_decree=decrees[1],
            min_ballot=ballots[0],
            max_ballot=ballots[1],
            max_decree_before=header.max_decrees.get(self.gpid) if header else None,
            foreign=self._foreign + foreign_header,
            ballots_back=self._ballots_back,
            undecoded=undecoded,
        )
        return self.file

    def unreadable(self, problem: str) -> LogFile:
        """Returns the log after the file system failed."""
        self.file = replace(self.file, ending=LogEnd.UNREADABLE.value, problem=problem)
        return self.file


def _widened(span: tuple[int, int] | None, value: int) -> tuple[int, int]:
    return (value, value) if span is None else (min(span[0], value), max(span[1], value))
