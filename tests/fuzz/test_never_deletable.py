"""Garbage never frees a file: not in a name, a row or a znode, and not where snapshot.json lost what it knew."""

import re
from dataclasses import fields, replace
from urllib.parse import unquote_plus

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from jobs.demo.cluster.snapshots import SAFE_FLAGS
from pipelines.common.errors import MalformedError, SnapshotError
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.verdict import ArchivedFile, Reason, Verdict, decide
from pipelines.hbase.replication_queues import parse_queue_cell
from pipelines.snapshot.model import MasterFlags
from pipelines.snapshot.snapshot_json import parse_snapshot, snapshot_document
from tests.models.oddities import ODD_NAMES
from tests.strategies import ClusterCase, cluster_cases, view_of
from tests.strategies.clusters import DAY_MS, NOW
from tests.strategies.garbage import ANYTHING, edited, edited_bytes, places, without
from tests.strategies.names import wal_file_names
from tests.strategies.zookeeper import ZooKeeperCase, view_of_zookeeper, zookeeper_cases
from tests.suite.sizes import examples

# what each reason must find in a name, written down apart from the parsers
WELL_FORMED = {
    Reason.REPLICATED: r".+\.0*[0-9]{1,19}(\.[0-9A-Za-z]+)?",
    Reason.DEAD_NO_QUEUE: r".+\.0*[0-9]{1,19}(\.[0-9A-Za-z]+)?",
    Reason.REPLICATION_TABLE_WAL: r".+\.rep(\..+)?\.0*[0-9]{1,19}(\.[0-9A-Za-z]+)?",
    Reason.NO_PEERS: r".+\.[0-9]+(\.[0-9A-Za-z]+)?",
    Reason.META_WAL: r".+\.[0-9]+\.meta",
    Reason.PROCEDURE_WAL: r".*pv2-[0-9]{20}.log",
    Reason.MASTER_LOCAL_WAL: r".*\$masterlocalwal\$",
}
STARTS_WITH_A_SERVER = re.compile(r"[ -~]+,\+?0*[0-9]{1,5},\+?[0-9]+")
OF_A_SERVER = {Reason.REPLICATED, Reason.DEAD_NO_QUEUE, Reason.REPLICATION_TABLE_WAL}


def freed(case: ClusterCase | ZooKeeperCase) -> set[str]:
    view = view_of(case) if isinstance(case, ClusterCase) else view_of_zookeeper(case)
    return {file.path for file in case.files if decide(file, view).verdict is Verdict.DELETABLE}


@pytest.mark.promise("doubt-is-held", "garbage-frees-nothing")
@given(cluster_cases(max_files=3), st.lists(edited(st.one_of(wal_file_names(), st.sampled_from(ODD_NAMES), ANYTHING))))
@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_name_that_frees_a_file_is_well_formed(case: ClusterCase, names: list[str]) -> None:
    view = view_of(case)
    for name in names:
        decision = decide(ArchivedFile(f"oldWALs/{name}", 1, NOW - 30 * DAY_MS), view)
        if decision.verdict is Verdict.DELETABLE:
            last = name.rpartition("/")[2]
            assert re.fullmatch(WELL_FORMED[decision.reason], last, re.DOTALL), (decision.reason, name)
            if decision.reason in OF_A_SERVER:
                assert STARTS_WITH_A_SERVER.match(unquote_plus(last)), name


@pytest.mark.promise("doubt-is-held", "unreadable-row-is-untrusted")
@given(cluster_cases(), st.data())
@settings(max_examples=examples(50), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_row_that_cannot_be_read_holds_everything(case: ClusterCase, data: st.DataObject) -> None:
    assume(case.pass_1)
    cell = data.draw(st.sampled_from(case.pass_1))
    part = data.draw(st.sampled_from(("row", "value")))
    broken = replace(cell, family=b"queue", **{part: data.draw(edited_bytes(st.just(getattr(cell, part))))})
    try:
        parse_queue_cell(broken)
    except MalformedError:
        for damaged in (replace(case, pass_1=(*case.pass_1, broken)), replace(case, pass_2=(*case.pass_2, broken))):
            view = view_of(damaged)
            assert {decide(file, view).reason for file in damaged.files} <= {Reason.SNAPSHOT_UNTRUSTED}


@pytest.mark.promise("garbage-frees-nothing")
@given(zookeeper_cases(), st.data())
@settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_znode_with_other_data_frees_nothing(case: ZooKeeperCase, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(case.pass_1) - 1))
    znode = case.pass_1[index]
    other = replace(znode, data=data.draw(st.one_of(st.binary(max_size=20), edited_bytes(st.just(znode.data)))))
    damaged = replace(case, pass_1=(*case.pass_1[:index], other, *case.pass_1[index + 1 :]))
    try:
        assert freed(damaged) <= freed(case), other
    except MalformedError:
        return


@pytest.mark.promise("doubt-is-held", "unknown-flag-is-unsafe")
@pytest.mark.parametrize("place", ["flags", "flags_2"])
@pytest.mark.parametrize("flag", [field.name for field in fields(MasterFlags)])
@given(cluster_cases())
@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
def test_an_unknown_flag_frees_nothing_that_a_peer_may_need(place: str, flag: str, case: ClusterCase) -> None:
    assume(case.snapshot.peers)
    safe = replace(case.snapshot, flags=SAFE_FLAGS, flags_2=SAFE_FLAGS)
    unknown = replace(safe, **{place: replace(SAFE_FLAGS, **{flag: None})})  # type: ignore[arg-type]
    assert freed(replace(case, snapshot=unknown)) == set()


@pytest.mark.promise("doubt-is-held")
@given(st.one_of(cluster_cases(), zookeeper_cases()), st.data())
@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
def test_what_a_snapshot_has_forgotten_frees_nothing(case: ClusterCase | ZooKeeperCase, data: st.DataObject) -> None:
    # what the configuration states where a snapshot is silent is a person's word, not the snapshot's
    told = replace(case, settings=ReconcileSettings(release=case.settings.release))
    document = snapshot_document(told.snapshot)
    place = data.draw(st.sampled_from(places(document)))
    # an entry that left its list is another cluster, which nothing can tell
    null = isinstance(place[-1], int) or data.draw(st.booleans())
    try:
        snapshot = parse_snapshot(without(document, place, null=null))
    except SnapshotError:
        return
    assert freed(replace(told, snapshot=snapshot)) <= freed(told), place
