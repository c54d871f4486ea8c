"""A second reading of private logs: what a Pegasus server takes from them, and what it cannot know.

Written from the source of Apache Pegasus at commit db756dc; nothing here uses walsafe's own reading.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path

Request = tuple[str, bytes]
Gpid = tuple[int, int]
_CASTAGNOLI = 0x82F63B78
_MAGIC = 0xDEADBEEF


class DamagedError(Exception):
    """The server would not replay the log: ERR_INVALID_DATA."""


@dataclass(frozen=True)
class Logged:
    """A mutation of a private log."""

    gpid: Gpid
    ballot: int
    decree: int
    offset: int
    committed: int
    time_us: int
    requests: tuple[Request, ...]


@dataclass
class Log:
    """One log file, `log.<index>.<start>`.

    Attributes:
        before: by partition, the largest decree of earlier logs; None = the file has no complete header.
        blocks: the mutations of each whole block.
        end: the global offset after the last whole block.
        torn: whether the file ends inside a block.
    """

    name: str
    before: dict[Gpid, int] | None = None
    blocks: list[list[Logged]] = field(default_factory=list)
    end: int = 0
    torn: bool = False

    @property
    def index(self) -> int:
        return int(self.name.split(".")[1])

    @property
    def start(self) -> int:
        return int(self.name.split(".")[2])

    @cached_property
    def mutations(self) -> list[Logged]:
        return [one for block in self.blocks for one in block]


@dataclass
class Replayed:
    """What a server that becomes primary commits of its log for certain.

    Attributes:
        left_out: the decrees of mutations behind a missing decree or a higher ballot. The server prepares them again,
            with an empty mutation for each that is missing. No client was told about them, for a mutation is committed
            after all before it (`prepare_list::commit`), and all replicas have logged those; or the log lost a part.
        missing: whether a committed mutation is not there: the server ends at a CHECK.
    """

    committed: list[Logged] = field(default_factory=list)
    left_out: list[int] = field(default_factory=list)
    missing: bool = False


def crc32c(data: bytes, before: int) -> int:
    """`dsn::utils::crc32_calc`, bit by bit (`src/utils/crc.cpp`)."""
    crc = before ^ 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (_CASTAGNOLI if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def read_logs(folder: Path) -> list[Log]:
    """Returns the logs of a replica by their index, without which it has none."""
    paths = folder.iterdir() if folder.is_dir() else ()
    return sorted((read_log(path.name, path.read_bytes()) for path in paths), key=lambda log: log.index)


def read_log(name: str, data: bytes) -> Log:
    """`log_file::open_read`, `log_file::read_next_log_block` and `mutation_log::replay` of one file."""
    log, at, crc = Log(name), 0, 0
    log.end = log.start
    while at < len(data):
        head = data[at : at + 16]
        body = data[at + 16 : at + 16 + _int(head, 4)] if len(head) == 16 else b""
        if len(head) < 16 or (_int(head, 0) == _MAGIC and len(body) < _int(head, 4)):
            log.torn = True  # ERR_INCOMPLETE_DATA
            return log
        crc = crc32c(body, crc)
        if _int(head, 0) != _MAGIC or _int(head, 8) != crc:
            raise DamagedError(name)
        place = 0
        if at == 0:
            log.before, place = _header(body)
            if _int(body, 0) != _MAGIC or _long(body, 8) != log.start:  # log_file::is_right_header
                raise DamagedError(name)
        mutations = []
        while place < len(body):
            one, behind = _mutation(body, place)
            if one.offset != log.end + 16 + place:
                raise DamagedError(name)
            mutations.append(one)
            place = behind
        at += 16 + len(body)
        log.end = log.start + at
        log.blocks.append(mutations)
    return log


def doubts(logs: Sequence[Log], gpid: Gpid) -> Iterator[tuple[str, str]]:
    """Yields rule and subject, where the logs of a replica do not prove that they hold all its writes."""
    for log in logs:
        # mutation_log::replay takes a torn log if the next one begins at the end of its last whole block
        if log.before is None or (log.torn and log is logs[-1]):
            yield "L1", log.name
        if any(one.gpid != gpid for one in log.mutations) or (log.before and gpid not in log.before):
            yield "L1", f"{log.name}/gpid"
    for before, log in pairwise(logs):
        # log_utils::check_log_files_continuity and the offsets in mutation_log::replay
        if log.index != before.index + 1 or (before.before is not None and log.start != before.end):
            yield "L1", f"{log.name}/order"
    earlier = list[Logged]()
    for log in logs:  # "if decree(A) >= decree(B) then ballot(A) >= ballot(B)", mutation::copy_from
        ballots = [one.ballot for one in (*earlier, *log.mutations)]
        if any(later < first for first, later in pairwise(ballots)):
            yield "L2", f"{log.name}/ballot"
        earlier = [max(log.mutations, key=lambda one: one.ballot)] if log.mutations else []


def replayed(
    mutations: Iterable[Logged], gpid: Gpid, flushed: int, valid_offset: int, known: int | None = None
) -> Replayed:
    """`replica::replay_mutation` fills the prepare list, `replica::replay_prepare_list` prepares it again.

    Args:
        mutations: of all logs, in order.
        gpid: the partition of the replica.
        flushed: the last decree of the data.
        valid_offset: `init_offset_in_private_log`.
        known: the last committed decree, if the operator gives it.
    """
    prepared: dict[int, Logged] = {}
    proven = flushed
    for one in mutations:
        if one.gpid != gpid or one.offset < valid_offset:
            continue
        proven = max(proven, one.committed)
        there = prepared.get(one.decree)
        if one.decree > flushed and (there is None or there.ballot < one.ballot):
            prepared[one.decree] = one
    needed = proven if known is None else known
    found = Replayed(missing=any(decree not in prepared for decree in range(flushed + 1, needed + 1)))
    ballot = 0
    for decree in sorted(prepared):
        one = prepared[decree]
        follows = decree == flushed + len(found.committed) + 1
        if decree <= needed or (known is None and not found.left_out and follows and one.ballot >= ballot):
            found.committed.append(one)
            ballot = one.ballot
        elif known is None:
            found.left_out.append(decree)
    return found


def lacks_earlier(logs: Sequence[Log], gpid: Gpid, valid_offset: int, last: int) -> bool:
    """Returns whether the first log follows others whose decrees are nowhere.

    `mutation_log::garbage_collection` deletes a log only if its decrees are in the data, or lie before the last
    learning.
    """
    if not logs or logs[0].start < valid_offset or logs[0].before is None:
        return False
    return logs[0].before.get(gpid, 0) > last


def _header(body: bytes) -> tuple[dict[Gpid, int], int]:
    """`log_file::read_file_header`: magic, version, offset, and a count of partitions with two numbers each."""
    places = [20 + 24 * number for number in range(_int(body, 16))]
    return {(_int(body, at), _int(body, at + 4)): _long(body, at + 8) for at in places}, 20 + 24 * len(places)


def _mutation(body: bytes, at: int) -> tuple[Logged, int]:
    """`mutation::read_from`: the header, the code, serialization and size of each request, then their bytes."""
    gpid = _int(body, at + 8), _int(body, at + 12)
    ballot, decree, offset, committed, time = (_long(body, at + 16 + 8 * number) for number in range(5))
    count, place = _int(body, at + 56), at + 60
    heads = []
    for _ in range(count):
        length = _int(body, place)
        heads.append((body[place + 4 : place + 4 + length].decode(), _int(body, place + 8 + length)))
        place += 12 + length
    requests = []
    for code, size in heads:
        requests.append((code, body[place : place + size]))
        place += size
    return Logged(gpid, ballot, decree, offset, committed, time, tuple(requests)), place


def _int(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def _long(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little", signed=True)
