"""The digests of rows: any other byte, length or place gives another digest, whatever the batch looks like."""

import random

import pyarrow as pa

from pipelines.pegasus.transforms.row_digests import row_digests


def digests(rows: list[tuple[bytes, bytes]]) -> list[int]:
    keys, values = zip(*rows, strict=True)
    found: list[int] = row_digests(pa.array(keys, pa.binary()), pa.array(values, pa.binary())).tolist()
    return found


def variants(text: bytes) -> set[bytes]:
    flipped = {bytes([*text[:at], text[at] ^ 1 << at % 8, *text[at + 1 :]]) for at in range(len(text))}
    return {text, text + b"\0", b"\0" + text, text[::-1], text[8:] + text[:8], b"", *flipped}


def test_every_change_is_seen() -> None:
    draw = random.Random(3)  # noqa: S311
    for length in (0, 1, 7, 8, 9, 16, 100, 2047, 2048, 2049):
        texts = sorted(variants(draw.randbytes(length)))
        rows = [(b"key", text) for text in texts] + [(text, b"value") for text in texts]
        assert len(set(digests(rows))) == len(set(rows))
    assert len(set(digests([(b"a", b"b"), (b"b", b"a"), (b"ab", b""), (b"", b"ab")]))) == 4


def test_a_digest_does_not_depend_on_the_other_rows() -> None:
    draw = random.Random(4)  # noqa: S311
    rows = [
        (draw.randbytes(draw.choice([0, 3, 17])), draw.randbytes(draw.choice([0, 12, 112, 3000]))) for _ in range(500)
    ]
    alone = [digests([row])[0] for row in rows]
    assert digests(rows) == alone
    many = rows * 40  # more than one step of the computation
    assert digests(many) == alone * 40
    keys, values = (pa.array(column, pa.large_binary()) for column in zip(*rows, strict=True))
    assert row_digests(keys.slice(7), values.slice(7)).tolist() == alone[7:]


def test_bits_are_spread() -> None:
    found = digests([(b"k%d" % number, b"v") for number in range(2000)])
    for bit in range(64):
        assert 800 < sum(one >> bit & 1 for one in found) < 1200
