"""What is in the way of a split, by the state of a Pegasus cluster."""

import copy
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from pipelines.lake.job_run import JobLake
from pipelines.pegasus.domain.keys import encode_key, key_hash
from pipelines.pegasus.domain.partitions import is_owner
from pipelines.pegasus.domain.preflight import deleted_share, preflight, preflight_checks
from pipelines.pegasus.domain.rule_violations import most_severe, proven
from pipelines.pegasus.domain.state.reading import parse_state
from pipelines.pegasus.use_cases.frame import split_run
from pipelines.pegasus.use_cases.preflight import run_preflight, tables_named
from tests.labs.pegasus.states import (
    DISK,
    ENV,
    NODES,
    SHELL,
    States,
    all_of,
    disks,
    drop,
    ready,
    spoil,
    state,
    table,
)


def verdicts(document: dict[str, Any], to_count: int | None = None) -> dict[str, list[str]]:
    parsed = parse_state(json.dumps(document), "state.json")
    found = list(preflight(parsed, parsed.tables[0], to_count))
    rows = preflight_checks(parsed.tables[0], found)
    assert bool(proven(most_severe(row for _, row in found))) == any(row.verdict == "BLOCKER" for row in rows)
    result: dict[str, list[str]] = {}
    for row in rows:
        result.setdefault(row.rule, []).append(row.verdict)
    return {rule: verdict for rule, verdict in result.items() if verdict != ["OK"]}


def test_a_table_that_may_be_split() -> None:
    assert verdicts(ready()) == {}
    assert verdicts(ready(), 8) == {}


def test_a_table_that_must_not_be_split_is_not_sent_to_split_twice() -> None:
    six = ready()
    six["apps"][0]["app_info"].update(partition_count=6, init_partition_count=6)
    parsed = parse_state(json.dumps(six), "state.json")
    remedies = {row.code: row.remedy for _, row in preflight(parsed, parsed.tables[0], 8)}
    assert remedies["SPLIT_C1"].startswith("Do not split it.")
    assert "plit again" not in remedies["SPLIT_C2"]


@pytest.mark.parametrize(("count", "init", "words"), [(6, 3, "Leave the env off"), (8, 4, "First prove the split")])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_lost_env_is_set_again_only_where_that_is_safe(count: int, init: int, words: str, *, is_known: bool) -> None:
    lost = ready()
    lost["apps"][0]["app_info"].update(partition_count=count, init_partition_count=init, envs={})
    if not is_known:
        del lost["apps"][0]["app_info"]["init_partition_count"]
    parsed = parse_state(json.dumps(lost), "state.json")
    (remedy,) = [row.remedy for _, row in preflight(parsed, parsed.tables[0], None) if row.code == "SPLIT_C9"]
    assert words in remedy


@pytest.mark.promise("split-is-checked-before")
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            all_of(spoil("app_info/partition_count", 3), spoil("app_info/init_partition_count", 3)),
            {"C1": ["BLOCKER"]},
        ),
        (drop("1"), {"C7": ["BLOCKER"]}),
        (lambda states: states[0].update(state(0, 8, 2)), {"C12": ["BLOCKER"]}),
        (
            lambda states: states[0].update(state(0, 8, 4)) or table(states)["app_info"].update(envs={ENV: "false"}),
            {"C9": ["WARNING"]},
        ),
        (spoil("partitions/1/secondaries", [NODES[0]]), {"C11": ["BLOCKER"]}),
        (spoil("partitions/1/primary", "invalid address"), {"C11": ["BLOCKER"]}),
        (spoil("learning", ["2"]), {"C11": ["BLOCKER"]}),
        (spoil("app_info/status", "app_status::AS_DROPPED"), {"C12": ["BLOCKER"]}),
        (
            all_of(spoil("app_info/is_bulk_loading", value=True), spoil("app_info/duplicating", value=True)),
            {"C12": ["BLOCKER", "WARNING"]},
        ),
        (lambda states: table(states)["app_info"].pop("is_bulk_loading"), {"C12": ["UNKNOWN"]}),
        (lambda states: table(states)["app_info"].pop("duplicating"), {"C12": ["UNKNOWN"]}),
        (spoil("app_info/envs", None), {}),
        (
            all_of(spoil("app_info/envs", None), lambda states: table(states)["app_info"].pop("init_partition_count")),
            {"C9": ["UNKNOWN"]},
        ),
        (disks(used=631), {"F37": ["BLOCKER"]}),
        (disks(used=630), {}),
        (disks(apps={}), {"F37": ["UNKNOWN"]}),
        (disks(apps=None), {"F37": ["UNKNOWN"]}),
        (disks(node="10.0.0.4:34801"), {"F37": ["UNKNOWN"]}),
        (lambda states: states[0].update(disks=[]), {"F37": ["UNKNOWN"]}),
        (lambda states: states[0].update(disks=[{**DISK, "used": 631}]), {"F37": ["UNKNOWN", "BLOCKER"]}),
        (lambda states: states[0].pop("disks"), {"F37": ["UNKNOWN"]}),
    ],
)
def test_what_is_in_the_way(change: Callable[[States], object], expected: dict[str, list[str]]) -> None:
    states = [ready()]
    change(states)
    assert verdicts(states[0]) == expected


def test_an_env_that_the_state_does_not_have_is_unknown() -> None:
    document = {**state(0, 8, 4), "disks": ready()["disks"]}
    envs = document["apps"][0]["app_info"].pop("envs")
    assert verdicts(document) == {"C9": ["UNKNOWN"]}
    parsed = parse_state(json.dumps(document), "state.json")
    ((_, found),) = preflight(parsed, parsed.tables[0], None)
    assert "as 'envs' (in 'app_info', if the state has it)" in found.remedy
    document["apps"][0]["app_info"]["envs"] = envs
    assert verdicts(document) == {}


def test_a_server_is_known_only_with_the_tables_of_all_its_disks() -> None:
    document = ready()
    more: list[dict[str, Any]] = [{**DISK, "node": node, "disk": "/data2", "apps": {}} for node in NODES]
    document["disks"] += more
    assert verdicts(document) == {}
    for one in more[1:]:
        one["apps"] = None
    parsed = parse_state(json.dumps(document), "state.json")
    ((_, found),) = preflight(parsed, parsed.tables[0], None)
    assert found.message == f"Table temp: the use of the disks of 2 servers, such as {NODES[1]}, is not known."


def test_a_dropped_table_of_the_same_name_is_left_out() -> None:
    document = ready()
    dropped = copy.deepcopy(document["apps"][0])
    dropped["app_info"].update(app_id=1, status="app_status::AS_DROPPED")
    dropped["partitions"] = {}
    document["apps"] = [dropped, *document["apps"]]
    parsed = parse_state(json.dumps(document), "state.json")
    assert [[one.app_id for one in tables_named(parsed, name)] for name in ("temp", None)] == [[2], [2]]
    document["apps"] = [dropped]
    parsed = parse_state(json.dumps(document), "state.json")
    assert [one.app_id for one in tables_named(parsed, "temp")] == [1], "there is no other"
    twin = copy.deepcopy(dropped)
    twin["app_info"]["app_id"] = 3
    document["apps"].append(twin)
    parsed = parse_state(json.dumps(document), "state.json")
    text = run_preflight(split_run("split-preflight", "onebox", 0), parsed, "temp", None, JobLake()).text
    assert re.findall(r"^  table (.*):", text, re.MULTILINE) == ["temp, id 1", "temp, id 3"]


def test_the_shells_output_is_a_state_too() -> None:
    document = {**ready(), "apps": [{"shell": SHELL}]}
    assert verdicts(document) == {"C9": ["UNKNOWN"], "C12": ["UNKNOWN"]}
    parsed = parse_state(json.dumps(document), "state.json")
    assert parsed.tables[0].by_index[3].members == set(NODES)
    document["apps"] = [{"shell": SHELL, "envs": {}}]
    assert verdicts(document, 16) == {"C2": ["BLOCKER"], "C9": ["UNKNOWN"], "C12": ["UNKNOWN"]}
    document["apps"] = [{"shell": SHELL, "envs": {ENV: "true"}}]
    assert verdicts(document) == {"C12": ["UNKNOWN"]}


@pytest.mark.parametrize(("count", "share"), [(3, 0.67), (6, 0.67), (10, 0.80), (100, 0.96), (4, 0), (64, 0)])
def test_the_share_of_keys_that_a_split_deletes(count: int, share: float) -> None:
    assert deleted_share(count) == pytest.approx(share, abs=0.005)
    hashes = [key_hash(encode_key(b"%d" % one, b"")) for one in range(5_000)]
    kept = sum(
        any(is_owner(one, index, 2 * count - 1) for index in (one % count, one % count + count)) for one in hashes
    )
    assert 1 - kept / len(hashes) == pytest.approx(share, abs=0.03), "the same of true keys, by the two formulas alone"
