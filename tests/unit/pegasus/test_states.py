"""Rules on states of a Pegasus cluster: a good series breaks none, every spoilt one its own."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.common.errors import UsageError
from pipelines.files.file_reader import LocalFileReader
from pipelines.pegasus.domain import preflight as preflight_rules
from pipelines.pegasus.domain.audit_config import TimeLimits, audit_config
from pipelines.pegasus.domain.state.reading import parse_state
from pipelines.pegasus.sources.state_files import states_at
from tests.labs.pegasus.states import (
    DISK,
    NODES,
    SHELL,
    States,
    all_of,
    drop,
    ready,
    series,
    spoil,
    state,
    table,
    written,
)
from tests.labs.places import DOCS, PROJECT

RULES = (DOCS / "split-rules.md").read_text(encoding="utf-8")


def broken(states: States, timing: TimeLimits | None = None) -> set[tuple[str, str, str]]:
    parsed = [parse_state(json.dumps(one), f"{place}.json") for place, one in enumerate(states)]
    return {(row.code, row.subject, row.severity) for row in audit_config(parsed, timing or TimeLimits())}


def replica(node: str, pidx: int, **more: object) -> dict[str, Any]:
    return {"node": node, "pidx": pidx, **more}


def test_a_good_series_breaks_no_rule() -> None:
    assert broken(series()) == set()


def replicas(*found: dict[str, Any], place: int = -1) -> Callable[[States], None]:
    return lambda states: table(states, place).update(replicas=list(found))


def new_leader(states: States) -> None:
    table(states, 1)["split_states"]["3"] = "PAUSED"
    states[2]["meta_leader"] = "10.0.0.8:34601"


def cut(places: int) -> Callable[[States], None]:
    return lambda states: states.__delitem__(slice(places, None))


def shell(**general: str) -> dict[str, Any]:
    return {"shell": {**SHELL, "general": {**SHELL["general"], **general}}}


E, W = "error", "warning"


MUTANTS: dict[str, tuple[Callable[[States], None], set[tuple[str, str, str]]]] = {
    "C2": (
        spoil("app_info/partition_count", 24, 3),
        {("SPLIT_C2", "2", E), ("SPLIT_C7", "*", E), ("SPLIT_C8", "2", E)},
    ),
    "C3": (
        lambda states: table(states)["partitions"].update({"9": {**table(states)["partitions"]["5"], "pid": "2.9"}}),
        {("SPLIT_C3", "2.9", E)},
    ),
    "C4": (
        replicas(replica(NODES[0], 7, status="PS_PRIMARY"), place=2),
        {("SPLIT_C4", "2.7", E)},
    ),
    "C5 ballot": (spoil("partitions/4/ballot", 7, 2), {("SPLIT_C5", "2.4", E), ("SPLIT_C6", "2.4", E)}),
    "C5 balancer": (
        all_of(
            spoil("partitions/7/primary", NODES[1]),
            spoil("partitions/7/secondaries", [NODES[0], NODES[2]]),
            spoil("partitions/7/ballot", 6),
        ),
        {("SPLIT_C5", "2.7", W)},
    ),
    "C5 too low": (spoil("partitions/7/ballot", 3), {("SPLIT_C5", "2.7", E)}),
    "C5 primary": (
        all_of(spoil("partitions/7/primary", NODES[1]), spoil("partitions/7/secondaries", [NODES[0], NODES[2]])),
        {("SPLIT_C5", "2.7", W)},
    ),
    "C6 back": (spoil("partitions/1/ballot", 2), {("SPLIT_C6", "2.1", E)}),
    "C6 nobody": (spoil("partitions/1/ballot", 4), {("SPLIT_C6", "2.1", W)}),
    "C7": (all_of(cut(3), drop("1")), {("SPLIT_C7", "2.1", E)}),
    "C8": (spoil("split_states", {"2": "SPLITTING"}, 2), {("SPLIT_C8", "2", E)}),
    "C8 leader": (new_leader, {("SPLIT_C8", "2.3", E)}),
    "R1 group": (
        replicas(
            replica(NODES[0], 1, status="PS_PRIMARY", partition_count=8),
            replica(NODES[1], 1, status="PS_SECONDARY", partition_count=4),
        ),
        {("SPLIT_R1", "2.1", E), ("SPLIT_R1", f"2.1@{NODES[1]}", E)},
    ),
    "R2": (
        replicas(replica(NODES[0], 1, partition_version=3, partition_count=8)),
        {("SPLIT_R2", f"2.1@{NODES[0]}", E)},
    ),
    "R2 lasting": (
        all_of(
            replicas(replica(NODES[0], 1, partition_version=-1), place=2),
            replicas(replica(NODES[0], 1, partition_version=-1)),
        ),
        {("SPLIT_R2", f"2.1@{NODES[0]}", E)},
    ),
    "R3 garbage": (
        all_of(cut(3), replicas(replica(NODES[0], 7, partition_count=4))),
        {("SPLIT_R3", f"2.7@{NODES[0]}", W)},
    ),
    "R3 beyond": (
        replicas(replica(NODES[0], 9, status="PS_INACTIVE", partition_count=16)),
        {("SPLIT_R3", f"2.9@{NODES[0]}", E)},
    ),
    "R3 unregistered": (
        all_of(cut(3), replicas(replica(NODES[0], 7, status="PS_INACTIVE", partition_count=8))),
        {("SPLIT_R3", f"2.7@{NODES[0]}", E)},
    ),
    "R4 ballot": (replicas(replica(NODES[0], 1, init_ballot=9)), {("SPLIT_R4", f"2.1@{NODES[0]}/ballot", E)}),
    "R4 data": (
        replicas(replica(NODES[0], 1, init_durable_decree=9, last_flushed_decree=8)),
        {("SPLIT_R4", f"2.1@{NODES[0]}/data", E)},
    ),
    "R6": (
        replicas(*(replica(node, index) for node in NODES for index in (0, 1, 2, 3, 4, 6, 7))),
        {("SPLIT_R6", "2.5", E)},
    ),
    "R5": (replicas(replica(NODES[0], 7, status="PS_PARTITION_SPLIT")), {("SPLIT_R5", f"2.7@{NODES[0]}", W)}),
}


@pytest.mark.promise("split-rules-are-audited")
@pytest.mark.parametrize("name", MUTANTS)
def test_every_spoilt_series_breaks_its_rule(name: str) -> None:
    change, expected = MUTANTS[name]
    states = series()
    change(states)
    found = broken(states)
    if any(subject == "*" for _, subject, _ in expected):
        rules = {(code, severity) for code, _, severity in expected}
        assert {(code, severity) for code, _, severity in found} >= rules
    else:
        assert found == expected


def test_a_child_that_waits_too_long_is_stuck() -> None:
    states = [state(minute, 8, 2) for minute in (0, 100, 200)]
    timing = TimeLimits(stuck_ms=200 * 60_000)
    assert broken(states, timing) == {("SPLIT_STUCK", "2.6", E), ("SPLIT_STUCK", "2.7", E)}
    assert broken(states, TimeLimits(stuck_ms=200 * 60_000 + 1)) == set()
    states[1] = state(100, 8, 4)
    assert ("SPLIT_STUCK", "2.6", E) not in broken(states, timing), "it was registered in between"


def test_a_split_that_was_paused_is_not_stuck() -> None:
    states = [state(minute, 8, 2, split_states={"2": "PAUSED", "3": "SPLITTING"}) for minute in (0, 200)]
    assert broken(states, TimeLimits(stuck_ms=200 * 60_000)) == {("SPLIT_STUCK", "2.7", E)}


def test_replicas_may_learn_of_a_registration_a_moment_later() -> None:
    late = [replica(NODES[0], 1, status="PS_PRIMARY", partition_count=4)]
    states = [state(0, 8, 0), state(5, 8, 4, replicas=late)]
    assert broken(states) == set()
    states.append(state(6, 8, 4, replicas=late))
    assert broken(states) == {("SPLIT_R1", f"2.1@{NODES[0]}", E)}
    assert broken(states, TimeLimits(reject_ms=7 * 60_000)) == set()


def test_a_partition_is_missing_only_if_all_its_servers_have_reported() -> None:
    some = [replica(node, index) for node in NODES for index in range(7)]
    found = {("SPLIT_R6", "2.7", E)}
    assert broken([state(0, 8, 4, replicas=some)]) == found
    assert broken([state(0, 8, 4, replicas=[one for one in some if one["node"] != NODES[0]])]) == set(), "one is down"
    assert broken([state(0, 8, 4, replicas=[*some, replica(NODES[1], 7)])]) == set()
    assert broken([state(0, 8, 3, replicas=some)]) == set(), "it is not registered"
    before = state(0, 8, 3)
    assert broken([before, state(5, 8, 4, replicas=some)]) == set(), "it is new"
    assert broken([before, state(5, 8, 4, replicas=some), state(6, 8, 4, replicas=some)]) == found


def test_a_child_that_learns_is_no_garbage() -> None:
    child = replica(NODES[0], 5, status="PS_PARTITION_SPLIT", partition_count=4)
    assert broken([state(0, 8, 0, replicas=[child])]) == set()
    child["status"] = "PS_INACTIVE"
    assert broken([state(0, 8, 0, replicas=[child])]) == {("SPLIT_R3", f"2.5@{NODES[0]}", W)}


def test_a_split_may_be_cancelled_while_no_child_is_registered() -> None:
    assert broken([state(0, 8, 0), state(5, 4, 0)]) == set()
    assert ("SPLIT_C2", "2", E) in broken([state(0, 8, 1), state(5, 4, 0)])


def test_several_splits_between_two_states_are_a_warning() -> None:
    assert broken([state(0, 4, 0), state(5, 16, 8)]) == {("SPLIT_C2", "2", W)}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda one: one.update(format=2), "'format' must be 1"),
        (lambda one: one.update(obseved_at="x"), "unknown key 'obseved_at'"),
        (lambda one: one.pop("observed_at"), "'observed_at' is missing"),
        (lambda one: one.update(observed_at="yesterday"), "'observed_at'"),
        (lambda one: one["apps"][0].update(replica=[]), "unknown key 'apps.0.replica'"),
        (lambda one: one["apps"][0]["partitions"]["1"].update(pid="2.2"), "'pid' '2.2' is not that of node 2/1"),
        (lambda one: one["apps"][0]["partitions"].update(x={"pid": "2.x"}), "'x' is no number"),
        (lambda one: one["apps"][0].update(split_states={"1": "DONE"}), "must be one of SPLITTING"),
        (
            lambda one: one["apps"][0].update(replicas=[{"node": "n", "pidx": 1, "balot": 3}]),
            ".replicas.0.balot'",
        ),
        (lambda one: one["apps"].append(one["apps"][0]), "app_id 2 is given twice"),
        (
            lambda one: one["apps"][0]["app_info"].update(partition_count=0),
            "must be greater than or equal to 1",
        ),
        (lambda one: one.update(disks=[{**DISK, "free": 3}]), "unknown key 'disks.0.free'"),
        (lambda one: one.update(apps=[shell(partition_count="0")]), "must be greater than or equal to 1"),
        (lambda one: one.update(apps=[shell(partition_count="-4")]), "must be greater than or equal to 1"),
        (lambda one: one.update(apps=[shell(partition_count="1048577")]), "must be less than or equal to 1048576"),
        (lambda one: one.update(apps=[{"shell": {"general": {}}}]), "key 'apps.0.shell.general.app_id' is missing"),
    ],
)
def test_bad_states_are_named(change: Callable[[dict[str, Any]], object], words: str) -> None:
    document = ready()
    change(document)
    with pytest.raises(UsageError, match=r"state\.json") as error:
        parse_state(json.dumps(document), "state.json")
    assert words in str(error.value)
    assert "docs/split-state.md" in str(error.value)


def test_every_cut_of_a_state_is_refused_and_never_worse() -> None:
    text = json.dumps(ready())
    for size in range(0, len(text), 7):
        with pytest.raises(UsageError, match=r"state\.json"):
            parse_state(text[:size], "state.json")


def test_a_directory_is_one_series(tmp_path: Path) -> None:
    reader = LocalFileReader()
    found = states_at(reader, str(written(tmp_path / "good", series()[::-1])))
    assert [one.tables[0].partition_count for one in found] == [4, 8, 8, 8], "by their times, not their names"
    with pytest.raises(UsageError, match=r"contains no \*\.json"):
        states_at(reader, str(written(tmp_path / "empty", [])))
    with pytest.raises(UsageError, match="have the same time"):
        states_at(reader, str(written(tmp_path / "twice", [series()[0], series()[0]])))
    with pytest.raises(UsageError, match="belongs to cluster other"):
        states_at(reader, str(written(tmp_path / "two", [series()[0], {**series()[1], "cluster": "other"}])))


def test_every_rule_that_is_raised_is_on_the_page() -> None:
    raised: set[str] = set()
    for path in (PROJECT / "pipelines" / "pegasus").rglob("*.py"):
        raised |= set(re.findall(r'(?:rule_violation|_found|_violated)\(\s*"(\w+)"', path.read_text(encoding="utf-8")))
    assert {"C5", "R3", "L1", "STUCK", "HOT_KEY"} <= raised
    told = set(re.findall(r"^\| (\w+) \|", RULES, re.MULTILINE)) | set(re.findall(r"\b(HOT_KEY|SKEW|D6)\b", RULES))
    assert raised <= told
    assert set(preflight_rules.RULES) <= told
