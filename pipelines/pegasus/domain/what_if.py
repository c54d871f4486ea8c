"""Predicts the answers that clients get at each stage of a split."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.pegasus.domain.partitions import (
    REJECT_CODES,
    REJECTING,
    UNREGISTERED,
    PrimaryAnswer,
    partition_index,
    primary_answer,
    target_partition,
)


@dataclass(frozen=True, slots=True)
class SplitStage:
    """One stage.

    Attributes:
        name: one of the stages S0 to S11 of docs/split-rules.md.
        words: what has happened by then.
        doubled: whether meta answers with the new count.
        child_ballot: the ballot of a child in meta; None = meta does not count that partition.
        parent_old: whether the parent's version is the old count - 1; otherwise it is the new count - 1. `rejects`
            replaces both by -1.
        rejects: whether the parent rejects every request.
        child_serves: whether the child's primary is active.
    """

    name: str
    words: str
    doubled: bool
    child_ballot: int | None
    parent_old: bool
    rejects: bool
    child_serves: bool


STAGES = (
    SplitStage("S0", "before the split", False, None, True, False, False),
    SplitStage("S1-S6", "meta counts twice as many; children learn", True, UNREGISTERED, True, False, False),
    SplitStage("S7", "the parent rejects, the child is being registered", True, UNREGISTERED, True, True, False),
    SplitStage("S8", "meta has the child, nobody has told it yet", True, 1, True, True, False),
    SplitStage("S9", "the child is active", True, 1, True, True, True),
    SplitStage("S10", "the parent counts as meta does", True, 1, False, False, True),
)
CLIENTS = ("old", "new")
"""The client `old` has cached the table before the split; the client `new` asks meta now."""


@dataclass(frozen=True, slots=True)
class RouteRow:
    """A row of `split_routes`."""

    stage: str
    words: str
    client: str
    code: str
    requests: int


def answer_at_stage(key_hash: int, old_count: int, stage: SplitStage, client: str) -> tuple[int, PrimaryAnswer]:
    """Returns the partition that a client asks, and the answer of its primary.

    Args:
        key_hash: the hash of the request, 0 … 2^64-1.
        old_count: the number of partitions before the split, a power of two.
        stage: the stage of the split.
        client: one of `CLIENTS`.
    """
    if client == "new" and stage.doubled:
        index = partition_index(key_hash, 2 * old_count)
        asked = target_partition(key_hash, 2 * old_count, stage.child_ballot if index >= old_count else 1)
    else:
        asked = partition_index(key_hash, old_count)
    if asked >= old_count:
        return asked, primary_answer(key_hash, asked, 2 * old_count - 1) if stage.child_serves else PrimaryAnswer.REJECT
    version = REJECTING if stage.rejects else (old_count if stage.parent_old else 2 * old_count) - 1
    return asked, primary_answer(key_hash, asked, version)


def what_if(requests: Mapping[int, int], old_count: int, names: str) -> list[RouteRow]:
    """Counts the requests by answer, at each stage.

    Args:
        requests: hash → number of requests. The answer depends only on the last bits of the hash, so these bits are
            enough.
        old_count: the number of partitions before the split.
        names: `seed` or `shipped`: which error code a rejection has, see `REJECT_CODES`.
    """
    rows = []
    for stage in STAGES:
        for client in CLIENTS:
            codes: Counter[str] = Counter()
            for bits, number in requests.items():
                found = answer_at_stage(bits, old_count, stage, client)[1]
                codes[code_name(found, names)] += number
            rows += [RouteRow(stage.name, stage.words, client, code, codes[code]) for code in sorted(codes)]
    return rows


def code_name(found: PrimaryAnswer, names: str) -> str:
    """Returns the error code of an answer."""
    return REJECT_CODES[names] if found is PrimaryAnswer.REJECT else found.value
