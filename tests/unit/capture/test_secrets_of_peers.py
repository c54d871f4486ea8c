"""No secret of a peer's configuration reaches a snapshot."""

from collections.abc import Callable

import pytest

from pipelines.capture.secrets import HIDDEN, without_secrets
from pipelines.hbase.peers import Peer
from tests.labs.capture_world import World


def test_secrets_of_peers_do_not_reach_the_snapshot() -> None:
    world = World()
    world.capture()
    assert world.finished is not None
    assert "hunter2" not in repr(world.finished)


SECRET = "hunter2"  # noqa: S105 - what must not be seen


@pytest.mark.parametrize(
    "make",
    [
        lambda: Peer("1", "ENABLED", cluster_key=f"hbase+rpc://u:{SECRET}@h:1/"),
        lambda: Peer("1", "ENABLED", cluster_key=f"hbase+zk://h:1/hbase?my.password={SECRET}&x=1"),
        lambda: Peer("1", "ENABLED", remote_wal_dir=f"s3a://key:{SECRET}@bucket/wal"),
        lambda: Peer("1", "ENABLED", config={"fs.s3a.secret.key": SECRET, "my.PASSWORD": SECRET, "auth.token": SECRET}),
        lambda: Peer("1", "ENABLED", config={"jdbc.url": f"jdbc:x://h/db;user=u;password={SECRET};a=b"}),
        lambda: Peer("1", "ENABLED", config={"es.url": f"https://u:{SECRET}@h/"}),
    ],
)
def test_values_that_look_like_secrets_are_hidden(make: Callable[[], Peer]) -> None:
    shown = without_secrets(make())
    assert SECRET not in repr(shown)
    assert HIDDEN in repr(shown)


def test_ordinary_values_stay() -> None:
    peer = Peer(
        "1", "ENABLED", cluster_key="zk1,zk2:2181:/hbase", config={"hbase.rpc.timeout": "9", "url": "http://h/a?b=c"}
    )
    assert without_secrets(peer) == peer
