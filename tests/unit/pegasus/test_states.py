"""Rules on states of a Pegasus cluster: a good series breaks none, every spoilt one its own."""

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.common.errors import UsageError
from pipelines.files.file_reader import LocalFileReader
from pipelines.lake.job_run import JobLake
from pipelines.pegasus.domain import preflight as preflight_rules
from pipelines.pegasus.domain.audit_config import TimeLimits, audit_config
from pipelines.pegasus.domain.keys import encode_key, key_hash
from pipelines.pegasus.domain.partitions import is_owner
from pipelines.pegasus.domain.preflight import deleted_share, preflight, preflight_checks
from pipelines.pegasus.domain.report import most_severe, proven
from pipelines.pegasus.domain.state.reading import parse_state
from pipelines.pegasus.sources.state_files import StateFiles
from pipelines.pegasus.use_cases.frame import split_run
from pipelines.pegasus.use_cases.preflight import run_preflight, tables_named
from tests.labs.pegasus.states import ENV, NODES, SHELL, series, state, written
from tests.labs.places import DOCS, PROJECT

States = list[dict[str, Any]]
RULES = (DOCS / "split-rules.md").read_text(encoding="utf-8")


def broken(states: States, timing: TimeLimits | None = None) -> set[tuple[str, str, str]]:
    parsed = [parse_state(json.dumps(one), f"{place}.json") for place, one in enumerate(states)]
    return {(row.code, row.subject, row.severity) for row in audit_config(parsed, timing or TimeLimits())}


def table(states: States, place: int = -1) -> dict[str, Any]:
    found: dict[str, Any] = states[place]["apps"][0]
    return found


def replica(node: str, pidx: int, **more: object) -> dict[str, Any]:
    return {"node": node, "pidx": pidx, **more}


def test_a_good_series_breaks_no_rule() -> None:
    assert broken(series()) == set()


def spoil(path: str, value: object, place: int = -1) -> Callable[[States], None]:
    def change(states: States) -> None:
        target: Any = table(states, place)
        *way, last = path.split("/")
        for key in way:
            target = target[key]
        target[last] = value

    return change


def drop(partition: str, place: int = -1) -> Callable[[States], None]:
    return lambda states: table(states, place)["partitions"].pop(partition)


def replicas(*found: dict[str, Any], place: int = -1) -> Callable[[States], None]:
    return lambda states: table(states, place).update(replicas=list(found))


def new_leader(states: States) -> None:
    table(states, 1)["split_states"]["3"] = "PAUSED"
    states[2]["meta_leader"] = "10.0.0.8:34601"


def cut(places: int) -> Callable[[States], None]:
    return lambda states: states.__delitem__(slice(places, None))


def all_of(*changes: Callable[[States], None]) -> Callable[[States], None]:
    def change(states: States) -> None:
        for one in changes:
            one(states)

    return change


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


def verdicts(document: dict[str, Any], to_count: int | None = None) -> dict[str, list[str]]:
    parsed = parse_state(json.dumps(document), "state.json")
    found = list(preflight(parsed, parsed.tables[0], to_count))
    rows = preflight_checks(parsed.tables[0], found)
    assert bool(proven(most_severe(found))) == any(row.verdict == "BLOCKER" for row in rows)
    result: dict[str, list[str]] = {}
    for row in rows:
        result.setdefault(row.rule, []).append(row.verdict)
    return {rule: verdict for rule, verdict in result.items() if verdict != ["OK"]}


DISK = {"node": NODES[0], "disk": "/data1", "capacity": 1000, "used": 600, "apps": {"2": 90}}


def disks(**first: object) -> Callable[[States], None]:
    """Gives every node a disk, and the first one what else is said."""
    found = [{**DISK, "node": node} for node in NODES]
    return lambda states: states[0].update(disks=[{**found[0], **first}, *found[1:]])


def ready() -> dict[str, Any]:
    document = state(0, 4, 0)
    disks()([document])
    return document


def test_a_table_that_may_be_split() -> None:
    assert verdicts(ready()) == {}
    assert verdicts(ready(), 8) == {}


def test_a_table_that_must_not_be_split_is_not_sent_to_split_twice() -> None:
    six = ready()
    six["apps"][0]["app_info"].update(partition_count=6, init_partition_count=6)
    parsed = parse_state(json.dumps(six), "state.json")
    remedies = {row.code: row.remedy for row in preflight(parsed, parsed.tables[0], 8)}
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
    (remedy,) = [row.remedy for row in preflight(parsed, parsed.tables[0], None) if row.code == "SPLIT_C9"]
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
    (found,) = preflight(parsed, parsed.tables[0], None)
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
    (found,) = preflight(parsed, parsed.tables[0], None)
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
    reader = StateFiles(LocalFileReader())
    found = reader.states(str(written(tmp_path / "good", series()[::-1])))
    assert [one.tables[0].partition_count for one in found] == [4, 8, 8, 8], "by their times, not their names"
    with pytest.raises(UsageError, match=r"contains no \*\.json"):
        reader.states(str(written(tmp_path / "empty", [])))
    with pytest.raises(UsageError, match="have the same time"):
        reader.states(str(written(tmp_path / "twice", [series()[0], series()[0]])))
    with pytest.raises(UsageError, match="belongs to cluster other"):
        reader.states(str(written(tmp_path / "two", [series()[0], {**series()[1], "cluster": "other"}])))


def test_every_rule_that_is_raised_is_on_the_page() -> None:
    raised: set[str] = set()
    for path in (PROJECT / "pipelines" / "pegasus").rglob("*.py"):
        raised |= set(re.findall(r'(?:rule_violation|_found|_violated)\(\s*"(\w+)"', path.read_text(encoding="utf-8")))
    assert {"C5", "R3", "L1", "STUCK", "HOT_KEY"} <= raised
    told = set(re.findall(r"^\| (\w+) \|", RULES, re.MULTILINE)) | set(re.findall(r"\b(HOT_KEY|SKEW|D6)\b", RULES))
    assert raised <= told
    assert set(preflight_rules.RULES) <= told
