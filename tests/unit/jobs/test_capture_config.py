"""The capture part of the configuration: what is right is taken, what is wrong is named with line and key."""

from argparse import Namespace
from pathlib import Path

import pytest

import jobs.capture as job
from jobs.cli.config.capture_sources import (
    FsimageFilesSection,
    HadoopFilesSection,
    HFilesQueuesSection,
    LsFilesSection,
    ThriftQueuesSection,
    ZooKeeperQueuesSection,
)
from jobs.cli.config.configuration import Config, parse_config
from jobs.cli.context import JobContext
from pipelines.common.errors import UsageError

GOOD = """\
cluster: prod-a
wal_root: hdfs://ns1/hbase
capture:
  files: {source: hadoop, properties: {fs.s3a.secret.key: hunter2}}
  queues: {source: thrift, host: thrift1, timeout: 5s}
  state: {source: hbase}
  hbase: {site: /etc/hbase/conf/hbase-site.xml}
"""


ZK = "quorum: 'zk1:2181,zk2:2181'"


def capture(**changed: str) -> Config:
    lines = {
        "files": "{source: hadoop}",
        "queues": "{source: hbase}",
        "state": "{source: hbase}",
        **changed,
    }
    text = "".join(f"  {key}: {value}\n" for key, value in lines.items())
    return parse_config(f"cluster: c\nwal_root: hdfs://ns1/hbase\ncapture:\n{text}", "walsafe.yaml")


def test_a_whole_section() -> None:
    config = parse_config(GOOD, "walsafe.yaml")
    assert config.capture is not None
    assert isinstance(config.capture.files, HadoopFilesSection)
    assert isinstance(config.capture.queues, ThriftQueuesSection)
    assert (config.capture.queues.port, config.capture.queues.timeout) == (9090, 5_000)
    assert (config.capture.step_attempts, config.capture.quiet_attempts, config.capture.pause) == (3, 3, 10_000)


def test_a_snapshot_has_its_place_below_the_key_snapshots() -> None:
    config = parse_config(f"{GOOD}snapshots: hdfs://ns1/walsafe/snapshots/\n", "walsafe.yaml")
    assert config.snapshot_of("20261121T020000Z") == "hdfs://ns1/walsafe/snapshots/prod-a/20261121T020000Z"


def test_a_capture_without_a_place_is_refused_before_it_begins(tmp_path: Path) -> None:
    (tmp_path / "walsafe.yaml").write_text(GOOD)
    args = Namespace(config=str(tmp_path / "walsafe.yaml"), out=None)
    with pytest.raises(UsageError, match="give --out DIR or the key 'snapshots'"):
        job.run(args, JobContext("capture"))


def test_property_values_are_neither_shown_nor_hashed() -> None:
    first, second = (parse_config(GOOD.replace("hunter2", word), "walsafe.yaml") for word in ("hunter2", "hunter3"))
    assert first.digest() == second.digest()
    assert "hunter2" not in repr(first)


def test_the_other_sources() -> None:
    zone = "time_zone: Europe/Vienna"
    image = capture(files=f"{{source: fsimage, path: x, {zone}, transaction_time: 2026-11-21T02:00:00Z}}").capture
    assert image is not None
    assert isinstance(image.files, FsimageFilesSection)
    assert image.files.transaction_time == 1_795_226_400_000
    times = "started_at: 2026-11-21T02:00:00Z, finished_at: '2026-11-21T02:00:01.5Z'"
    text = capture(files=f"{{source: ls, path: x, {zone}, {times}}}").capture
    assert text is not None
    assert isinstance(text.files, LsFilesSection)
    assert text.files.finished_at == 1_795_226_401_500
    one, other = (f"{{path: {name}, {times}}}" for name in "xy")
    cells = f"{{source: cells, passes: [{one}, {other}], clock_host: edge1}}"
    exported_state = {"state": "{source: export}", "export": "{path: d}"}
    assert capture(files="{source: ls}", queues=cells, **exported_state).capture is not None
    with pytest.raises(UsageError, match="both passes name one file"):
        capture(queues=f"{{source: cells, passes: [{one}, {one}], clock_host: edge1}}")
    with pytest.raises(UsageError, match="clock_host is for times that you give"):
        capture(files="{source: ls, path: x, clock_host: edge1}", export="{path: d}")
    exported = capture(files="{source: ls}", queues="{source: export}", state="{source: export}", export="{path: d}")
    assert exported.capture is not None
    saved = {"files": "{source: ls}", "queues": "{source: export, storage: zookeeper}", "export": "{path: d}"}
    assert capture(**saved, state="{source: export}").capture is not None
    with pytest.raises(UsageError, match=r"queues\.storage zookeeper needs state\.source export"):
        capture(**saved)


OFFLINE = f"{{source: offline, {ZK}}}"
HFILES = "{source: hfiles, jars: [/opt/hbase/lib/*.jar]}"


def test_a_cluster_that_is_down() -> None:
    config = capture(queues=HFILES, state=OFFLINE, hbase="{site: /etc/hbase/conf/hbase-site.xml}").capture
    assert config is not None
    assert isinstance(config.queues, HFilesQueuesSection)
    assert (config.queues.jars, config.queues.table) == (("/opt/hbase/lib/*.jar",), "hbase:replication")
    znodes = capture(queues=f"{{source: zookeeper, {ZK}}}", state=OFFLINE, hbase="{site: x}").capture
    assert znodes is not None
    assert isinstance(znodes.queues, ZooKeeperQueuesSection)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"queues": HFILES, "state": OFFLINE}, "hbase.site is missing"),
        ({"queues": HFILES}, "needs state.source offline"),
        ({"state": OFFLINE, "hbase": "{site: x}"}, "needs queues.source hfiles, zookeeper, cells or export"),
        (
            {"queues": "{source: zookeeper, quorum: other:2181}", "state": OFFLINE, "hbase": "{site: x}"},
            r"state\.quorum and queues\.quorum differ",
        ),
        ({"queues": "{source: hfiles, jars: []}", "state": OFFLINE, "hbase": "{site: x}"}, "jars"),
        (
            {"files": "{source: ls}", "queues": HFILES, "state": OFFLINE, "hbase": "{site: x}"},
            "needs files.source hadoop or webhdfs",
        ),
    ],
)
def test_what_a_cluster_that_is_down_needs(changed: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        capture(**changed)


def test_queues_in_zookeeper_with_and_without_a_master() -> None:
    queues = f"{{source: zookeeper, {ZK}, digest: 'u:hunter2'}}"
    assert capture(queues=queues).capture is not None
    config = capture(queues=queues, state="{source: zookeeper}", hbase="{site: /etc/hbase/conf/hbase-site.xml}")
    assert config.capture is not None
    assert isinstance(config.capture.queues, ZooKeeperQueuesSection)
    assert (config.capture.queues.parent, config.capture.queues.replication) == ("/hbase", "replication")
    assert "hunter2" not in repr(config)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"files": "{source: ftp}"}, "line 4: 'capture.files.source' must be one of hadoop, webhdfs"),
        ({"files": "{source: hadoop, propertys: {}}"}, "unknown key 'capture.files.propertys'"),
        ({"files": "{source: webhdfs, urls: []}"}, "capture.files.urls"),
        ({"files": "{source: webhdfs, urls: ['http://u:p@h:1']}"}, "capture.files.urls"),
        ({"files": "{source: webhdfs, urls: ['http://h:1'], user: u, kerberos: true}"}, "user and kerberos exclude"),
        ({"files": "{source: ls, path: x, time_zone: Mars/Base, started_at: 1}"}, "a time zone by its name"),
        ({"files": "{source: ls, path: x, time_zone: UTC}"}, "together, or none"),
        ({"files": "{source: ls}"}, r"files is to come from the export script: export\.path is missing"),
        (
            {"files": "{source: fsimage, path: x, transaction_time: 2026-11-21T02:00:00Z}"},
            "'capture.files.time_zone' is missing",
        ),
        (
            {"files": "{source: fsimage, path: x, time_zone: UTC, transaction_time: 2026-11-21 02:00:00}"},
            "an instant in UTC",
        ),
        ({"queues": "{source: thrift}"}, "'capture.queues.host' is missing"),
        ({"queues": "{source: thrift, host: h, port: 99999}"}, "capture.queues.port"),
        ({"queues": "{source: export}"}, r"queues is to come from the export script: export\.path is missing"),
        ({"queues": "{source: zookeeper}"}, "'capture.queues.quorum' is missing"),
        ({"queues": "{source: zookeeper, quorum: zk1}"}, "capture.queues.quorum"),
        ({"queues": "{source: zookeeper, quorum: 'zk1:2181,', parent: /hbase}"}, "capture.queues.quorum"),
        ({"queues": f"{{source: zookeeper, {ZK}, parent: hbase}}"}, "capture.queues.parent"),
        ({"queues": f"{{source: zookeeper, {ZK}, digest: 'a:b', sasl: true}}"}, "digest and sasl exclude each other"),
        ({"state": "{source: zookeeper}"}, r"with queues\.source zookeeper"),
        ({"queues": f"{{source: zookeeper, {ZK}}}", "state": "{source: zookeeper}"}, r"hbase\.site is missing"),
        (
            {"queues": f"{{source: zookeeper, {ZK}}}", "state": "{source: simulated, path: x}"},
            "needs state.source hbase, zookeeper or offline",
        ),
        ({"state": "{source: shell}"}, "line 6: 'capture.state.source' must be one of hbase, zookeeper"),
        ({"step_attempts": "0"}, "capture.step_attempts"),
        ({"pause": "10"}, "a duration with its unit"),
    ],
)
def test_what_is_wrong_is_named(changed: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        capture(**changed)


@pytest.mark.parametrize("root", ["hdfs://ns1/hbase/", "/hbase", "hdfs:/hbase", "hdfs://ns1/hb\\u0001ase"])
def test_a_wal_root_is_a_full_uri(root: str) -> None:
    with pytest.raises(UsageError, match="wal_root"):
        parse_config(f'wal_root: "{root}"', "walsafe.yaml")
