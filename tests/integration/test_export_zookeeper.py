"""The export script where the queues are in ZooKeeper: on a real ZooKeeper, with the classes of HBase 1 and of HBase 2.

`test_zookeeper_cluster.py` runs it beside a running HBase 2 and HBase 1.
"""

import json
import subprocess
from base64 import b64decode
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.security import OPEN_ACL_UNSAFE, make_digest_acl

from pipelines.capture.secrets import HIDDEN, without_secrets
from pipelines.capture.sources.export_parts import ExportDirectory
from pipelines.capture.sources.exported_znodes import ExportedZnodes
from pipelines.capture.sources.zookeeper_client import ZooKeeperClient
from pipelines.capture.sources.zookeeper_queues import ZooKeeperQueues
from pipelines.files.saved_text import LocalCopies
from tests.labs.cluster.classpath import HBASE_2, QUICK, Artifact, Classpath, hbase_1, resolve
from tests.labs.cluster.conf import write_site
from tests.labs.cluster.zookeeper import ZooKeeper, connected
from tests.labs.export_script import run_export
from tests.labs.places import PROJECT

pytestmark = [pytest.mark.realhbase, pytest.mark.long]

JRUBY_OF_HBASE_1 = Classpath("jruby1", (Artifact("org.jruby:jruby-complete:1.6.8"),))
A, B = "h-a.example.org,16020,5", "h-ä.example.org,16020,6"
"""HBase writes no name like the second; its letters cross the whole way as they are."""
BASE = "/hbase/replication"
REGION = "0123456789abcdef0123456789abcdef"
MAGIC = b"PBUF"
WRITER = b"\xff\x00\x00\x00\x0cmaster:16000"
HUNTER = "hunter2"


def field(number: int, value: bytes) -> bytes:
    """A field of a message that is text or a message."""
    return bytes([number << 3 | 2, len(value)]) + value


def pair(name: str, value: str) -> bytes:
    return field(1, name.encode()) + field(2, value.encode())


PEER = b"".join(
    (
        MAGIC + field(1, b"zk1:2181:/hbase") + field(2, b"a.Endpoint"),
        field(3, pair("k", HUNTER)),
        field(4, pair("sasl.password", HUNTER)) + field(4, pair("zone", "eu")),
        b"\x40\x00",
        field(5, field(1, field(1, b"default") + field(2, b"t")) + field(2, b"f")),
        b"\x58\x01",
    )
)
"""A peer that takes one table, with a secret in its data and one in its configuration."""
TREE: Mapping[str, bytes] = {
    "/hbase/hbaseid": WRITER + MAGIC + bytes.fromhex("0a0161"),
    f"/hbase/rs/{A}": b"",
    "/hbase/table/hbase:namespace": b"",
    f"{BASE}/rs/{A}/2/w.1": WRITER + bytes.fromhex("5042554608bb03"),
    f'{BASE}/rs/{A}/2/w"\\ü.2': b"",
    f"{BASE}/rs/{A}/2-{B}/w.3": (443).to_bytes(8, "big"),
    f"{BASE}/rs/{B}/lock": bytes.fromhex("504255460a0178"),
    f"{BASE}/peers/2": WRITER + PEER,
    f"{BASE}/peers/2/peer-state": WRITER + MAGIC + b"\x08\x00",
    f"{BASE}/peers/3": PEER,
    f"{BASE}/peers/3/sync-rep-state": MAGIC + b"\x08\x00",
    f"{BASE}/peers/old": b"zk2:2181:/hbase",
    f"{BASE}/peers/old/tableCFs": b"t1:f1,f2;t2",
    f"{BASE}/hfile-refs/2/f1": b"",
    f"{BASE}/regions/{REGION[:2]}/{REGION[2:4]}/{REGION[4:]}-2": (900).to_bytes(8, "big"),
}


@pytest.fixture(scope="module")
def writer(zookeeper: ZooKeeper) -> Iterator[KazooClient]:
    with connected(zookeeper.quorum) as client:
        for path, data in TREE.items():
            client.create(path, data, makepath=True)
        yield client


def export(zookeeper: ZooKeeper, work: Path, classes: Classpath, **properties: str) -> tuple[int, str]:
    """Exports to `work/out`; the exit code and what is said."""
    site = {"hbase.zookeeper.quorum": zookeeper.quorum, "hbase.master.logcleaner.ttl": "7000", **properties}
    write_site(work / "conf" / "hbase-site.xml", site)
    done = run_export(work, ["hdfs://ns1/hbase", str(work / "out"), "zookeeper"], [work / "conf", *resolve(classes)])
    return done.returncode, done.stderr


@pytest.mark.usefixtures("writer")
@pytest.mark.promise("exported-znodes-agree")
@pytest.mark.parametrize("classes", [hbase_1("1.7.2"), HBASE_2], ids=["HBase 1", "HBase 2"])
def test_every_znode_is_saved_as_it_is_read_live(zookeeper: ZooKeeper, tmp_path: Path, classes: Classpath) -> None:
    """Though the members that are named first are down.

    ZooKeeper's client fails what was asked before it is connected as soon as the first member does not answer.
    """
    down = ",".join(f"127.0.0.1:{port}" for port in range(1, 9))
    code, said = export(zookeeper, tmp_path, classes, **{"hbase.zookeeper.quorum": f"{down},{zookeeper.quorum}"})
    assert code == 0, said[-3000:]
    client = ZooKeeperClient(zookeeper.quorum, 300_000)
    live, saved = ZooKeeperQueues(client), ExportedZnodes(ExportDirectory(str(tmp_path / "out"), LocalCopies()))
    for step in ("queues-1", "queues-2"):
        assert saved.znodes(step) == live.znodes(step)
    assert len(saved.znodes("queues-2")) == len(saved.znodes("queues-1")) + 4
    assert saved.online("online") == live.online("online")
    assert saved.cluster_id() == live.cluster_id() == "a"
    assert saved.peers() == tuple(map(without_secrets, live.peers()))
    assert saved.peers()[0].config == {"sasl.password": HIDDEN, "zone": "eu"}
    assert saved.has_backup_table() is live.has_table("backup:system") is False
    settings = saved.settings()
    assert (settings.retention.wal_ttl_ms, settings.hbase_version, settings.backup) == (7000, None, None)
    client.close()
    for step in ("peers", "peers-2"):
        lines = (tmp_path / "out" / f"{step}.txt").read_text().splitlines()[1:-2]
        data = [b64decode(json.loads(line)["data"]) for line in lines]
        assert any(b"zk1:2181" in one for one in data)
        assert not any(HUNTER.encode() in one for one in data)


def test_the_ruby_of_hbase_1s_shell_understands_the_script() -> None:
    """JRuby 1.6 runs on Java 8 only; on ours it still parses, and knows Ruby 1.8 alone."""
    scripts = [PROJECT / "conf" / "export" / f"walsafe-export-{name}.rb" for name in ("common", "zookeeper")]
    (jar,) = resolve(JRUBY_OF_HBASE_1)
    parse = 'ARGV.each { |name| eval("proc {\\n#{File.read(name)}\\n}", nil, name, 0) }'  # which calls none
    command = ["java", *QUICK, "-jar", str(jar), "-e", parse, *map(str, scripts)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"zookeeper.znode.parent": "/other"}, "ZooKeeper has no /other/hbaseid: no HBase keeps its znodes there"),
        ({"zookeeper.znode.replication.peers": "p"}, "zookeeper.znode.replication.peers is p: no other than peers"),
        ({"zookeeper.znode.replication": "closed"}, "NoAuth for /hbase/closed/rs"),
    ],
)
def test_what_may_not_be_saved_is_not(
    zookeeper: ZooKeeper, writer: KazooClient, tmp_path: Path, properties: dict[str, str], words: str
) -> None:
    closed = [make_digest_acl("hbase", HUNTER, all=True)]
    if not writer.exists("/hbase/closed"):
        writer.create("/hbase/closed/rs", acl=OPEN_ACL_UNSAFE, makepath=True)
        writer.set_acls("/hbase/closed/rs", closed)
    code, said = export(zookeeper, tmp_path, HBASE_2, **properties)
    assert code != 0
    assert words in said
    assert not (tmp_path / "out").exists()
