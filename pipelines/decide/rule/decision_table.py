"""The fast form: the whole rule for tracked WALs as one small table, which the specification computes once.

For one (server, group), the answer of `decide_replication` changes only where the file's timestamp passes a row's
need. So the driver asks the specification once for each stretch between two needs. The work per file is a lookup by
(group, timestamp), or by server if the group has no row; a server that is fully dead without any row gets one common
answer (docs/adr/0002).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipelines.decide.rule.cleaner_rule import HBaseVerdict, for_every_file, for_tracked_wal
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.table_rule import decide_replication
from pipelines.decide.rule.verdict import Decision, Reason, deletable, held
from pipelines.hbase.replication_queues import NEEDS_ALL
from pipelines.hbase.server_names import MAX_LONG, ServerName
from pipelines.hbase.wal_names import encode_prefix, parse_wal_name

OVERFLOW = -1
"""Represents a timestamp over 64 bits in a question; real timestamps are zero or more."""
UNKNOWN_SERVER = ServerName("unknown.invalid", 0, 0)
"""Represents every server that is fully dead and has no row."""


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """Our decision and HBase's for every file of one stretch.

    Attributes:
        bucket: number of the stretch within the run.
        server: with `group` and `timestamp`, the question that was asked for all files of the stretch.
    """

    bucket: int
    server: ServerName
    group: str
    timestamp: int
    decision: Decision
    hbase_verdict: HBaseVerdict


@dataclass(frozen=True, slots=True)
class TimestampRange:
    """The files of one group from this timestamp (ms) up to the next stretch."""

    from_timestamp: int
    answer: TableAnswer


@dataclass(frozen=True, slots=True)
class GroupAnswers:
    """The answers for the files of one group that has a row.

    Attributes:
        name: the WAL group, verbatim.
        stretches: from timestamp 0, ascending; their buckets are consecutive numbers.
        overflow: the answer for files whose timestamp is over 64 bits.
    """

    server: ServerName
    name: str
    stretches: tuple[TimestampRange, ...]
    overflow: TableAnswer

    def answer(self, timestamp: int) -> TableAnswer:
        """Returns the answer for a timestamp that fits 64 bits."""
        return [stretch for stretch in self.stretches if stretch.from_timestamp <= timestamp][-1].answer


@dataclass(frozen=True, slots=True)
class ServerAnswers:
    """The answers for the files of a server whose group has no row; they are the same for every timestamp.

    Attributes:
        encoded: the server as encoded at the start of a WAL name, with the host in lower case.
        plain: the answer for every group except the next one.
        replication_table: the answer for the group of `hbase:replication` itself.
    """

    server: ServerName
    encoded: str
    plain: TableAnswer
    replication_table: TableAnswer


@dataclass(frozen=True, slots=True)
class QueuedName:
    """A WAL that is in a queue in ZooKeeper.

    Attributes:
        bucket: bucket of its answer.
        positions: position in each queue of the answer's holders, in their order; None = unreadable.
    """

    bucket: int
    positions: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class NamedAnswers:
    """The answers by exact name (`queue_storage: zookeeper`); `pipelines.decide.rule.name_table` makes them.

    Attributes:
        wals: every WAL in a queue, by name.
        pending: the answers for these WALs.
        read_from: start of the first reading, ms since the epoch. Any other file gets the table's answer `unknown` if
            it was modified before, else `no_server`.
    """

    wals: Mapping[str, QueuedName]
    pending: tuple[TableAnswer, ...]
    read_from: int


@dataclass(frozen=True, slots=True)
class DecisionTable:
    """The table of one cluster.

    Attributes:
        groups: every group that has a row and can be the group of a file.
        servers: every server that is not fully dead or has a row.
        unknown: the answer for any other server: fully dead, without a row.
        no_server: the answer for a valid WAL name in which HBase finds no server (reason POISON_NAME).
        named: the answers for files looked up by name; None = the queues are rows of a table, as described above.
    """

    cluster: str
    groups: tuple[GroupAnswers, ...]
    servers: tuple[ServerAnswers, ...]
    unknown: TableAnswer
    no_server: TableAnswer
    named: NamedAnswers | None = None

    @property
    def by_name(self) -> tuple[TableAnswer, ...]:
        """The answers for WALs that a queue lists by name."""
        return () if self.named is None else self.named.pending

    @property
    def buckets_by_name(self) -> Mapping[str, int]:
        """The bucket of each WAL that a queue lists."""
        return {} if self.named is None else {wal: name.bucket for wal, name in self.named.wals.items()}

    def answers(self) -> Iterator[TableAnswer]:
        """Yields every answer of the table, each bucket once."""
        for group in self.groups:
            yield from (stretch.answer for stretch in group.stretches)
            yield group.overflow
        for server in self.servers:
            yield server.plain
            yield server.replication_table
        yield from self.by_name
        yield self.unknown
        yield self.no_server

    @property
    def next_bucket(self) -> int:
        """The first bucket number that this table does not use."""
        return self.no_server.bucket + 1


def decision_table(view: ClusterView, first_bucket: int = 0) -> DecisionTable:
    """Builds the table by asking the specification once per stretch.

    Args:
        view: the cluster.
        first_bucket: number of the first bucket, so that buckets are unique across a fleet.
    """
    buckets = _Counter(first_bucket)
    groups = tuple(_group_answers(view, buckets))
    servers = tuple(_server_answers(view, buckets))
    return DecisionTable(
        cluster=view.cluster,
        groups=groups,
        servers=servers,
        unknown=_answer(view, UNKNOWN_SERVER, "unknown", 0, buckets),
        no_server=TableAnswer(
            buckets.next(),
            UNKNOWN_SERVER,
            "",
            OVERFLOW,
            held(Reason.POISON_NAME),
            for_every_file(view) or HBaseVerdict.THROWS,
        ),
    )


class _Counter:
    def __init__(self, first: int) -> None:
        self._next = first

    def next(self) -> int:
        self._next += 1
        return self._next - 1


def _group_answers(view: ClusterView, buckets: _Counter) -> Iterator[GroupAnswers]:
    for source, rows in sorted(view.rows_of_source.items()):
        for group in sorted({group for row in rows for group in row.offsets}):
            # a file's server and validity come from its own name, so such a row matches no file
            wal = parse_wal_name(f"{group}.0")
            if wal is None or wal.server != source:
                continue
            needs = {row.need(group) for row in rows}
            starts = sorted({0} | {need for need in needs if NEEDS_ALL < need <= MAX_LONG})
            stretches = tuple(TimestampRange(start, _answer(view, source, group, start, buckets)) for start in starts)
            overflow = TableAnswer(
                buckets.next(),
                source,
                group,
                OVERFLOW,
                held(Reason.POISON_NAME),
                for_every_file(view) or for_tracked_wal(view, source, group, None),
            )
            yield GroupAnswers(source, group, stretches, overflow)


def _server_answers(view: ClusterView, buckets: _Counter) -> Iterator[ServerAnswers]:
    for server in sorted(view.not_fully_dead | view.hbase_not_fully_dead | set(view.rows_of_source)):
        encoded = encode_prefix(str(server))
        plain = _unrecorded(encoded, view, server)
        replication_table = _unrecorded(f"{encoded}.{encoded}.rep.", view, server)
        yield ServerAnswers(
            server,
            encoded,
            _answer(view, server, plain, 0, buckets),
            _answer(view, server, replication_table, 0, buckets),
        )


def _unrecorded(prefix: str, view: ClusterView, server: ServerName) -> str:
    """Returns a group that begins with `prefix` and that no row has; it represents all such groups."""
    group = prefix + "\n"
    while any(group in row.offsets for row in view.rows_of_source.get(server, ())):
        group += "\n"
    return group


def _answer(view: ClusterView, server: ServerName, group: str, timestamp: int, buckets: _Counter) -> TableAnswer:
    decision = decide_replication(view, server, group, timestamp) if view.peer_ids else deletable(Reason.NO_PEERS)
    hbase = for_every_file(view) or for_tracked_wal(view, server, group, timestamp)
    return TableAnswer(buckets.next(), server, group, timestamp, decision, hbase)
