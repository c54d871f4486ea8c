"""Reads one private log from beginning to end."""

from collections.abc import Iterator

from pipelines.common.errors import MalformedError
from pipelines.pegasus.domain.private_log.blocks import BLOCK_HEADER, LogBlock, LogEnd, Read, blocks
from pipelines.pegasus.domain.private_log.mutations import (
    FileHeader,
    Mutation,
    MutationSpan,
    as_mutation,
    mutation_span,
    parse_file_header,
)


class PrivateLogReader:
    """Reads one log, and yields its mutations in order. The attributes are final once the log has been read to its end.

    Invalid contents never raise an error; they set `ending` and `problem`. The memory needed does not grow with the
    log.

    Attributes:
        header: the header of the log; None before the first mutation, and if the header could not be read.
        ending: how the log ends.
        problem: the first problem found; None = no problem.
        bad_blocks: the number of blocks with a wrong CRC or an invalid mutation; the other blocks are read.
        length: the bytes up to the last whole block.
    """

    def __init__(self, read: Read, start_offset: int | None = None) -> None:
        """Creates a reader.

        Args:
            read: a function that returns the next bytes, see `blocks.blocks`.
            start_offset: the offset in the log's name, which the header must repeat; None = not checked.
        """
        self._read = read
        self._start = start_offset
        self.header: FileHeader | None = None
        self.ending = LogEnd.WHOLE
        self.problem: str | None = None
        self.bad_blocks = 0
        self.length = 0

    def __iter__(self) -> Iterator[Mutation]:
        for body, span in self.spans():
            yield as_mutation(body, span)

    def spans(self) -> Iterator[tuple[bytes, MutationSpan]]:
        """Yields every mutation as its place in the body of a block, which costs less than a `Mutation`."""
        first = True
        for block in blocks(self._read):
            if block.torn:
                self._end(LogEnd.NO_HEADER if first else LogEnd.TORN)
                return
            if block.problem is not None:
                self._corrupt(block.problem)
            else:
                self.length = block.offset + BLOCK_HEADER.size + len(block.body)
                yield from self._mutations(block, first=first)
            first = False
        if first:
            self._end(LogEnd.NO_HEADER)

    def _mutations(self, block: LogBlock, *, first: bool) -> Iterator[tuple[bytes, MutationSpan]]:
        place, body = 0, block.body
        try:
            if first:
                self.header, place = parse_file_header(body)
                if self._start is not None and self.header.start_offset != self._start:
                    raise MalformedError(f"its header has offset {self.header.start_offset}, its name {self._start}")
            start = None if self.header is None else self.header.start_offset + block.offset + BLOCK_HEADER.size
            while place < len(body):
                span = mutation_span(body, place)
                if start is not None and span[4] != start + place:
                    raise MalformedError(f"mutation {span[3]} says offset {span[4]}, not {start + place}")
                yield body, span
                place = span[-1]
        except MalformedError as error:
            self._corrupt(f"block at {block.offset}: {error}")

    def _corrupt(self, problem: str) -> None:
        self.bad_blocks += 1
        self.problem = self.problem or problem
        self._end(LogEnd.CORRUPT)

    def _end(self, ending: LogEnd) -> None:
        if self.ending is not LogEnd.CORRUPT:
            self.ending = ending
