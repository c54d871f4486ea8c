"""No secret of a peer's configuration reaches a snapshot."""

import re
from collections.abc import Callable

import pytest

from pipelines.capture.secrets import HIDDEN, TELLING_NAME, without_secrets
from pipelines.hbase.peers import Peer
from tests.labs.capture_world import World
from tests.labs.places import PROJECT


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
        lambda: Peer("1", "ENABLED", config={"es.url": f"https://u:p@{SECRET}@h/"}),
        lambda: Peer("1", "ENABLED", config={"sink.key": SECRET, "Key": SECRET}),
        lambda: Peer("1", "ENABLED", config={"es.url": f"https://h/?key={SECRET}", "sink": f"my_key={SECRET}"}),
    ],
)
def test_values_that_look_like_secrets_are_hidden(make: Callable[[], Peer]) -> None:
    shown = without_secrets(make())
    assert SECRET not in repr(shown)
    assert HIDDEN in repr(shown)


def test_ordinary_values_stay() -> None:
    plain = {"hbase.rpc.timeout": "9", "url": "http://h/a?b=c&monkey=1", "key.class": "Text", "monkey": "1"}
    peer = Peer("1", "ENABLED", cluster_key="zk1,zk2:2181:/hbase", config=plain)
    assert without_secrets(peer) == peer


def test_the_export_script_hides_the_same_names() -> None:
    script = (PROJECT / "conf" / "export" / "walsafe-export-common.rb").read_text(encoding="utf-8")
    assert re.findall("^TELLING_NAME = /(.*)/i$", script, re.MULTILINE) == [TELLING_NAME]
