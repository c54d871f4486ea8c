"""The section `capture` of the configuration file: the source of each part, and which of them go together."""

from typing import Annotated

from pydantic import Field, model_validator

from jobs.cli.config.capture_sources import (
    CellsQueuesSection,
    ExportQueuesSection,
    ExportSection,
    ExportStateSection,
    FilesSection,
    FsimageFilesSection,
    HadoopFilesSection,
    HBaseSection,
    HBaseStateSection,
    HFilesQueuesSection,
    LsFilesSection,
    OfflineStateSection,
    QueuesSection,
    StateSection,
    WebHdfsFilesSection,
    ZooKeeperQueuesSection,
    ZooKeeperStateSection,
)
from jobs.cli.config.config_types import DurationMs, Section

_SIMULATED_PARTS = ("queues", "state")
Attempts = Annotated[int, Field(ge=1, le=20)]


class CaptureSection(Section):
    """The source of each part of a snapshot; each part has its own source."""

    files: FilesSection = Field(description="the listing")
    queues: QueuesSection = Field(description="`hbase:replication`, or ZooKeeper for HBase 1.x and 2.x")
    state: StateSection = Field(description="servers, procedures, peers, configuration")
    hbase: HBaseSection = Field(default_factory=HBaseSection)
    export: ExportSection | None = None
    step_attempts: Attempts = Field(default=3, description="how often capture tries a step that gets no answer")
    quiet_attempts: Attempts = Field(
        default=3,
        description="how often capture may read everything after the listing, while servers or queues move; 1 = it "
        "reads once",
    )
    pause: DurationMs = Field(default=10_000, description="before another attempt", examples=["10s"])

    @model_validator(mode="after")
    def _zookeeper(self) -> "CaptureSection":
        if isinstance(self.state, ZooKeeperStateSection):
            if not isinstance(self.queues, ZooKeeperQueuesSection):
                raise ValueError("state.source zookeeper is for clusters with queues.source zookeeper")
            if self.hbase.site is None:
                raise ValueError(
                    "hbase.site is missing: no master is asked, so its hbase-site.xml must tell times to live"
                )
        elif isinstance(self.queues, ZooKeeperQueuesSection):
            if isinstance(self.state, OfflineStateSection):
                for name in ("quorum", "parent", "replication"):
                    if getattr(self.state, name) != getattr(self.queues, name):
                        raise ValueError(
                            f"state.{name} and queues.{name} differ: both are the ZooKeeper of the cluster"
                        )
            elif not isinstance(self.state, HBaseStateSection):
                raise ValueError("queues.source zookeeper needs state.source hbase, zookeeper or offline")
        elif (
            isinstance(self.queues, ExportQueuesSection)
            and self.queues.storage == "zookeeper"
            and not isinstance(self.state, ExportStateSection)
        ):
            raise ValueError("queues.storage zookeeper needs state.source export: one run of the script saves both")
        return self

    @model_validator(mode="after")
    def _offline(self) -> "CaptureSection":
        down = isinstance(self.state, OfflineStateSection)
        if down and self.hbase.site is None:
            raise ValueError("hbase.site is missing: no master is asked, so its hbase-site.xml must tell hbase.rootdir")
        if down and not isinstance(
            self.queues, HFilesQueuesSection | CellsQueuesSection | ExportQueuesSection | ZooKeeperQueuesSection
        ):
            raise ValueError("state.source offline needs queues.source hfiles, zookeeper, cells or export")
        if down and isinstance(self.files, FsimageFilesSection | LsFilesSection):
            raise ValueError("state.source offline needs files.source hadoop or webhdfs: the files as they are now")
        if isinstance(self.queues, HFilesQueuesSection) and not down:
            raise ValueError("queues.source hfiles is for a cluster that is down: it needs state.source offline")
        return self

    @model_validator(mode="after")
    def _exported(self) -> "CaptureSection":
        wants = [name for name in ("queues", "state") if getattr(self, name).source == "export"]
        if isinstance(self.files, LsFilesSection) and self.files.path is None:
            wants.append("files")
        if wants and self.export is None:
            raise ValueError(f"{wants[0]} is to come from the export script: export.path is missing")
        return self

    @model_validator(mode="after")
    def _in_order(self) -> "CaptureSection":
        """Refuses a mixture of saved and live sources that no capture can take in order (docs/capture.md).

        The listing comes first and the state surrounds the queues. What is saved is older than what is live. So queues
        and state must both be saved or both be live, and a live listing cannot come before a saved state. Of a cluster
        that is down, the order proves nothing.
        """
        if isinstance(self.state, OfflineStateSection):
            return self
        saved_queues = isinstance(self.queues, CellsQueuesSection | ExportQueuesSection)
        if isinstance(self.state, ExportStateSection):
            if isinstance(self.files, HadoopFilesSection | WebHdfsFilesSection):
                raise ValueError(
                    f"files.source {self.files.source} and state.source export are never in the capture order: files "
                    "must be read first, and the export is older. For a live cluster give live sources of queues and "
                    "state, such as hbase; for an export give files.source ls or fsimage"
                )
            if not saved_queues:
                raise ValueError(
                    f"queues.source {self.queues.source} and state.source export are never in the capture order: the "
                    "state must be read before and after the queues, and the export is older. Give state.source hbase, "
                    "or queues.source export"
                )
        elif saved_queues:
            raise ValueError(
                f"queues.source {self.queues.source} and state.source {self.state.source} are never in the capture "
                "order: queues must be read after the peers, and the saved ones are older. Give state.source export "
                "with files.source ls or fsimage, or live queues such as hbase or thrift"
            )
        return self

    def simulated_fault(self, wal_root: str) -> str | None:
        """Returns why these sources and this root are no valid simulated cluster; None = valid, or nothing simulated.

        Simulated state must never decide about files of a real cluster.

        Args:
            wal_root: full URI.
        """
        simulated = [name for name in _SIMULATED_PARTS if getattr(self, name).source == "simulated"]
        if not simulated:
            return None
        said = f"{simulated[0]}.source simulated is a directory that plays a cluster"
        if len(simulated) < len(_SIMULATED_PARTS):
            other = next(name for name in _SIMULATED_PARTS if name not in simulated)
            real = getattr(self, other).source
            return f"{said}, and {other}.source {real} asks a real one: give both as simulated, or neither"
        if wal_root.partition(":")[0].lower() != "file":
            return (
                f"{said}, and wal_root {wal_root} is not on this machine: made-up answers would decide about files of "
                "a real cluster. Give its own sources of queues and state, or the file: root of the simulated one"
            )
        if self.files.source != "hadoop":
            return f"{said}: its files are listed by files.source hadoop, not by {self.files.source}"
        return None
