"""What an offline split and an export must make of random replicas, by a second reading of Pegasus's sources."""

from collections import Counter
from dataclasses import dataclass, field

from tests.labs.pegasus import own_logs
from tests.labs.pegasus import own_reading as own
from tests.labs.pegasus.bulk_load import Ingestion, owner
from tests.labs.pegasus.own_logs import DamagedError
from tests.labs.pegasus.random_replicas import CLUSTER_ID, RandomReplicas, Rows
from tests.labs.pegasus.replicas import FLUSHED, NOW_S
from tests.labs.pegasus.split_tables import APP

Errors = dict[str, list[int]]
"""By the key of an error finding: its partitions, or the decrees that are left out."""


@dataclass
class Answer:
    """What the second reading says of a table.

    Attributes:
        lie: the rows of each partition as they lie, after the log.
        live: the rows of the split table.
        log_errors: what is wrong with the logs.
        row_errors: what is wrong with the rows.
        refused: the conditions with which a split may refuse the table; it must refuse it if there is one.
    """

    lie: list[Rows] = field(default_factory=list)
    live: Rows = field(default_factory=dict)
    log_errors: Errors = field(default_factory=dict)
    row_errors: Errors = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)

    @property
    def errors(self) -> Errors:
        return self.log_errors | self.row_errors


def answer(table: RandomReplicas, ingestion: Ingestion, *, drop_expired: bool = False) -> Answer:
    """Reads the replicas."""
    found = Answer()
    bare = 0
    for partition in range(table.old):
        folder = table.reps / f"{APP}.{partition}.pegasus"
        found.lie.append(ingestion.stored(folder / "data" / "rdb"))
        try:
            logs = own_logs.read_logs(folder / "plog")
        except DamagedError:
            found.refused.add("REPLICA_DAMAGED")
            continue
        bare += not logs
        for rule, log in own_logs.doubts(logs, (APP, partition)):
            found.log_errors[f"SPLIT_{rule}:{APP}.{partition}@{table.reps}/{log}"] = []
        _replay(table, partition, logs, found)
    if bare:
        found.log_errors[f"SPLIT_L6:temp/{bare}"] = []
    if None in table.stated:
        found.log_errors[f"SPLIT_R1:temp/{table.old}"] = []
    if table.bare:
        found.log_errors[f"SPLIT_R4:temp/{len(table.bare)}"] = []
    _judge(table, found, drop_expired=drop_expired)
    return found


def _replay(table: RandomReplicas, partition: int, logs: list[own_logs.Log], found: Answer) -> None:
    gpid, valid, known = (APP, partition), table.valid[partition], table.committed.get(partition)
    mutations = [one for log in logs for one in log.mutations]
    replayed = own_logs.replayed(mutations, gpid, FLUSHED, valid, known)
    last = FLUSHED + len(replayed.committed)
    unread = known is None and own_logs.lacks_earlier(logs, gpid, valid, last)
    if replayed.missing or unread or table.demanded[partition] > FLUSHED:
        found.refused.add("DECREE_MISSING")
        return
    if any(code in own.NEED_BASE for one in replayed.committed for code, _ in one.requests):
        found.refused.add("DECREE_NOT_REPLAYABLE")
        return
    if replayed.left_out:
        found.log_errors[f"SPLIT_L2:temp/{partition}/{len(replayed.left_out)}"] = replayed.left_out
    for one in replayed.committed:
        for key, data, expire in own.changes(one):
            if data is None:
                found.lie[-1].pop(key, None)
            else:
                found.lie[-1][key] = own.value_1(data, expire, one.time_us, CLUSTER_ID)


def _judge(table: RandomReplicas, found: Answer, *, drop_expired: bool) -> None:
    doubts: dict[str, Counter[int]] = {}
    empty, crowded = [], []
    malformed = Counter[int]()
    for partition, lie in enumerate(found.lie):
        owned = others = 0
        for key, value in lie.items():
            if not own.is_well_formed(key):
                malformed[partition] += key != b""
                continue
            if owner(key, table.old) == partition:
                owned += 1
                malformed[partition] += len(value) < own.HEADER
                if len(value) >= own.HEADER and not (drop_expired and own.has_expired(value, NOW_S)):
                    found.live[key] = value
                continue
            others += 1
            rule = _doubt(table, found.lie, partition, key, value)
            if rule:
                doubts.setdefault(rule, Counter())[partition] += 1
        empty += [partition] * (not owned + others)
        crowded += [partition] * (others > owned)
    for rule, rows in doubts.items():
        found.row_errors[f"SPLIT_{rule}:temp/{rows.total()}"] = sorted(rows)
    if malformed.total():
        found.row_errors[f"SPLIT_D6:temp/{malformed.total()}"] = sorted(+malformed)
    for words, partitions in (("stale", crowded), ("empty", empty)):
        if partitions:
            found.row_errors[f"SPLIT_D7:temp/{words}/{len(partitions)}"] = partitions


def _doubt(table: RandomReplicas, lie: list[Rows], partition: int, key: bytes, copy: bytes) -> str | None:
    """Returns the rule by which a row of another partition may not be left out; None = its owner has it, or had it."""
    before = _created_with(table)
    if owner(key, before) != partition % before:
        return "D3"
    theirs = lie[owner(key, table.old)].get(key)
    if copy == theirs:
        return None
    if theirs is None:
        return None if len(copy) >= own.HEADER and own.has_expired(copy, NOW_S) else "D1"
    if min(len(copy), len(theirs)) < own.HEADER:  # it has no time tag
        return "D5"
    if own.time_tag(copy) == own.time_tag(theirs):  # one write has one tag; a compaction may give it another TTL
        return None if own.data_of(copy) == own.data_of(theirs) else "D5"
    return "D5" if own.time_tag(copy) > own.time_tag(theirs) else None


def _created_with(table: RandomReplicas) -> int:
    """The number that was given, or that all files state; else the least, for `meta_split_service` only doubles it."""
    if table.created_with is not None:
        return table.created_with
    stated = {one or 0 for one in table.stated}
    if len(stated) == 1 and max(stated) > 0:
        return max(stated)
    least = table.old
    while least % 2 == 0:
        least //= 2
    return least
