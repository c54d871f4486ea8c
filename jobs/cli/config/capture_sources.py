"""The sources of a snapshot's parts in the configuration file, each with its own keys (docs/capture.md)."""

from datetime import datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BeforeValidator, Field, SecretStr, StringConstraints, model_validator

from jobs.cli.config.config_types import DurationMs, Place, Section, Text, WrittenInstant
from pipelines.common.errors import MalformedError
from pipelines.common.instants import parse_instant


def _instant(value: object) -> int:
    """Parses an instant; YAML already reads an unquoted one as a datetime."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return int(value.timestamp() * 1000)
    try:
        return parse_instant(value if isinstance(value, str) else "")
    except MalformedError:
        raise ValueError("expected an instant in UTC like 2026-11-21T02:00:00Z") from None


def _zone(value: object) -> ZoneInfo:
    try:
        return ZoneInfo(value if isinstance(value, str) else "")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("expected a time zone by its name, like Europe/Vienna or UTC") from None


InstantMs = Annotated[int, BeforeValidator(_instant, json_schema_input_type=WrittenInstant)]
"""Ms since the epoch, written as an instant in UTC."""
TimeZone = Annotated[ZoneInfo, BeforeValidator(_zone, json_schema_input_type=str)]
Quorum = Annotated[str, StringConstraints(pattern=r"^[^\s,/@]+:[0-9]{1,5}(,[^\s,/@]+:[0-9]{1,5})*$")]
ParentZnode = Annotated[str, StringConstraints(pattern=r"^/[^\x00-\x1f\x7f]*[^/\x00-\x1f\x7f]$")]
ZnodeName = Annotated[str, StringConstraints(pattern=r"^[^/\x00-\x1f\x7f]+$")]
NameNodeUrl = Annotated[str, StringConstraints(pattern=r"^https?://[^\s;@]+$")]
Port = Annotated[int, Field(ge=1, le=65535)]
Properties = dict[Text, SecretStr]
"""Hadoop or HBase properties; their values are never printed, hashed or stored."""


class HadoopFilesSection(Section):
    """Hadoop's `FileSystem` in Spark's JVM: any scheme, HA nameservices, Kerberos."""

    source: Literal["hadoop"]
    properties: Properties = Field(
        default_factory=dict,
        description="Hadoop properties on top of HADOOP_CONF_DIR",
        examples=[{"dfs.nameservices": "ns1"}],
    )


class WebHdfsFilesSection(Section):
    """WebHDFS or HttpFS, through the `hdfs` library."""

    source: Literal["webhdfs"]
    urls: tuple[NameNodeUrl, ...] = Field(
        min_length=1, strict=False, description="of every name node of the nameservice, observers left out",
        examples=[["http://nn1:9870", "http://nn2:9870"]],
    )  # fmt: skip
    user: Text | None = Field(default=None, description="`user.name`; absent = the user that runs walsafe")
    kerberos: bool = Field(
        default=False,
        description="whether to log in with Kerberos (SPNEGO): with the principal and keytab given to Spark, else with "
        "the ticket; `user` must then be absent",
    )
    timeout: DurationMs = Field(default=60_000, description="of each request", examples=["60s"])

    @model_validator(mode="after")
    def _one_identity(self) -> "WebHdfsFilesSection":
        if self.kerberos and self.user is not None:
            raise ValueError("user and kerberos exclude each other: the ticket says who the user is")
        return self


class FsimageFilesSection(Section):
    """The text that `hdfs oiv -p Delimited` wrote from an fsimage."""

    source: Literal["fsimage"]
    path: Place = Field(description="of the text, any Hadoop URI")
    time_zone: TimeZone = Field(
        description="of the process that wrote the text: it prints local times", examples=["Europe/Vienna"]
    )
    transaction_time: InstantMs = Field(description="of the image's last transaction: nothing later is in it")
    delimiter: Annotated[str, StringConstraints(min_length=1, max_length=1)] = Field(
        default="\t", description="as given to `-delimiter`"
    )


class LsFilesSection(Section):
    """The saved text of `hdfs dfs -ls -R <wal_root>/WALs <wal_root>/remoteWALs <wal_root>/oldWALs`, in this order."""

    source: Literal["ls"]
    path: Place | None = Field(default=None, description="of the text; absent = the one of `capture.export`")
    time_zone: TimeZone | None = Field(
        default=None, description="in which the times were printed; the export script says it itself",
        examples=["Europe/Vienna"],
    )  # fmt: skip
    started_at: InstantMs | None = Field(default=None, description="when the command began; the script says it itself")
    finished_at: InstantMs | None = Field(default=None, description="when it had ended; the script says it itself")
    clock_host: Text | None = Field(
        default=None,
        description="host whose clock told these times; needed where `state` or `queues` are saved as well",
        examples=["edge1"],
    )

    @model_validator(mode="after")
    def _whole(self) -> "LsFilesSection":
        said = (self.time_zone, self.started_at, self.finished_at)
        if self.clock_host is not None and None in said:
            raise ValueError(
                "clock_host is for times that you give (time_zone, started_at, finished_at); the export script's text "
                "says it itself"
            )
        if any(value is not None for value in said) and None in said:
            raise ValueError(
                "give time_zone, started_at and finished_at together, or none for the export script's text"
            )
        if self.path is None and self.time_zone is not None:
            raise ValueError("path is missing: which text is in that time zone?")
        return self


class ThriftQueuesSection(Section):
    """HBase's Thrift gateway (protocol 1), without Kerberos."""

    source: Literal["thrift"]
    host: Text
    port: Port = 9090
    transport: Literal["buffered", "framed"] = Field(default="buffered", description="as the gateway was started")
    protocol: Literal["binary", "compact"] = Field(default="binary", description="as the gateway was started")
    timeout: DurationMs = Field(default=60_000, description="of each call", examples=["60s"])
    table: Text = Field(default="hbase:replication", description="`hbase.replication.queue.table.name`")


class HBaseQueuesSection(Section):
    """HBase's own client in Spark's JVM (`capture.hbase`)."""

    source: Literal["hbase"]


class ZooKeeperSection(Section):
    """HBase's ZooKeeper, through kazoo, or with Kerberos through ZooKeeper's own client in Spark's JVM."""

    source: str
    quorum: Quorum = Field(
        description="`host:port,host:port` of `hbase.zookeeper.quorum`, with its client port",
        examples=["zk1:2181,zk2:2181,zk3:2181"],
    )
    parent: ParentZnode = Field(default="/hbase", description="`zookeeper.znode.parent`")
    replication: ZnodeName = Field(default="replication", description="`zookeeper.znode.replication`")
    digest: SecretStr | None = Field(
        default=None, description="`user:password` of ZooKeeper's scheme digest; absent = the znodes may be read by all"
    )
    sasl: bool = Field(
        default=False,
        description="whether to read with Kerberos: with the principal and keytab given to Spark, else with the ticket",
    )
    timeout: DurationMs = Field(default=30_000, description="to connect, and of each answer", examples=["30s"])

    @model_validator(mode="after")
    def _one_identity(self) -> "ZooKeeperSection":
        if self.sasl and self.digest is not None:
            raise ValueError("digest and sasl exclude each other: one session has one identity")
        return self


class ZooKeeperQueuesSection(ZooKeeperSection):
    """HBase 1.x and 2.x: the queues below `/hbase/replication`."""

    source: Literal["zookeeper"]


class PassSection(Section):
    """One scan of all families: lines like those of queues-1.jsonl in a snapshot, then `N row(s)`."""

    path: Place = Field(description="any Hadoop URI")
    started_at: InstantMs
    finished_at: InstantMs


class CellsQueuesSection(Section):
    """Two scans by the operator's own program."""

    source: Literal["cells"]
    passes: tuple[PassSection, PassSection] = Field(
        strict=False, description="two scans of all families, one entry each"
    )
    clock_host: Text | None = Field(
        default=None,
        description="host whose clock told the times of the passes; needed unless the cluster is down",
        examples=["edge1"],
    )

    @model_validator(mode="after")
    def _two_scans(self) -> "CellsQueuesSection":
        if self.passes[0].path == self.passes[1].path:
            raise ValueError("both passes name one file; the second must be a scan of its own, begun after the first")
        return self


class ExportQueuesSection(Section):
    """The files that the export script saved (`capture.export`)."""

    source: Literal["export"]
    storage: Literal["table", "zookeeper"] = Field(
        default="table",
        description="where the queues are, the third word for the export script; `zookeeper`: HBase 1.x and 2.x",
    )


class HFilesQueuesSection(Section):
    """The store files of `hbase:replication`, read by HBase's own classes: for a cluster that is down."""

    source: Literal["hfiles"]
    jars: tuple[Text, ...] = Field(
        min_length=1, strict=False, description="of an HBase 3 installation, on the driver's machine; `*` is any name",
        examples=[["/opt/hbase/lib/*.jar", "/opt/hbase/lib/client-facing-thirdparty/*.jar"]],
    )  # fmt: skip
    table: Text = Field(default="hbase:replication", description="`hbase.replication.queue.table.name`")


class SimulatedSection(Section):
    """A directory that simulates a live cluster: for trials on a laptop, and for tests."""

    source: Literal["simulated"]
    path: Place = Field(description="directory on this machine with state.json and queues.jsonl")


class HBaseStateSection(Section):
    """HBase's Admin in Spark's JVM (`capture.hbase`)."""

    source: Literal["hbase"]


class ZooKeeperStateSection(Section):
    """Peers from ZooKeeper, settings from `capture.hbase.site`, no master; only with `queues.source: zookeeper`."""

    source: Literal["zookeeper"]


class ExportStateSection(Section):
    """The files that the export script saved (`capture.export`)."""

    source: Literal["export"]


class OfflineStateSection(ZooKeeperSection):
    """ZooKeeper and the master's `hbase-site.xml` (`capture.hbase.site`), while HBase is down: for `plan-syncup`."""

    source: Literal["offline"]


class HBaseSection(Section):
    """The master's configuration, and HBase's own client for `queues.source: hbase` and `state.source: hbase`."""

    site: Text | None = Field(
        default=None,
        description="hbase-site.xml of the MASTER: times to live and cleaner plugins are read from it; absent = the "
        "one on Spark's class path",
    )
    properties: Properties = Field(default_factory=dict, description="HBase properties on top of it")
    timeout: DurationMs = Field(default=60_000, description="of each call, its retries included", examples=["60s"])


class ExportSection(Section):
    """The directory that `conf/export/walsafe-export.sh` wrote."""

    path: Place = Field(description="any Hadoop URI")


FilesSection = Annotated[
    HadoopFilesSection | WebHdfsFilesSection | FsimageFilesSection | LsFilesSection, Field(discriminator="source")
]
QueuesSection = Annotated[
    ThriftQueuesSection
    | HBaseQueuesSection
    | ZooKeeperQueuesSection
    | CellsQueuesSection
    | ExportQueuesSection
    | HFilesQueuesSection
    | SimulatedSection,
    Field(discriminator="source"),
]
StateSection = Annotated[
    HBaseStateSection | ZooKeeperStateSection | ExportStateSection | OfflineStateSection | SimulatedSection,
    Field(discriminator="source"),
]
