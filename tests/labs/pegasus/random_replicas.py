"""Random replicas of a Pegasus table, and by a second reading what an offline split and an export must make of them."""

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from tests.labs.pegasus import own_reading as own
from tests.labs.pegasus import private_logs as made
from tests.labs.pegasus.bulk_load import Ingestion, owner
from tests.labs.pegasus.private_logs import Entry, LogWriter
from tests.labs.pegasus.replicas import FLUSHED, NOW_S, write_db
from tests.labs.pegasus.split_tables import APP, Table

CLUSTER_ID = 5
TIME = 1_600_000_000_000_000
Rows = dict[bytes, bytes]


@dataclass
class Answer:
    """What the second reading says of a table.

    Attributes:
        lie: the rows of each partition as they lie, after the log.
        live: the rows of the split table.
        errors: the rows or partitions of each error finding.
    """

    lie: list[Rows] = field(default_factory=list)
    live: Rows = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)


class RandomReplicas(Table):
    """A table of random replicas: overwrites, deletes, TTLs, copies of a split, and logs with everything they can hold.

    With `doubts`, copies and logs have also what makes an offline split lose rows.
    """

    def __init__(
        self, spark: SparkSession, root: Path, ingestion: Ingestion, seed: int, old: int, *, doubts: bool
    ) -> None:
        self.draw, self.doubts = random.Random(seed), doubts  # noqa: S311 - repeatable, no secret
        self._ingestion = ingestion
        self.valid = [0] * old
        self.pool: list[list[bytes]] = [[] for _ in range(old)]
        while min(map(len, self.pool)) < 44:
            key = own.raw_key(self.draw.randbytes(self.draw.choice((0, 1, 9))), self.draw.randbytes(3))
            if key not in self.pool[owner(key, old)]:
                self.pool[owner(key, old)].append(key)
        super().__init__(spark, root, old)

    def _value(self, time: int) -> bytes:
        expire = self.draw.choice((0, 0, NOW_S - own.EPOCH_S, NOW_S - own.EPOCH_S + 1))
        return own.value_1(self.draw.randbytes(6), expire, time, CLUSTER_ID)

    def _replica(self, partition: int) -> None:
        mine = self.pool[partition][:40]
        layers: list[dict[bytes, bytes | None]] = [{b"": bytes(12)}]
        for layer in range(3):
            chosen = self.draw.sample(mine[:34], 20)
            layers.append({key: None if self.draw.random() < 0.2 * layer else self._value(2 + layer) for key in chosen})
        layers.append({key: self._value(5) for key in mine[34:]})  # no log removes them: others have copies of them
        layers[-1] |= self._copies(partition)
        folder = self.reps / f"{APP}.{partition}.pegasus"
        write_db(folder / "data" / "rdb", layers)
        self._logs(folder, partition, mine)

    def _copies(self, partition: int) -> Rows:
        """Returns rows of another partition: older, expired without an owner's row, and with doubts also others."""
        other = (partition + self.old // 2) % self.old
        theirs = self.pool[other]
        copies = {key: own.value_1(b"older", 0, 1, CLUSTER_ID) for key in theirs[34:38]}
        gone = dict.fromkeys(theirs[40:42], own.value_1(b"gone", NOW_S - own.EPOCH_S, 1, CLUSTER_ID))
        copies |= gone
        if self.doubts:
            if self.draw.random() < 0.7:
                copies[theirs[38]] = own.value_1(b"newer", 0, 9, CLUSTER_ID)
            for key in theirs[42 : 42 + self.draw.randrange(3)]:
                copies[key] = own.value_1(b"orphan", 0, 1, CLUSTER_ID)
        return copies

    def _logs(self, folder: Path, partition: int, mine: list[bytes]) -> None:
        """Writes two logs that follow each other."""
        (folder / "plog").mkdir(parents=True)
        decree, ballot, start = FLUSHED - 2, 3, 0
        for number in (1, 2):
            log = LogWriter(APP, partition, start, 0)
            for _ in range(self.draw.randrange(3, 7)):
                if self.draw.random() < 0.3:
                    ballot += 1
                    if self.draw.random() < 0.5 and decree > FLUSHED:  # a new primary prepares the last one again
                        decree -= 1
                decree += 1
                if self.doubts and number == 2 and self.draw.random() < 0.1:
                    decree += 1
                requests = tuple(self._request(mine[:34]) for _ in range(self.draw.randrange(3)))
                committed = min(decree, FLUSHED + 1) - 1
                log.add(Entry(decree, requests, ballot, committed, timestamp_us=TIME + decree))
            (folder / "plog" / f"log.{number}.{start}").write_bytes(log.data)
            start = log.end

    def _request(self, mine: list[bytes]) -> tuple[str, bytes]:
        key = self.draw.choice(mine)
        length = int.from_bytes(key[:2], "big")
        hash_key, sort = key[2 : 2 + length], key[2 + length :]
        kind = self.draw.randrange(5 if length else 2)
        if kind == 0:
            return made.put(key, self.draw.randbytes(4), self.draw.choice((0, 7)))
        if kind == 1:
            return made.remove(key)
        if kind == 2:
            return made.multi_put(hash_key, [(sort, b"a"), (sort + b"2", b"b")], 0)
        if kind == 3:
            return made.multi_remove(hash_key, [sort])
        return made.idempotent_remove(key)

    def answer(self, *, created_with: int, drop_expired: bool) -> Answer:
        """Reads the replicas a second time."""
        found = Answer()
        for partition in range(self.old):
            folder = self.reps / f"{APP}.{partition}.pegasus"
            lie = self._ingestion.stored(folder / "data" / "rdb")
            paths = sorted((folder / "plog").iterdir(), key=lambda path: int(path.name.split(".")[1]))
            mutations = [one for path in paths for one in own.logged(path.read_bytes())]
            replayed = own.replayed(mutations, APP, partition, FLUSHED, self.valid[partition])
            found.errors["SPLIT_L2"] += bool(replayed.left_out)
            for one in replayed.committed:
                for key, data, expire in own.changes(one):
                    if data is None:
                        lie.pop(key, None)
                    else:
                        lie[key] = own.value_1(data, expire, one.time_us, CLUSTER_ID)
            found.lie.append(lie)
        for partition, lie in enumerate(found.lie):
            for key, value in lie.items():
                if not key:
                    continue
                if owner(key, self.old) != partition:
                    found.errors[self._doubt(found.lie, partition, key, value, created_with)] += 1
                elif not (drop_expired and own.has_expired(value, NOW_S)):
                    found.live[key] = value
        del found.errors[""]
        found.errors = +found.errors
        return found

    def _doubt(self, lie: list[Rows], partition: int, key: bytes, copy: bytes, created_with: int) -> str:
        """Returns the error of leaving out a row that another partition owns; empty = it loses nothing."""
        if owner(key, created_with) != partition % created_with:
            return "SPLIT_D3"
        theirs = lie[owner(key, self.old)].get(key)
        if theirs is None:
            return "" if own.has_expired(copy, NOW_S) else "SPLIT_D1"
        return "SPLIT_D5" if own.time_tag(copy) > own.time_tag(theirs) else ""

    def forget_the_first_log(self, partition: int) -> None:
        """Writes an `.init-info` by which only the second log counts, as after `replica::update_init_info`."""
        folder = self.reps / f"{APP}.{partition}.pegasus"
        (name,) = [path.name for path in (folder / "plog").iterdir() if path.name.startswith("log.2.")]
        self.valid[partition] = int(name.split(".")[2])
        told = {"init_ballot": 3, "init_durable_decree": FLUSHED, "init_offset_in_private_log": self.valid[partition]}
        (folder / ".init-info").write_text(json.dumps(told))
