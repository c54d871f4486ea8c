"""Random private logs of a replica: what its primaries prepared, what it had before it learned, and what is wrong."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from tests.labs.pegasus import private_logs as made
from tests.labs.pegasus.private_logs import Entry, LogWriter

TIME = 1_600_000_000_000_000
Request = tuple[str, bytes]
FAULTS = ("torn", "no header", "gap of logs", "gap of offsets", "foreign mutation", "foreign header", "no log")
"""What makes an error finding of a replica's logs."""
REFUSED = ("damaged", "first logs gone", "needs base", "committed, but missing")
"""What a split refuses, if the data do not make up for it."""


@dataclass
class DrawnLogs:
    """The logs of a replica.

    Attributes:
        files: the bytes of each by name.
        valid: the offset from which mutations count; None = the replica never learned.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    valid: int | None = None


@dataclass
class _Primaries:
    """What the primaries of a partition prepare on a replica, one after the other.

    Attributes:
        odd: the chance of what should not be there: mutations that a new primary does not know, gaps, lower ballots.
    """

    draw: Random
    request: Callable[[], Request]
    decree: int
    ballot: int = 3
    odd: float = 0.0

    def __post_init__(self) -> None:
        self.committed = self.decree
        self.prepared: dict[int, tuple[Request, ...]] = {}

    def block(self) -> list[Entry]:
        """The mutations of one block."""
        draw, found = self.draw, list[Entry]()
        # a new primary prepares again, with its own ballot, what is not committed (`replica::init_prepare`)
        if draw.random() < 0.3:
            self.ballot += draw.choice((1, 2))
            if draw.random() < self.odd:
                self.decree = draw.randint(self.committed, self.decree)
                self.prepared = {one: what for one, what in self.prepared.items() if one <= self.decree}
            again = range(self.committed + 1, self.decree + 1)
            found += [self._entry(decree) for decree in again if decree in self.prepared]
        for _ in range(draw.randint(not found, 2)):
            self.decree += 2 if draw.random() < self.odd / 3 else 1
            self.prepared[self.decree] = tuple(self.request() for _ in range(draw.randrange(3)))
            found.append(self._entry(self.decree))
            if draw.random() < 0.3 and all(one in self.prepared for one in range(self.committed + 1, self.decree)):
                self.committed = draw.randint(self.committed, self.decree)
        return found

    def _entry(self, decree: int) -> Entry:
        lower = self.draw.random() < self.odd / 6
        time = TIME + decree
        return Entry(decree, self.prepared[decree], self.ballot - lower, self.committed, timestamp_us=time)


def drawn_logs(
    draw: Random,
    gpid: tuple[int, int],
    flushed: int,
    request: Callable[[], Request],
    *,
    odd: float = 0.0,
    fault: str = "",
) -> DrawnLogs:
    """Draws the logs of a replica.

    Args:
        draw: where all chance comes from.
        gpid: the partition of the replica.
        flushed: the last decree of its data.
        request: draws a request.
        odd: the chance of what makes an error finding L2.
        fault: one of FAULTS or REFUSED.
    """
    found = DrawnLogs()
    if fault == "no log":
        return found
    life = _Primaries(draw, request, flushed - draw.randrange(1, 4), odd=odd)
    first_ballot = life.ballot
    blocks = [life.block() for _ in range(draw.randint(2, 8))]
    _spoil(blocks, draw, gpid, flushed, fault)
    before: list[list[Entry]] = []
    if draw.random() < 0.4:  # a life before the last learning, with decrees and commits that do not count
        ghost = _Primaries(draw, request, flushed + draw.randrange(9), ballot=1)
        before = [[_committing(one, flushed + 50) for one in ghost.block()] for _ in range(draw.randint(1, 3))]
        before = [block for block in before if all(one.ballot <= first_ballot - 1 for one in block)]
    _write(found, draw, gpid, flushed, before, blocks, fault)
    return found


def _committing(one: Entry, decree: int) -> Entry:
    return Entry(one.decree, one.requests, one.ballot, decree, timestamp_us=one.timestamp_us)


def _spoil(blocks: list[list[Entry]], draw: Random, gpid: tuple[int, int], flushed: int, fault: str) -> None:
    block = draw.choice(blocks)
    last = block[-1]
    if fault == "foreign mutation":
        other = draw.choice(((gpid[0], gpid[1] + 1), (gpid[0] + 1, gpid[1])))
        block.append(Entry(last.decree + 1, (made.put(b"\0\1zy", b"of others"),), last.ballot, last.committed, other))
    if fault == "needs base":
        request = draw.choice((made.incr(b"\0\1zy", 1), made.check_and_set(b"z", b"y", b"v"),
                               made.check_and_mutate(b"z", b"y", b"v")))  # fmt: skip
        block[-1] = Entry(last.decree, (request,), last.ballot, last.committed, timestamp_us=last.timestamp_us)
    if fault == "committed, but missing":
        end = blocks[-1][-1]
        blocks.append([Entry(end.decree + 3, (), end.ballot, max(end.decree, flushed) + 2)])


def _write(
    found: DrawnLogs, draw: Random, gpid: tuple[int, int], flushed: int,
    before: list[list[Entry]], blocks: list[list[Entry]], fault: str,
) -> None:  # fmt: skip
    """Cuts the blocks into logs and writes them."""
    index, place, highest, valid = draw.choice((1, 7)), draw.choice((0, 4096)), 0, 0
    first = blocks[0][0].decree - 1  # what earlier logs had is in the data
    logs = [*_cut(draw, before, "before"), *_cut(draw, blocks, "counts")]
    spoilt = draw.randrange(1, len(logs)) if len(logs) > 1 else None
    highest = 0 if before else first
    for number, (kind, those) in enumerate(logs):
        if kind == "counts" and before and found.valid is None:
            found.valid, valid, highest = place, place, flushed  # `mutation_log::on_partition_reset`
        if fault == "gap of offsets" and number == spoilt:
            place += 16
        header = (gpid[0], gpid[1] + 1) if fault == "foreign header" and number == len(logs) - 1 else gpid
        log = LogWriter(*header, place, highest, valid)
        for block in those:
            log.add(*(_of(one, gpid) for one in block))
            highest = max([highest, *(one.decree for one in block)])
        data = bytes(log.data)
        if draw.random() < 0.2 and number < len(logs) - 1:  # its server died and began the next log
            data += LogWriter(*gpid, log.end).add(Entry(highest + 1)).data[: draw.randrange(1, 60)]
        found.files[f"log.{index}.{place}"] = data
        index, place = index + 1, log.end
    _damage(found.files, draw, spoilt, f"log.{index}.{place}", fault)


def _of(one: Entry, gpid: tuple[int, int]) -> Entry:
    return Entry(one.decree, one.requests, one.ballot, one.committed, one.gpid or gpid, one.timestamp_us)


def _cut(draw: Random, blocks: list[list[Entry]], kind: str) -> list[tuple[str, list[list[Entry]]]]:
    if not blocks:
        return []
    cuts = sorted({0, *(draw.randrange(len(blocks)) for _ in range(2)), len(blocks)})
    return [(kind, blocks[begin:end]) for begin, end in pairwise(cuts)]


def _damage(files: dict[str, bytes], draw: Random, spoilt: int | None, following: str, fault: str) -> None:
    names = list(files)
    last = names[-1]
    if fault == "torn":
        files[last] = files[last][: -draw.randrange(1, 60)]
    if fault == "no header":
        files[following] = bytes(LogWriter(1, 1).data[: draw.randrange(40)])
    if fault == "gap of logs" and len(names) > 2:
        del files[names[draw.randrange(1, len(names) - 1)]]
    if fault == "first logs gone":
        for name in names[: spoilt or 0]:
            del files[name]
    if fault == "damaged":
        name = draw.choice(names)
        data = bytearray(files[name])
        data[draw.randrange(16, 16 + int.from_bytes(data[4:8], "little"))] ^= draw.randrange(1, 256)
        files[name] = bytes(data)
