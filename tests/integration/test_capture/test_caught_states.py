"""States of a real HBase that `capture` must catch, or refuse."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.capture.sources.replication_znodes import ReplicationZnodes
from pipelines.common.errors import UnavailableError, UsageError
from pipelines.files.hadoop_jvm import HadoopJvm
from tests.labs.real_captures import Lab

pytestmark = pytest.mark.realhbase


@pytest.mark.promise("unfinished-crash-counts")
def test_a_held_crash_is_captured_as_crashing(lab: Lab) -> None:
    victim = lab.cluster.start_server()
    lab.cluster.kill_and_hold(victim)
    try:
        taken = lab.take()
    finally:
        lab.cluster.release(victim)
    for membership in (taken.snapshot.membership, taken.snapshot.membership_2):
        assert membership is not None
        assert victim in {str(server) for server in membership.crashing}
        assert victim not in {str(server) for server in membership.online}


@pytest.mark.promise("loading-master-is-no-answer")
def test_a_master_that_is_loading_is_no_answer(lab: Lab, tmp_path: Path) -> None:
    lab.cluster.fail_over_master("procedures")
    try:
        assert lab.cluster.procedures() == []  # it would answer, with nothing
        with pytest.raises(UnavailableError, match="no active master that is initialized"):
            lab.run(str(tmp_path / "s"))
    finally:
        lab.cluster.release_master()
    assert list(tmp_path.iterdir()) == []
    assert lab.take().snapshot.membership is not None


def test_leftovers_in_zookeeper_are_told_apart_from_not_knowing(lab: Lab) -> None:
    hadoop = HadoopJvm.of(lab.context.spark)
    conf = hadoop.view.org.apache.hadoop.conf.Configuration()
    conf.addResource(hadoop.path(lab.site.as_uri()))
    znodes = ReplicationZnodes.of(hadoop, conf, 10_000)
    assert znodes.queue_data() is False
    assert replace(znodes, root="/nowhere").queue_data() is None
    curator = hadoop.view.org.apache.curator
    client = curator.framework.CuratorFrameworkFactory.newClient(znodes.quorum, curator.retry.RetryNTimes(1, 100))
    client.start()
    try:
        client.create().forPath("/upgraded")
        for node in ("hbaseid", "replication", "replication/hfile-refs"):
            client.create().forPath(f"/upgraded/{node}")
    finally:
        client.close()
    assert replace(znodes, root="/upgraded").queue_data() is True


def test_a_wrong_wal_root_is_named(lab: Lab, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no directory oldWALs: check wal_root"):
        lab.run(str(tmp_path / "s"), f"{lab.cluster.wal_root}x")
    assert list(tmp_path.iterdir()) == []
