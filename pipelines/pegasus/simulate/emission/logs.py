"""Writes private logs as Pegasus does (`src/replica/mutation_log.cpp`, `log_block.cpp`), and the file of facts."""

from collections.abc import Iterator, Mapping, Sequence

from pipelines.pegasus.domain.private_log.blocks import BLOCK_HEADER, MAGIC, crc32c
from pipelines.pegasus.domain.private_log.mutations import (
    EMPTY_WRITE,
    FILE_ENTRY,
    FILE_HEAD,
    MUTATION_HEAD,
    PUT,
    REQUEST_HEAD,
    FileHeader,
    Mutation,
    MutationUpdate,
)
from pipelines.pegasus.domain.private_log.names import Gpid, LogName
from pipelines.pegasus.simulate.emission.table import (
    APP_ID,
    CLUSTER,
    Spread,
    at_us,
    key_of,
    user_data,
)
from pipelines.pegasus.simulate.emission.trace import CHECKPOINT, OLDEST, Logged, Trace
from pipelines.pegasus.simulate.walk import WalkHistory

_FIRST_START = 4096
"""Global offset of the parents' oldest log; earlier logs are deleted."""
_BLOCK_MUTATIONS = 4
_VERSION = 0
EMPTY = MutationUpdate(EMPTY_WRITE, 0, b"")
"""The request of an empty write."""


def log_files(spread: Spread, history: WalkHistory, trace: Trace) -> Iterator[tuple[str, bytes]]:
    """Yields every log of a parent and its child: the path below the directory of logs, and the bytes.

    A parent has two logs: one up to the checkpoint, which is durable, and one with the rest. A child has one.
    """
    parent, child = Gpid(APP_ID, spread.group), Gpid(APP_ID, spread.child)
    for node, entries in sorted(trace.parents.items()):
        logged = [_mutation(one, parent, spread, history) for one in entries]
        old = [one for one in logged if one.decree <= CHECKPOINT]
        yield from _replica(node, parent, [old, logged[len(old) :]], OLDEST - 1, _FIRST_START)
    for node, entries in sorted(trace.children.items()):
        yield from _replica(node, child, [[_mutation(one, child, spread, history) for one in entries]], 0, 0)


def _replica(
    node: int, gpid: Gpid, files: Sequence[Sequence[Mutation]], before: int, start: int
) -> Iterator[tuple[str, bytes]]:
    """Yields the logs of a replica, of which the first begins at the offset `start`, after the decree `before`."""
    for index, mutations in enumerate(files, 1):
        writer = LogWriter(FileHeader(start, {gpid: before}, {gpid: 0}))
        for first in range(0, len(mutations), _BLOCK_MUTATIONS):
            writer.append(*mutations[first : first + _BLOCK_MUTATIONS])
        yield f"{node_of(node)}/{gpid}.pegasus/plog/{LogName(index, start)}", bytes(writer.data)
        start, before = writer.end, max([before, *(one.decree for one in mutations)])


def _mutation(one: Logged, gpid: Gpid, spread: Spread, history: WalkHistory) -> Mutation:
    update = EMPTY if one.number is None else encode_put(key_of(spread, history, one.number), user_data(one.number))
    time = at_us(one.step) - (BEFORE_US if one.step == 0 else 0)
    return Mutation(gpid, one.ballot, one.decree, 0, one.committed, time, (update,))


BEFORE_US = 3_600_000_000
"""Rows from before the split were written this many μs (one hour) earlier."""


def node_of(node: int) -> str:
    """Returns the name of a node's directory."""
    return f"n{node + 1}/replica/reps"


def facts_of(traces: Sequence[Trace], confirmed: int | None) -> Mapping[str, object]:
    """Returns the facts that logs do not contain (docs/split-audit-log.md).

    Args:
        traces: the traces of all groups, in the order of the groups.
        confirmed: the decree up to which another cluster has confirmed the duplication; None = the table is not
            duplicated.
    """
    groups, replicas, partitions = [], [], []
    for group, trace in enumerate(traces):
        known = {"child_ballot": trace.child_ballot, "sync_point": trace.sync_point, "committed": trace.committed}
        if trace.child_ballot is not None:
            groups.append({"parent": group, **{name: value for name, value in known.items() if value is not None}})
        replicas += [_durable(node, group, CHECKPOINT) for node in sorted(trace.parents)]
        child = group + len(traces)
        replicas += [_durable(node, child, trace.learned.get(node, 0)) for node in sorted(trace.children)]
        partitions += [group, *([child] if trace.children else [])]
    facts: dict[str, object] = {
        "format": 1,
        "cluster": CLUSTER,
        "app_id": APP_ID,
        "old_count": len(traces),
        "groups": groups,
        "replicas": replicas,
        "duplicating": confirmed is not None,
    }
    if confirmed is not None:
        facts["duplication"] = [{"pidx": pidx, "confirmed_decree": confirmed} for pidx in sorted(partitions)]
    return facts


def _durable(node: int, partition: int, decree: int) -> Mapping[str, object]:
    return {"node": node_of(node), "pidx": partition, "last_durable_decree": decree}


class LogWriter:
    """One log in memory.

    Attributes:
        data: its bytes so far.
    """

    def __init__(self, header: FileHeader) -> None:
        """Creates a log with this header as its first block."""
        self._header = header
        self._sum = 0
        self.data = bytearray()
        self._block(encode_file_header(header))

    @property
    def end(self) -> int:
        """Returns the global offset after the last block, where the next log begins."""
        return self._header.start_offset + len(self.data)

    @property
    def next_offset(self) -> int:
        """Returns the global offset of the first mutation of the next block."""
        return self.end + BLOCK_HEADER.size

    def append(self, *mutations: Mutation) -> None:
        """Adds one block with these mutations, and sets their `log_offset` to their place in this log."""
        place, found = self.next_offset, bytearray()
        for one in mutations:
            found += encode_mutation(one, place + len(found))
        self._block(bytes(found))

    def _block(self, body: bytes) -> None:
        self._sum = crc32c(body, self._sum)
        self.data += BLOCK_HEADER.pack(MAGIC, len(body), self._sum, len(self.data)) + body


def encode_file_header(header: FileHeader) -> bytes:
    """Encodes a header to the bytes that `mutations.parse_file_header` reads."""
    entries = b"".join(
        FILE_ENTRY.pack(gpid.app_id, gpid.partition, decree, header.valid_offsets.get(gpid, 0))
        for gpid, decree in header.max_decrees.items()
    )
    return FILE_HEAD.pack(MAGIC, 1, header.start_offset, len(header.max_decrees)) + entries


def encode_mutation(mutation: Mutation, log_offset: int | None = None) -> bytes:
    """Encodes a mutation to the bytes that `mutations.mutation_span` reads.

    Args:
        mutation: the mutation, which must have a timestamp; the layout before Pegasus 1.x is not written.
        log_offset: the offset to write instead of the mutation's own; None = its own.
    """
    gpid: Gpid = mutation.gpid
    head = MUTATION_HEAD.pack(
        _VERSION, gpid.app_id, gpid.partition, mutation.ballot, mutation.decree,
        mutation.log_offset if log_offset is None else log_offset, mutation.committed, mutation.timestamp_us,
        len(mutation.updates),
    )  # fmt: skip
    names = b"".join(
        len(one.code).to_bytes(4, "little")
        + one.code.encode("ascii")
        + REQUEST_HEAD.pack(one.serialization, len(one.data))
        for one in mutation.updates
    )
    return head + names + b"".join(one.data for one in mutation.updates)


def encode_put(key: bytes, value: bytes) -> MutationUpdate:
    """Returns an RRDB_PUT of a row that never expires, in thrift's binary protocol with Pegasus's bare blobs.

    Args:
        key: the raw key.
        value: the user's bytes.
    """
    never = b"\x08\x00\x03" + bytes(4)  # field 3, an i32
    row = _blob_field(1, key) + _blob_field(2, value) + never + b"\x00"
    return MutationUpdate(PUT, 1, b"\x0c\x00\x00" + row + b"\x00")  # field 0 of the call, as C++ clients number it


def _blob_field(number: int, data: bytes) -> bytes:
    """Encodes a `dsn.blob`, whose type is struct: length and bytes, without fields."""
    return b"\x0c" + number.to_bytes(2, "big") + len(data).to_bytes(4, "big") + data
