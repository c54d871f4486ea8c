"""The columns of private logs against a plain decoder of one mutation after the other."""

import io
import random
from contextlib import nullcontext
from typing import Any

import pytest

from pipelines.common.errors import MalformedError
from pipelines.pegasus.domain.keys import key_hash
from pipelines.pegasus.domain.private_log.mutations import Mutation
from pipelines.pegasus.domain.private_log.reader import PrivateLogReader
from pipelines.pegasus.domain.private_log.requests import Replay, decode_request
from pipelines.pegasus.transforms import log_rows
from tests.labs.pegasus import private_logs as made
from tests.labs.pegasus.private_logs import Entry, LogWriter

TASK = {"uri": "", "node": "n1", "app_id": 2, "partition": 1, "log": "log.1.0"}


def decoded(data: bytes) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    rows = [row for batch in log_rows.log_batches(TASK, lambda _: nullcontext(io.BytesIO(data).read))
            for row in batch.to_pylist()]  # fmt: skip
    assert [row["file"] is None for row in rows] == [True] * (len(rows) - 1) + [False]
    return [row["mutation"] for row in rows[:-1]], rows[-1]["file"]


def plain(mutation: Mutation) -> dict[str, Any]:
    requests = [decode_request(update) for update in mutation.updates]
    hashes = set()
    for one in requests:
        if one.key is not None:
            try:
                unsigned = key_hash(one.key)
            except MalformedError:
                unsigned = 0
            hashes.add(unsigned - (1 << 64) if unsigned >> 63 else unsigned)
    return {
        "node": "n1", "app_id": 2, "partition": 1, "log": "log.1.0", "log_offset": mutation.log_offset,
        "decree": mutation.decree, "ballot": mutation.ballot, "committed": mutation.committed,
        "timestamp_us": mutation.timestamp_us, "codes": [update.code for update in mutation.updates],
        "hashes": sorted(hashes), "empty": all(one.replay is Replay.EMPTY for one in requests),
    }  # fmt: skip


def key(draw: random.Random) -> bytes:
    size = draw.choice([0, 1, 5, 300])
    return size.to_bytes(2, "big") + draw.randbytes(size + draw.choice([0, 0, 1, 7]))


def request(draw: random.Random) -> tuple[str, bytes]:
    code, data = draw.choice(
        [made.put(key(draw), draw.randbytes(draw.choice([0, 3, 100])), draw.choice([0, 5]), draw.choice([0, 1]))] * 6
        + [made.remove(key(draw)), made.multi_put(b"h" * draw.choice([0, 2]), [(b"s", b"v")] * draw.randint(0, 2)),
           made.multi_remove(b"h", [b"s", b"t"]), made.incr(key(draw), 1), made.check_and_set(b"h", b"s", b"v"),
           made.put(b"\xff\xffkey", b"v"), made.put(b"", b"v"), ("RPC_RRDB_RRDB_TTL", b"?")]
    )  # fmt: skip
    if draw.random() < 0.3:  # bytes that no client writes
        broken = bytearray(data)
        for _ in range(draw.randint(1, 3)):
            broken[draw.randrange(len(broken))] = draw.choice([0, 1, 2, 8, 12, 255])
        data = bytes(broken[: draw.choice([len(broken), draw.randint(0, len(broken))])])
    return code, data


@pytest.mark.parametrize("seed", range(40))
def test_columns_say_what_the_plain_decoder_says(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)  # noqa: S311
    monkeypatch.setattr(log_rows, "BATCH", draw.choice([1, 7, 8192]))
    writer, decree = LogWriter(2, 1), 0
    for _ in range(draw.randint(1, 12)):
        entries = []
        for _ in range(draw.choice([1, 1, 5, 30])):
            decree += 1
            requests = tuple(request(draw) for _ in range(draw.choice([0, 1, 1, 1, 3])))
            gpid = (2, 5) if draw.random() < 0.02 else None
            entries.append(Entry(decree, requests, draw.randint(3, 5), gpid=gpid))
        writer.add(*entries)
    data = bytes(writer.data)
    if draw.random() < 0.3:
        data = data[: draw.randint(0, len(data))]
    reader = PrivateLogReader(io.BytesIO(data).read, 0)
    expected = list(reader)
    rows, file = decoded(data)
    assert [{name: value for name, value in row.items() if name != "digest"} for row in rows] == list(
        map(plain, expected)
    )
    replays = [decode_request(update).replay for one in expected for update in one.updates]
    ballots = [one.ballot for one in expected]
    assert (file["mutations"], file["ending"], file["length"]) == (len(expected), reader.ending.value, reader.length)
    assert file["undecoded"] == sum(one in {Replay.NEEDS_BASE, Replay.UNKNOWN} for one in replays)
    assert file["foreign"] == sum(one.gpid.partition != 1 for one in expected)
    assert file["ballots_back"] == sum(ballot < max(ballots[:at], default=0) for at, ballot in enumerate(ballots))


def test_a_digest_is_of_the_requests_alone() -> None:
    def digest(request: tuple[str, bytes], decree: int = 1, ballot: int = 3) -> str:
        ((row,), _) = decoded(bytes(LogWriter(2, 1).add(Entry(decree, (request,), ballot)).data))
        assert isinstance(row["digest"], str)
        return row["digest"]

    one = made.put(b"\0\1ks", b"v")
    assert digest(one) == digest(one, decree=9, ballot=4)
    others = [
        made.put(b"\0\1ks", b"w"),
        made.put(b"\0\1kt", b"v"),
        made.put(b"\0\1ks", b"v", 1),
        made.remove(b"\0\1ks"),
    ]
    assert len({digest(other) for other in [one, *others]}) == 5
