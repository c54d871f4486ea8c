"""What clients are told, the design's own example first; and what a split would yield."""

import json

import pytest

from pipelines.common.errors import UsageError
from pipelines.pegasus.domain.journal import parse_request
from pipelines.pegasus.domain.partitions import MOST_PARTITIONS, PrimaryAnswer
from pipelines.pegasus.domain.split_plan import RowTotals, doublings_for, one_split, split_levels
from pipelines.pegasus.domain.what_if import CLIENTS, STAGES, answer_at_stage, what_if
from tests.labs.places import GOLDEN

VECTORS = json.loads((GOLDEN / "pegasus" / "vectors.json").read_text())
STAGE = {stage.name: stage for stage in STAGES}


def test_the_designs_worked_example() -> None:
    """Count 4 to 8, hash 5."""
    assert answer_at_stage(5, 4, STAGE["S0"], "old") == (1, PrimaryAnswer.OK)
    assert answer_at_stage(5, 4, STAGE["S1-S6"], "old") == (1, PrimaryAnswer.OK)
    assert answer_at_stage(5, 4, STAGE["S1-S6"], "new") == (1, PrimaryAnswer.OK), "ballot(5) = -1, so 5 % 4 = 1"
    assert answer_at_stage(5, 4, STAGE["S7"], "old") == (1, PrimaryAnswer.REJECT)
    assert answer_at_stage(5, 4, STAGE["S10"], "old") == (1, PrimaryAnswer.MISUSED), "7 & 5 = 5, not 1"
    assert answer_at_stage(5, 4, STAGE["S10"], "new") == (5, PrimaryAnswer.OK)


def test_the_recorded_client_vectors() -> None:
    for vector in VECTORS["routing_client"]:
        old = vector["client_partition_count"] // (2 if vector["client_partition_count"] == 8 else 1)
        doubled = vector["client_partition_count"] == 8
        stage = STAGE["S0" if not doubled else "S1-S6" if vector["ballots"]["5"] == -1 else "S10"]
        assert answer_at_stage(vector["hash"], old, stage, "new")[0] == vector["target"]


@pytest.mark.parametrize("client", CLIENTS)
def test_no_stage_lets_two_partitions_accept_one_hash(client: str) -> None:
    for stage in STAGES:
        for one in range(64):
            accepted = {
                asked
                for each in CLIENTS
                for asked, found in [answer_at_stage(one, 4, stage, each)]
                if found is PrimaryAnswer.OK
            }
            assert len(accepted) <= 1, (stage.name, one)
            asked, found = answer_at_stage(one, 4, stage, client)
            if found is PrimaryAnswer.OK:
                assert asked == one % (8 if asked >= 4 or not stage.parent_old else 4)


@pytest.mark.parametrize(("names", "code"), [("seed", "ERR_OBJECT_NOT_FOUND"), ("shipped", "ERR_SPLITTING")])
def test_both_names_of_a_rejection(names: str, code: str) -> None:
    rows = what_if(dict.fromkeys(range(8), 10), 4, names)
    rejected = {(row.stage, row.client): row.requests for row in rows if row.code == code}
    assert rejected == {
        ("S7", "old"): 80,
        ("S7", "new"): 80,
        ("S8", "old"): 80,
        ("S8", "new"): 80,
        ("S9", "old"): 80,
        ("S9", "new"): 40,
    }
    misused = {(row.stage, row.client): row.requests for row in rows if row.code == "ERR_PARENT_PARTITION_MISUSED"}
    assert misused == {("S10", "old"): 40}


GOOD = {"ts": 1, "client": "c", "kind": "read", "hash": "0" * 15 + "5", "pidx": 1, "version": 3, "code": "ERR_OK"}


def test_a_line_of_a_journal() -> None:
    asked = parse_request(json.dumps({**GOOD, "hash": "f" * 16}), 7, "j")
    assert (asked.hash, asked.line, asked.decree) == ((1 << 64) - 1, 7, None)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"vresion": 3}, "j, line 3: unknown key 'vresion'"),
        ({"hash": "5"}, "'hash' must be 16"),
        ({"hash": "0" * 15 + "G"}, "'hash' must be 16"),
        ({"kind": "get"}, "'kind' must be one of"),
        ({"code": "ERR_FOO"}, "'code' must be one of"),
        ({"ts": 1_790_000_000_000_000_000}, "'ts' must be μs since the epoch"),
        ({"ts": -1}, "'ts' must be μs since the epoch"),
        ({"version": "3"}, "'version' must be a whole number"),
        ({"pidx": -1}, "'pidx' must be from 0 to 1048575"),
        ({"pidx": 1 << 31}, "'pidx' must be from 0 to 1048575"),
    ],
)
def test_bad_lines_are_named(change: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_request(json.dumps({**GOOD, **change}), 3, "j")
    assert words in str(error.value)


def test_sizes_of_parents_and_children() -> None:
    sizes = {0: RowTotals(2, 20), 1: RowTotals(1, 10), 2: RowTotals(1, 30), 3: RowTotals(4, 40)}
    rows = one_split(sizes, 2)
    assert [(row.parent, row.child, row.rows, row.keep_bytes, row.move_bytes, row.skew) for row in rows] == [
        (0, 2, 3, 20, 30, 1.2),
        (1, 3, 5, 10, 40, 1.6),
    ]
    found = split_levels(sizes, 1)
    assert [level.largest for level in found[:4]] == [100, 50, 40, 40]
    assert (doublings_for(found, 100), doublings_for(found, 50), doublings_for(found, 40)) == (0, 1, 2)
    assert doublings_for(found, 39) is None
    assert len(found) == 1 + 10
    assert split_levels({}, 1 << 16)[-1].partitions == MOST_PARTITIONS, "the driver holds no more sizes"
