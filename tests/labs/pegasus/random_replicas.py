"""Random replicas of a Pegasus table: overwrites, deletes, TTLs, copies that splits left, and logs."""

from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

from tests.labs.pegasus import own_logs
from tests.labs.pegasus import own_reading as own
from tests.labs.pegasus import private_logs as made
from tests.labs.pegasus.bulk_load import owner
from tests.labs.pegasus.random_logs import FAULTS, REFUSED, Request, drawn_logs
from tests.labs.pegasus.replicas import FLUSHED, NOW_S, app_info, init_info, write_db
from tests.labs.pegasus.split_tables import APP, Table

CLUSTER_ID = 5
UNFINISHED = "learning that did not end"
Rows = dict[bytes, bytes]
_LIVING, _KEPT, _ALL = 34, 40, 44
"""Keys of a partition: below the first number logs may write them, below the second it has them for sure."""
_LARGE = 64 << 10


class RandomReplicas(Table):
    """A table whose replicas are drawn.

    Attributes:
        kind: "clean"; "doubtful" has also what may lose rows; "refused" has a replica that no split takes.
        committed: the last committed decree of some partitions, as the operator knows it.
        created_with: the number of partitions before all splits, as the operator knows it.
        stated: the same by the `.app-info` of each partition; None = the operator did not copy the file.
        bare: the partitions whose `.init-info` the operator did not copy.
        valid: by partition, the offset from which mutations count.
        demanded: by partition, the decree up to which `.init-info` demands that data are flushed.
    """

    def __init__(self, spark: SparkSession, root: Path, seed: int, old: int, kind: str, *, large: bool = False) -> None:
        self.draw, self.kind, self._large = Random(seed), kind, large  # noqa: S311 - repeatable, no secret
        draw = self.draw
        self._later = Random(f"later {seed}")  # noqa: S311 - what was added later draws here: seeds keep their tables
        self.committed: dict[int, int] = {}
        self.bare: list[int] = []
        self.valid, self.demanded = [0] * old, [0] * old
        self._refused = draw.randrange(old) if kind == "refused" else None
        self._pool: list[list[bytes]] = [[] for _ in range(old)]
        while min(map(len, self._pool)) < _ALL + 24 * large:
            key = own.raw_key(draw.randbytes(draw.choice((0, 1, 9))), draw.randbytes(3))
            if key not in self._pool[owner(key, old)]:
                self._pool[owner(key, old)].append(key)
        before = [count for count in range(1, old + 1) if old % count == 0 and (old // count).bit_count() == 1]
        likely = before[:-1] if kind == "clean" and len(before) > 1 else before
        said = draw.choice(likely)
        self.created_with = draw.choice((None, said))
        other = [draw.choice((None, -1)) for _ in range(old)]
        self.stated: list[int | None] = other if draw.random() < 0.5 else [said] * old
        super().__init__(spark, root, old)

    @property
    def options(self) -> list[str]:
        """Returns what the operator gives a split and an export."""
        found = ["--cluster-id", str(CLUSTER_ID)]
        for partition, decree in self.committed.items():
            found += ["--committed-decree", f"{partition}={decree}"]
        return found

    def _replica(self, partition: int) -> None:
        draw, mine = self.draw, self._pool[partition]
        folder = self.reps / f"{APP}.{partition}.pegasus"
        is_empty = self.kind == "doubtful" and draw.random() < 0.15
        living = mine[: draw.choice((2, 8, _LIVING))]
        layers: list[dict[bytes, bytes | None]] = [{b"": bytes(12)}]
        layers += [{b"\0": b"a malformed key"}] * (self.kind == "doubtful")
        if not is_empty:
            for layer in range(3):
                chosen = draw.sample(living, len(living) * 2 // 3)
                removed = 0.2 * layer
                layers.append({key: None if draw.random() < removed else self._value(2 + layer) for key in chosen})
            layers.append({key: self._value(5) for key in mine[_LIVING:_KEPT]})
            layers[-1] |= self._copies(partition)
            large = sorted(mine[_ALL : _ALL + 24]) if self._large else []
            layers += [{key: self._value(6, _LARGE) for key in large[at : at + 6]} for at in range(0, len(large), 6)]
        write_db(folder / "data" / "rdb", layers)
        self._logs(
            folder,
            partition,
            mine[:1] if is_empty else [*living, *mine[_ALL : _ALL + 24 * self._large]],
            is_empty=is_empty,
        )
        stated = self.stated[partition]
        if stated is not None:
            (folder / ".app-info").write_bytes(app_info(APP, "temp", self.old, stated))

    def _value(self, time: int, size: int = 6) -> bytes:
        expire = self.draw.choice((0, 0, NOW_S - own.EPOCH_S, NOW_S - own.EPOCH_S + 1))
        value = own.value_1(self.draw.randbytes(size), expire, time, CLUSTER_ID)
        short = self.kind == "doubtful" and self._later.random() < 0.03
        return value[: self._later.randrange(own.HEADER)] if short else value

    def _copies(self, partition: int) -> Rows:
        """Returns rows of other partitions: older, expired without an owner's row, and with doubts also others."""
        draw = self.draw
        if self.kind != "doubtful":
            return (
                self._left_by_a_split(self._pool[(partition + self.old // 2) % self.old]) if self.old % 2 == 0 else {}
            )
        theirs = self._pool[(partition + draw.randrange(1, max(self.old, 2))) % self.old]
        copies = self._left_by_a_split(theirs) if theirs is not self._pool[partition] else {}
        if draw.random() < 0.5:
            copies[theirs[38]] = own.value_1(b"newer", 0, 9, CLUSTER_ID)
        if draw.random() < 0.5:
            copies[theirs[39]] = own.value_1(b"other", 0, 5, CLUSTER_ID)
        for key in theirs[42 : 42 + draw.randrange(3)]:
            copies[key] = own.value_1(b"orphan", 0, 1, CLUSTER_ID)
        if draw.random() < 0.2:
            copies |= {key: own.value_1(b"a crowd", 0, 1, CLUSTER_ID) for key in theirs[:_KEPT] if key not in copies}
        return copies

    @staticmethod
    def _left_by_a_split(theirs: list[bytes]) -> Rows:
        copies = {key: own.value_1(b"older", 0, 1, CLUSTER_ID) for key in theirs[34:38]}
        return copies | dict.fromkeys(theirs[40:42], own.value_1(b"gone", NOW_S - own.EPOCH_S, 1, CLUSTER_ID))

    def _logs(self, folder: Path, partition: int, writable: list[bytes], *, is_empty: bool) -> None:
        draw, gpid = self.draw, (APP, partition)
        fault = ""
        if partition == self._refused:
            fault = draw.choice((*REFUSED, UNFINISHED))
        elif self.kind == "doubtful" and draw.random() < 0.5:
            fault = draw.choice(FAULTS)
        odd = 0.3 if self.kind == "doubtful" and draw.random() < 0.5 else 0.0
        logs = drawn_logs(
            draw, gpid, FLUSHED, lambda: made.remove(writable[0]) if is_empty else self._request(partition, writable),
            odd=odd, fault=fault,
        )  # fmt: skip
        if fault != "no log" or draw.random() < 0.5:
            (folder / "plog").mkdir()
        for name, data in logs.files.items():
            (folder / "plog" / name).write_bytes(data)
        learned = logs.valid is not None or fault == UNFINISHED
        if learned:
            self.valid[partition] = logs.valid or 0
            self.demanded[partition] = FLUSHED + 9 if fault == UNFINISHED else FLUSHED
        if self.kind == "doubtful" and not learned and self._later.random() < 0.1:
            self.bare.append(partition)
        else:
            told = init_info(self.valid[partition], self.demanded[partition])
            (folder / ".init-info").write_bytes(told)
        if not fault and draw.random() < 0.25:
            self._know_the_decree(folder, partition)

    def _know_the_decree(self, folder: Path, partition: int) -> None:
        mutations = [one for log in own_logs.read_logs(folder / "plog") for one in log.mutations]
        replayed = own_logs.replayed(mutations, (APP, partition), FLUSHED, self.valid[partition])
        last = FLUSHED + len(replayed.committed)
        proven = max([FLUSHED, *(one.committed for one in mutations if one.offset >= self.valid[partition])])
        if not replayed.missing:
            self.committed[partition] = self.draw.randint(proven, last)

    def _request(self, partition: int, writable: list[bytes]) -> Request:
        draw = self.draw
        key = draw.choice(writable)
        if self.kind == "doubtful" and draw.random() < 0.05:  # what the parent of a split took too late
            key = draw.choice(self._pool[(partition + 1) % self.old][:_ALL])
        length = int.from_bytes(key[:2], "big")
        hash_key, sort = key[2 : 2 + length], key[2 + length :]
        client = draw.randrange(2)
        kind = draw.randrange(7 if length else 3)
        if kind == 0:
            return made.put(key, draw.randbytes(4), draw.choice((0, 7)), client)
        if kind == 1:
            return made.remove(key)
        if kind == 2:
            return made.idempotent_put(key, b"atomic", draw.choice((0, 7)), draw.randrange(4))
        if kind == 3:
            return made.multi_put(hash_key, [(sort, b"a"), (sort + b"2", b"b")], 0)
        if kind == 4:
            return made.multi_remove(hash_key, [sort])
        return made.idempotent_remove(key)
