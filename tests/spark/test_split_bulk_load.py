"""What split-run writes can be loaded: Pegasus's checks pass, its RocksDB ingests it, and every row is there once."""

import json
import random
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from pipelines.pegasus.sinks.part_files import PartitionFiles
from tests.labs.pegasus import bulk_load
from tests.labs.pegasus import private_logs as made
from tests.labs.pegasus.private_logs import Entry
from tests.labs.pegasus.replicas import FLUSHED, write_db, write_infos, write_log
from tests.labs.pegasus.split_tables import APP, TARGET, Table
from tests.labs.places import DOCS

pytestmark = pytest.mark.long


class RandomTable(Table):
    """A table of random rows: overwritten, removed, with TTL, with odd keys, in the data or only in the log."""

    def __init__(self, spark: SparkSession, root: Path, seed: int, old: int, version: int) -> None:
        self.draw, self.version = random.Random(seed), version  # noqa: S311 - repeatable, no secret
        super().__init__(spark, root, old)

    def _key(self, partition: int) -> bytes:
        while True:
            hash_key = self.draw.randbytes(self.draw.choice((0, 1, 7, 30)))
            key = len(hash_key).to_bytes(2, "big") + hash_key + self.draw.randbytes(self.draw.choice((0, 1, 5)))
            if bulk_load.owner(key, self.old) == partition:
                return key

    def _value(self, data: bytes, expire: int = 0, time: int = 1) -> bytes:
        tag = b"" if self.version == 0 else (time << 8 | 2).to_bytes(8, "big")
        return expire.to_bytes(4, "big") + tag + data

    def _replica(self, partition: int) -> None:
        keys = [self._key(partition) for _ in range(40)]
        layers: list[dict[bytes, bytes | None]] = [{b"": self._value(b"")}]
        rows: dict[bytes, bytes] = {}
        for layer in range(3):
            layers.append({})
            for key in self.draw.sample(keys, 25):
                data = self.draw.randbytes(6)
                gone = layer > 0 and self.draw.random() < 0.3
                layers[-1][key] = None if gone else self._value(data, self.draw.choice((0, 1 << 30)))
                rows.pop(key, None) if gone else rows.update({key: layers[-1][key] or b""})
        folder = self.reps / f"{APP}.{partition}.pegasus"
        write_db(folder / "data" / "rdb", layers, version=self.version)
        time = 1_600_000_000_000_000
        entries = []
        for place, key in enumerate(self.draw.sample(keys, 6), 1):
            data = self.draw.randbytes(5)
            remove = self.draw.random() < 0.3
            entries.append(Entry(FLUSHED + place, (made.remove(key) if remove else made.put(key, data),)))
            rows.pop(key, None) if remove else rows.update({key: self._value(data, 0, time)})
        write_log(folder / "plog", APP, partition, entries)
        write_infos(folder, APP, self.old)
        # a target has version 1: values of version 0 get a time tag of 0
        self.live |= {key: value if self.version else value[:4] + bytes(8) + value[4:] for key, value in rows.items()}


def test_pegasus_refuses_files_that_overlap(
    spark: SparkSession, tmp_path: Path, ingestion: bulk_load.Ingestion
) -> None:
    table = RandomTable(spark, tmp_path, seed=1, old=1, version=1)
    assert table.run(new=2, out="whole")[0] == 0
    rows = sorted(ingestion.rows(bulk_load.download(table.output("whole") / "0")).items())
    alternately = []
    for name, mine in (("even", rows[::2]), ("odd", rows[1::2])):
        sink = PartitionFiles(tmp_path / name, 0, 1 << 20, parquet=False)
        sink.put(0, mine)
        sink.close()
        alternately += sorted((tmp_path / name).rglob("*.sst"))
    with pytest.raises(Py4JJavaError, match="Files have overlapping ranges"):
        ingestion.rows(alternately)
    assert ingestion.rows(alternately[:1]) == dict(rows[::2]), "each of them alone is taken"


@pytest.mark.parametrize(
    ("info", "asked"), [(None, 2), ({"app_id": TARGET, "app_name": "temp", "partition_count": 2}, 4)]
)
def test_the_page_has_the_answers_of_the_meta_server(
    tmp_path: Path, info: dict[str, object] | None, asked: int
) -> None:
    if info is not None:
        (tmp_path / "bulk_load_info").write_text(json.dumps(info))
    with pytest.raises(bulk_load.RefusedError) as refused:
        bulk_load.start(tmp_path, "temp", TARGET, asked)
    code, hint = str(refused.value).split(", ")
    rows = (DOCS / "split-offline.md").read_text(encoding="utf-8").splitlines()
    assert [row for row in rows if row.startswith(f"| 5 | `{code}`, `{hint}` |")]


@pytest.mark.promise("split-offline")
@pytest.mark.parametrize(
    ("old", "new", "version"), [(4, 16, 1), (6, 8, 1), (3, 4, 0), (1, 64, 1)], ids=["4-16", "6-8", "3-4-v0", "1-64"]
)
def test_pegasus_takes_it_and_has_every_row_once(
    spark: SparkSession, tmp_path: Path, ingestion: bulk_load.Ingestion, old: int, new: int, version: int
) -> None:
    table = RandomTable(spark, tmp_path, seed=old * 100 + new, old=old, version=version)
    code, result = table.run(new=new)
    assert code == 0, result
    folder = table.output()
    bulk_load.start(folder, "temp", TARGET, new)
    for wrong in ((APP, new), (TARGET, new * 2)):
        with pytest.raises(bulk_load.RefusedError, match="ERR_INCONSISTENT_STATE"):
            bulk_load.start(folder, "temp", *wrong)
    assert all(bulk_load.download(folder / str(partition)) for partition in range(new)), "none without a file"
    assert ingestion.loaded(folder, "temp", TARGET, new) == table.live
