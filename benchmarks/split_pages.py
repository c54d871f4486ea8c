"""Holds the measurements of the split benchmarks, and formats their part of docs/benchmarks.md."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from benchmarks.records import Run
from benchmarks.speed_report import markdown

MILLION = 1e6
EQUAL, LEFT, LOST = "equal", "with the stale rows of a split", "with stale rows, one row lost"
GOAL = 15
"""M keys/s that one core should hash at least."""


@dataclass(frozen=True)
class HashSpeed:
    """The speeds for one shape of keys: one core's processor time for each key, in ns."""

    kind: ClassVar[str] = "hash"
    hash_keys: str
    keys: int
    columns_ns: float
    awscrt_ns: float


@dataclass(frozen=True)
class VerifySpeed:
    """The wall times of comparing two copies of a table, in s."""

    kind: ClassVar[str] = "verify"
    rows: int
    cores: int
    verify_s: float
    join_s: float
    copies: str = EQUAL


@dataclass(frozen=True)
class DecodeSpeed:
    """The processor times of decoding one private log on one core, in s."""

    kind: ClassVar[str] = "decode"
    log: str
    bytes: int
    mutations: int
    reader_s: float
    rows_s: float


@dataclass(frozen=True)
class SplitSpeed:
    """The processor times of splitting one replica on one core, in s."""

    kind: ClassVar[str] = "split"
    keys: int
    ceiling_s: float
    split_s: float


SplitPoint = HashSpeed | VerifySpeed | DecodeSpeed | SplitSpeed
_KINDS: dict[str, type[Any]] = {one.kind: one for one in (HashSpeed, VerifySpeed, DecodeSpeed, SplitSpeed)}


def as_point(speed: SplitPoint) -> dict[str, Any]:
    """Returns a measurement as a line of the record."""
    return {"kind": speed.kind, **asdict(speed)}


def split_speeds(run: Run) -> str:
    """Returns the tables of a run for which it has points."""
    speeds = [
        _KINDS[point["kind"]](**{name: value for name, value in point.items() if name != "kind"})
        for point in run.points
    ]
    return split_tables(speeds)


def split_tables(speeds: Sequence[SplitPoint]) -> str:
    """Formats the tables as Markdown: hashing, comparing, decoding and splitting."""
    parts = []
    if hashed := [one for one in speeds if isinstance(one, HashSpeed)]:
        parts.append(_hashed(hashed))
    if compared := [one for one in speeds if isinstance(one, VerifySpeed)]:
        parts.append(_compared(compared))
    if decoded := [one for one in speeds if isinstance(one, DecodeSpeed)]:
        parts.append(_decoded(decoded))
    if split := [one for one in speeds if isinstance(one, SplitSpeed)]:
        parts.append(_split(split))
    return "\n\n".join(parts)


def _hashed(speeds: Sequence[HashSpeed]) -> str:
    rows: list[tuple[str, ...]] = [
        ("hash keys", "M keys/s a core", "ns a key", "awscrt in a Python loop", "times awscrt"),
        ("---", "--:", "--:", "--:", "--:"),
    ]
    for one in speeds:
        nanos = (f"{1e3 / one.columns_ns:.1f}", f"{one.columns_ns:.0f}", f"{one.awscrt_ns:.0f}")
        rows.append((one.hash_keys, *nanos, f"{one.awscrt_ns / one.columns_ns:.1f}"))
    head = f"CRC-64/NVME of raw keys by columns, {speeds[0].keys:,} of each; the goal is {GOAL} M keys/s a core."
    return f"{head}\n\n{markdown(rows)}"


def _compared(speeds: Sequence[VerifySpeed]) -> str:
    rows: list[tuple[str, ...]] = [
        ("copies", "rows", "cores", "split-verify, s", "full outer join, s", "times faster"),
        ("---", "--:", "--:", "--:", "--:", "--:"),
    ]
    for one in speeds:
        speed = (f"{one.verify_s:.1f}", f"{one.join_s:.1f}")
        rows.append((one.copies, f"{one.rows:,}", str(one.cores), *speed, f"{one.join_s / one.verify_s:.1f}"))
    return f"Two copies of a table, of 8 and of 16 partitions, compared.\n\n{markdown(rows)}"


def _decoded(speeds: Sequence[DecodeSpeed]) -> str:
    rows: list[tuple[str, ...]] = [
        ("private log", "MiB", "mutations", "reader, MB/s", "with rows for Spark, MB/s", "mutations/s"),
        ("---", "--:", "--:", "--:", "--:", "--:"),
    ]
    for one in speeds:
        rates = (f"{one.bytes / seconds / MILLION:.0f}" for seconds in (one.reader_s, one.rows_s))
        size = f"{one.bytes / (1 << 20):.0f}"
        rows.append((one.log, size, f"{one.mutations:,}", *rates, f"{one.mutations / one.rows_s:,.0f}"))
    return f"Private logs, decoded by one core.\n\n{markdown(rows)}"


def _split(speeds: Sequence[SplitSpeed]) -> str:
    rows: list[tuple[str, ...]] = [
        ("keys", "iterate and write, keys/s", "split-run, keys/s", "of it"),
        ("--:", "--:", "--:", "--:"),
    ]
    for one in speeds:
        rates = (f"{one.keys / seconds:,.0f}" for seconds in (one.ceiling_s, one.split_s))
        rows.append((f"{one.keys:,}", *rates, f"{one.ceiling_s / one.split_s:.2f}"))
    return f"One replica, split by one core, beside what rocksdict does with its rows at all.\n\n{markdown(rows)}"
