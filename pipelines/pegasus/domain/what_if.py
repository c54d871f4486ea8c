"""What clients are told at each stage of a split."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.pegasus.domain.partitions import (
    REJECT_CODES,
    REJECTING,
    UNREGISTERED,
    Answer,
    answer,
    partition_index,
    target,
)


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage.

    Attributes:
        name: of the stages S0 to S11 of docs/split-rules.md.
        words: what has happened.
        doubled: meta answers with the new count.
        child_ballot: what meta says of a child; None = it counts no such partition.
        parent_old: the parent's version is the old count - 1; else the new one's, or -1 where it rejects.
        rejects: the parent answers nobody.
        child_serves: the child's primary is active.
    """

    name: str
    words: str
    doubled: bool
    child_ballot: int | None
    parent_old: bool
    rejects: bool
    child_serves: bool


STAGES = (
    Stage("S0", "before the split", False, None, True, False, False),
    Stage("S1-S6", "meta counts twice as many; children learn", True, UNREGISTERED, True, False, False),
    Stage("S7", "the parent rejects, the child is being registered", True, UNREGISTERED, True, True, False),
    Stage("S8", "meta has the child, nobody has told it yet", True, 1, True, True, False),
    Stage("S9", "the child is active", True, 1, True, True, True),
    Stage("S10", "the parent counts as meta does", True, 1, False, False, True),
)
CLIENTS = ("old", "new")
"""One that has cached the table before the split, one that asks meta now."""


@dataclass(frozen=True, slots=True)
class RouteRow:
    """A row of `split_routes`."""

    stage: str
    words: str
    client: str
    code: str
    requests: int


def told(key_hash: int, old_count: int, stage: Stage, client: str) -> tuple[int, Answer]:
    """The partition that a client asks, and what it is told.

    Args:
        key_hash: 0 … 2^64-1.
        old_count: partitions before the split, a power of two.
        stage: of the split.
        client: one of `CLIENTS`.
    """
    if client == "new" and stage.doubled:
        index = partition_index(key_hash, 2 * old_count)
        asked = target(key_hash, 2 * old_count, stage.child_ballot if index >= old_count else 1)
    else:
        asked = partition_index(key_hash, old_count)
    if asked >= old_count:
        return asked, answer(key_hash, asked, 2 * old_count - 1) if stage.child_serves else Answer.REJECT
    version = REJECTING if stage.rejects else (old_count if stage.parent_old else 2 * old_count) - 1
    return asked, answer(key_hash, asked, version)


def what_if(requests: Mapping[int, int], old_count: int, names: str) -> list[RouteRow]:
    """How many requests are told what, at each stage.

    Args:
        requests: hash → how many; an answer depends on its last bits alone, so these will do.
        old_count: partitions before the split.
        names: `seed` or `shipped`: what a rejection is called.
    """
    rows = []
    for stage in STAGES:
        for client in CLIENTS:
            codes: Counter[str] = Counter()
            for bits, number in requests.items():
                found = told(bits, old_count, stage, client)[1]
                codes[code_name(found, names)] += number
            rows += [RouteRow(stage.name, stage.words, client, code, codes[code]) for code in sorted(codes)]
    return rows


def code_name(found: Answer, names: str) -> str:
    """The error code of an answer."""
    return REJECT_CODES[names] if found is Answer.REJECT else found.value
