"""What configuration and master say of a cluster.

Backup is off only where that is certain; HBase 1 is refused; a master proves that it is initialized after it is named.
"""

import json
import re
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kazoo.exceptions import NoAuthError, NoNodeError, SessionClosedRequireSaslError
from kazoo.handlers.threading import KazooTimeoutError
from py4j.protocol import Py4JError

from jobs.capture.wiring import CaptureWiring
from jobs.cli.config.configuration import parse_config
from pipelines.capture.capture import CaptureSources
from pipelines.capture.ports import ClusterSettings
from pipelines.capture.sources.export_parts import ExportDirectory
from pipelines.capture.sources.exported_state import ExportedState
from pipelines.capture.sources.hbase_admin import HBaseAdmin
from pipelines.capture.sources.zookeeper_client import ZooKeeperClient
from pipelines.capture.sources.zookeeper_queues import ZooKeeperQueues
from pipelines.capture.sources.zookeeper_sasl import Login, SaslZooKeeperClient
from pipelines.capture.sources.zookeeper_state import ZooKeeperState
from pipelines.common.errors import UnavailableError, UsageError, WalsafeError
from pipelines.files.hadoop_jvm import java_errors
from pipelines.files.saved_text import LocalCopies
from pipelines.snapshot.model import Backup
from tests.labs.places import PROJECT

ENABLE, TABLE_NAME = "hbase.backup.enable", "hbase.backup.system.table.name"
PLUGINS, TTL = "hbase.master.logcleaner.plugins", "hbase.master.logcleaner.ttl"
STATED: tuple[tuple[dict[str, str], Backup | None], ...] = (
    ({}, None),
    ({ENABLE: "false"}, Backup(enabled=False)),
    ({ENABLE: "true"}, Backup(enabled=True)),
)
RETENTION = {"wal_ttl_ms": 1, "procedure_wal_ttl_ms": 1, "master_local_wal_ttl_ms": 1}


@dataclass
class Conf:
    """Hadoop's `Configuration`, as far as it is asked."""

    values: Mapping[str, str] = field(default_factory=dict)

    def get(self, name: str, default: str | None = None) -> str | None:
        return self.values.get(name, default)

    def getBoolean(self, name: str, default: bool) -> bool:  # noqa: N802 - Java's
        return self.values.get(name, str(default)).lower() == "true"

    def getLong(self, name: str, default: int) -> int:  # noqa: N802 - Java's
        return int(self.values.get(name, default))


class Admin:
    """HBase's `Admin`, with its tables; None = this user may not ask."""

    def __init__(self, *tables: str | None, version: str = "3.0.0") -> None:
        self._tables, self._version = tables, version
        self.asked: list[str] = []

    def tableExists(self, name: str) -> bool:  # noqa: N802 - Java's
        if None in self._tables:
            raise UsageError("permission denied")
        return name in self._tables

    def getClusterMetrics(self, options: tuple[str, ...]) -> Any:  # noqa: ANN401, N802 - Java's
        self.asked += options
        master = SimpleNamespace(toString=lambda: "m1,16000,5")
        return SimpleNamespace(
            getClusterId=lambda: "id", getHBaseVersion=lambda: self._version, getMasterName=lambda: master
        )

    def getNamespaceDescriptor(self, name: str) -> None:  # noqa: N802 - Java's
        self.asked.append(name)


def by_admin(conf: Mapping[str, str], *tables: str | None, version: str = "3.0.0") -> HBaseAdmin:
    return asking(Admin(*tables, version=version), conf)


def asking(admin: Admin, conf: Mapping[str, str]) -> HBaseAdmin:
    option = SimpleNamespace(CLUSTER_ID="cluster id", HBASE_VERSION="version", MASTER="master")
    hbase = SimpleNamespace(ClusterMetrics=SimpleNamespace(Option=option))
    org = SimpleNamespace(apache=SimpleNamespace(hadoop=SimpleNamespace(hbase=hbase)))
    java = SimpleNamespace(util=SimpleNamespace(EnumSet=SimpleNamespace(of=lambda *options: options)))
    client = SimpleNamespace(
        conf=Conf(conf),
        admin=admin,
        where="HBase",
        errors=java_errors,
        table_exists=admin.tableExists,
        hadoop=SimpleNamespace(view=SimpleNamespace(org=org, java=java)),
    )
    return HBaseAdmin(client, SimpleNamespace())  # type: ignore[arg-type]


@pytest.mark.parametrize(("conf", "backup"), STATED)
def test_the_client_that_asks_the_master_is_silent_where_its_file_is(
    conf: dict[str, str], backup: Backup | None
) -> None:
    assert by_admin(conf).settings().backup == backup


def test_a_negative_time_to_live_is_refused_with_the_way_out() -> None:
    with pytest.raises(UsageError, match=r"HBase, hbase\.master\.logcleaner\.ttl: -1 .* set it to 0 ms or more"):
        by_admin({TTL: "-1"}).settings()


@pytest.mark.promise("state-hbase-refuses-hbase-1")
def test_the_master_of_an_hbase_1_is_refused_with_the_way_out() -> None:
    with pytest.raises(UsageError, match=r"HBase 1\.7\.2 does not answer .* capture\.state: {source: zookeeper}"):
        by_admin({}, version="1.7.2").settings()


@pytest.mark.promise("loading-master-is-no-answer")
@pytest.mark.parametrize("step", ["crashing", "crashing-2"])
def test_a_master_is_named_before_it_proves_that_it_is_initialized(step: str) -> None:
    """A loading master says its name too, so the other order could take the proof of the master before it."""
    admin = Admin()
    assert asking(admin, {}).active_master(step) == "m1,16000,5"
    assert admin.asked == ["master", "hbase"]


@pytest.mark.promise("loading-master-is-no-answer")
def test_the_export_script_names_the_master_before_the_proof() -> None:
    script = (PROJECT / "conf" / "export" / "walsafe-export.rb").read_text(encoding="utf-8")
    body = script.partition("def active_master\n")[2].partition("\nend\n")[0]
    assert 0 < body.index("getMasterName") < body.index("getNamespaceDescriptor") < body.index("named_first: true")


@pytest.mark.promise("silence-about-backup-is-unknown")
def test_the_master_tells_whether_the_table_exists() -> None:
    assert by_admin({}, "backup:system").has_backup_table() is True
    assert by_admin({}, "other").has_backup_table() is False
    assert by_admin({TABLE_NAME: "own:system"}, "backup:system").has_backup_table() is False
    assert by_admin({TABLE_NAME: "own:system"}, "own:system").has_backup_table() is True
    assert by_admin({}, None).has_backup_table() is None


class Znodes:
    """ZooKeeper's znodes; one that is None may not be read."""

    where = "ZooKeeper"

    def __init__(self, *names: str | None) -> None:
        self._names = names

    def sync(self, _path: str) -> None:
        """It is the leader."""

    def exists(self, path: str) -> bool:
        if None in self._names:
            raise UsageError("may not be read")
        return path in self._names

    def data(self, _path: str) -> bytes:
        return b"of old"


class Site(ZooKeeperState):
    """Whose hbase-site.xml is at hand."""

    def __init__(self, conf: Mapping[str, str], *znodes: str | None) -> None:
        queues = ZooKeeperQueues(Znodes(*znodes))  # type: ignore[arg-type]
        super().__init__(queues, SimpleNamespace(), "hbase-site.xml", {})  # type: ignore[arg-type]
        self._conf = Conf(conf)

    def _configuration(self) -> Conf:
        return self._conf


class Loaded(Conf):
    """What is read from hbase-site.xml; it takes properties on top."""

    def addResource(self, _path: object) -> None:  # noqa: N802 - Java's
        self.values = {**self.values, PLUGINS: "of.the.File", TTL: "60000", ENABLE: "false"}

    def set(self, name: str, value: str) -> None:
        self.values = {**self.values, name: value}


def spark() -> Any:  # noqa: ANN401
    """A session in whose JVM every path is a file that exists."""
    files = SimpleNamespace(exists=lambda _path: True)
    fs = SimpleNamespace(Path=lambda _uri: SimpleNamespace(getFileSystem=lambda _conf: files))
    conf = SimpleNamespace(Configuration=lambda _defaults: Loaded())
    org = SimpleNamespace(apache=SimpleNamespace(hadoop=SimpleNamespace(fs=fs, conf=conf)))
    jsc = SimpleNamespace(hadoopConfiguration=lambda: None)
    return SimpleNamespace(sparkContext=SimpleNamespace(_jvm=SimpleNamespace(org=org), _gateway=None, _jsc=jsc))


ZNODES = "source: zookeeper, quorum: 'zk1:2181'"
OFFLINE = "source: offline, quorum: 'zk1:2181'"
FROM_ZOOKEEPER = {
    "queues and state": (ZNODES, "source: zookeeper"),
    "queues of a cluster that is down": (ZNODES, OFFLINE),
    "peers of a cluster that is down": ("source: export", OFFLINE),
}


def settings_of(queues: str, state: str, given: Mapping[str, str]) -> ClusterSettings:
    """What the sources of a configuration say, with properties of HBase beside its file."""
    config = parse_config(
        "cluster: c\nwal_root: hdfs://ns1/hbase\ncapture:\n  files: {source: webhdfs, urls: ['http://nn:9870']}\n"
        f"  queues: {{{queues}}}\n  state: {{{state}}}\n  export: {{path: /export}}\n"
        f"  hbase: {{site: /hbase-site.xml, properties: {json.dumps(given)}}}\n",
        "walsafe.yaml",
    )
    assert config.capture is not None
    with ExitStack() as stack:
        sources = CaptureWiring("c", "hdfs://ns1/hbase", config.capture, spark(), stack).sources()
    assert not isinstance(sources, CaptureSources)
    return sources.state.settings()


@pytest.mark.parametrize(("queues", "state"), FROM_ZOOKEEPER.values(), ids=FROM_ZOOKEEPER)
def test_properties_of_the_configuration_lie_on_top_of_the_file(
    queues: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a plugin, a longer TTL or a backup that is stated only there would protect nothing."""
    monkeypatch.setattr(ZooKeeperQueues, "cluster_id", lambda _: "id")
    found = settings_of(queues, state, {PLUGINS: "own.Cleaner", TTL: "99000000", ENABLE: "true"})
    assert found.log_cleaner_plugins == ("own.Cleaner",)
    assert (found.retention.wal_ttl_ms, found.backup) == (99_000_000, Backup(enabled=True))


class NoAnswer:
    """A session of kazoo that fails in one way."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def get_async(self, _path: str) -> "NoAnswer":
        return self

    def get(self, **_: object) -> None:
        raise self._error


@pytest.mark.parametrize(("queues", "state"), FROM_ZOOKEEPER.values(), ids=FROM_ZOOKEEPER)
@pytest.mark.parametrize(
    ("error", "given", "keys"),
    [
        (NoNodeError(), {}, ("quorum", "parent")),
        (NoAuthError(), {}, ("digest", "sasl")),
        (SessionClosedRequireSaslError(), {}, ("sasl",)),
        (KazooTimeoutError(), {}, ("quorum",)),
    ],
)
def test_a_remedy_names_the_section_that_says_where_zookeeper_is(
    error: Exception,
    given: dict[str, str],
    keys: tuple[str, ...],
    queues: str,
    state: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ZooKeeperClient, "_client", lambda _: NoAnswer(error))
    with pytest.raises(WalsafeError) as told:
        settings_of(queues, state, given)
    right, wrong = ("capture.queues", "capture.state")[:: 1 if queues == ZNODES else -1]
    assert right in str(told.value)
    assert wrong not in str(told.value)
    assert [key for key in keys if f"{right}.{key}" not in str(told.value)] == []


@pytest.mark.promise("znodes-are-the-site-files", "peers-are-in-zookeeper")
@pytest.mark.parametrize(("queues", "state"), FROM_ZOOKEEPER.values(), ids=FROM_ZOOKEEPER)
@pytest.mark.parametrize(
    ("name", "there", "words"),
    [
        ("zookeeper.znode.parent", "/other", "/hbase would be read"),
        ("zookeeper.znode.replication", "other", "replication would be read"),
        ("zookeeper.znode.replication.peers", "other", "peers would be read"),
        ("zookeeper.znode.replication.rs", "other", "rs would be read"),
        ("hbase.replication.peer.storage.impl", "filesystem", "peers are not in ZooKeeper"),
    ],
)
def test_a_file_that_names_other_znodes_is_refused(
    name: str, there: str, words: str, queues: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ZooKeeperQueues, "cluster_id", lambda _: "id")
    with pytest.raises(UsageError, match=rf"says that {re.escape(name)} is {there}.* {words}") as told:
        settings_of(queues, state, {name: there})
    right, wrong = ("capture.queues", "capture.state")[:: 1 if queues == ZNODES else -1]
    assert not name.startswith("zookeeper") or (right in str(told.value) and wrong not in str(told.value))


def test_so_does_that_of_a_zookeeper_with_kerberos() -> None:
    def fails(*_: object) -> None:
        raise Py4JError("no answer")

    client = SaslZooKeeperClient(SimpleNamespace(compiled=fails), "zk1:2181", 1, Login(), "capture.state")  # type: ignore[arg-type]
    with pytest.raises(UnavailableError, match=r"check capture\.state\.quorum"):
        client.exists("/hbase")


NAMESPACES, BACKUPS = "/hbase/table/hbase:namespace", "/hbase/table/backup:system"


@pytest.mark.parametrize(("conf", "backup"), STATED)
def test_a_file_alone_is_silent_where_it_is(conf: dict[str, str], backup: Backup | None) -> None:
    assert Site(conf).settings().backup == backup


@pytest.mark.promise("silence-about-backup-is-unknown")
@pytest.mark.parametrize(
    ("conf", "znodes", "there"),
    [
        ({}, (NAMESPACES, BACKUPS), True),
        ({}, (BACKUPS,), True),
        ({}, (NAMESPACES,), False),
        ({}, (), None),  # no table has a state here: HBase keeps them elsewhere
        ({}, (None,), None),
        ({"hbase.mirror.table.state.to.zookeeper": "false"}, (NAMESPACES,), None),
        ({TABLE_NAME: "own:system"}, (NAMESPACES, "/hbase/table/own:system"), True),
    ],
)
def test_zookeeper_tells_whether_the_table_exists(
    conf: dict[str, str], znodes: tuple[str | None, ...], there: bool | None
) -> None:
    assert Site(conf, *znodes).has_backup_table() is there


def exported(tmp_path: Path, settings: Mapping[str, object], peers: Mapping[str, object]) -> ExportedState:
    whole = {"cluster_id": "id", "hbase_version": "3", "retention": RETENTION, "log_cleaner_plugins": "", **settings}
    for step, document in (("settings", whole), ("peers", {"peers": [], **peers})):
        begin = f"# walsafe-export 1 {step} started 2026-11-21T02:00:00.000Z host edge1 zone UTC"
        end = f"# walsafe-export end {step} finished 2026-11-21T02:00:05.000Z status 0"
        (tmp_path / f"{step}.txt").write_text("\n".join((begin, json.dumps(document), end, "")))
    return ExportedState(ExportDirectory(str(tmp_path), LocalCopies()), "hdfs://ns1/hbase")


@pytest.mark.parametrize(
    ("settings", "backup"),
    [
        ({"backup_enabled": False, "backup_stated": False}, None),
        ({"backup_enabled": False}, None),  # an older script wrote the same where nothing was set
        ({"backup_enabled": False, "backup_stated": True}, Backup(enabled=False)),
        ({"backup_enabled": True, "backup_stated": True}, Backup(enabled=True)),
        ({"backup_enabled": True}, Backup(enabled=True)),
    ],
)
def test_an_export_is_silent_where_the_file_of_its_host_was(
    tmp_path: Path, settings: dict[str, object], backup: Backup | None
) -> None:
    assert exported(tmp_path, settings, {}).settings().backup == backup


@pytest.mark.promise("silence-about-backup-is-unknown")
@pytest.mark.parametrize(
    ("peers", "there"), [({"backup_table": True}, True), ({"backup_table": False}, False), ({}, None)]
)
def test_an_export_tells_whether_the_table_exists(
    tmp_path: Path, peers: dict[str, object], there: bool | None, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"backup_enabled": False, "backup_stated": False}
    assert exported(tmp_path, settings, peers).has_backup_table() is there
    assert ("export again with the script of this version" in caplog.text) == (there is None)
