"""What one private log of a replica contains, and the counts that are made while it is read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, repeat
from operator import lt, ne

from pipelines.pegasus.domain.private_log.blocks import LogEnd
from pipelines.pegasus.domain.private_log.names import Gpid, parse_log_name
from pipelines.pegasus.domain.private_log.reader import PrivateLogReader

DELETABLE, HELD = "DELETABLE", "HELD"


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log file of a replica; a row of `split_logs`.

    Sizes are bytes. Decrees and ballots are those of the log's mutations; None = it has no mutations.

    Attributes:
        node: the replica server, from the directory.
        length: the bytes up to the end of the last whole block.
        max_decree_before: the largest decree in earlier logs, from the header.
        valid_offset: the global offset from which the replica's mutations count, from the header: a replica that learns
            discards the earlier ones, and their logs stay.
        foreign: the number of mutations of another partition than the directory's.
        ballots_back: the number of mutations with a lower ballot than an earlier one.
        undecoded: the number of requests that cannot be replayed from the log alone.
    """

    node: str
    app_id: int
    partition: int
    log: str
    log_index: int
    start_offset: int
    length: int = 0
    ending: str = LogEnd.WHOLE.value
    problem: str | None = None
    bad_blocks: int = 0
    mutations: int = 0
    min_decree: int | None = None
    max_decree: int | None = None
    min_ballot: int | None = None
    max_ballot: int | None = None
    max_decree_before: int | None = None
    valid_offset: int | None = None
    foreign: int = 0
    ballots_back: int = 0
    undecoded: int = 0
    verdict: str = HELD
    reason: str = "UNDECIDED"

    @property
    def replica(self) -> tuple[str, int, int]:
        """Returns node, table id and partition."""
        return self.node, self.app_id, self.partition

    @property
    def where(self) -> str:
        """Returns the name of the log in messages."""
        return f"{self.app_id}.{self.partition}@{self.node}/{self.log}"


class LogTally:
    """Counts the mutations of one log.

    Attributes:
        gpid: the partition of the replica directory.
        file: the log as read so far; complete after `end` or `unreadable`.
    """

    def __init__(self, node: str, gpid: Gpid, log: str) -> None:
        name = parse_log_name(log)
        self.gpid = gpid
        self._place = (gpid.app_id, gpid.partition)
        self.file = LogFile(node, gpid.app_id, gpid.partition, log, name.index, name.start_offset)
        self._mutations = self._foreign = self._ballots_back = 0
        self._decrees: tuple[int, int] | None = None
        self._ballots: tuple[int, int] | None = None

    def add(self, gpid: tuple[int, int], ballot: int, decree: int) -> None:
        """Counts one mutation."""
        self.add_many([gpid], [ballot], [decree])

    def add_many(self, gpids: Iterable[tuple[int, int]], ballots: Sequence[int], decrees: Sequence[int]) -> None:
        """Counts mutations, in the order of the log; there is at least one."""
        self._mutations += len(ballots)
        self._foreign += sum(map(ne, gpids, repeat(self._place)))
        highest = accumulate(ballots, max, initial=ballots[0] if self._ballots is None else self._ballots[1])
        self._ballots_back += sum(map(lt, ballots, highest))
        self._decrees = _widened(self._decrees, min(decrees), max(decrees))
        self._ballots = _widened(self._ballots, min(ballots), max(ballots))

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
            valid_offset=header.valid_offsets.get(self.gpid) if header else None,
            foreign=self._foreign + foreign_header,
            ballots_back=self._ballots_back,
            undecoded=undecoded,
        )
        return self.file

    def unreadable(self, problem: str) -> LogFile:
        """Returns the log after the file system failed."""
        self.file = replace(self.file, ending=LogEnd.UNREADABLE.value, problem=problem)
        return self.file


def _widened(span: tuple[int, int] | None, low: int, high: int) -> tuple[int, int]:
    return (low, high) if span is None else (min(span[0], low), max(span[1], high))
