"""The `clean` section of the configuration file: the quarantine, and the pace of the clean-up (docs/cleanup.md)."""

from typing import Annotated

from pydantic import Field, StringConstraints

from jobs.cli.config.config_types import DurationMs, Section, WalRoot
from pipelines.common.instants import DAY_MS

ArchiveUri = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9+.-]*:/[^\x00-\x1f\x7f]*[^/\x00-\x1f\x7f]$")]


class CleanSection(Section):
    """The quarantine of cleaned files until they are purged, and how the clean-up works."""

    quarantine: WalRoot = Field(
        description="folder on the file system of wal_root, outside of wal_root and hbase.rootdir; change it only "
        "while the quarantine is empty",
        examples=["hdfs://ns1/walsafe/quarantine"],
    )
    grace: DurationMs = Field(
        default=7 * DAY_MS, description="how long files rest before purge may delete them", examples=["7d"]
    )
    archive: ArchiveUri | None = Field(
        default=None,
        description="purge copies each file here, compares length and checksum, and only then deletes it; outside of "
        "wal_root, hbase.rootdir and the quarantine",
        examples=["hdfs://cold/walsafe/archive"],
    )
    batch: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default=5_000, description="files between two looks at the lease, the audit and a wish to stop"
    )
    lease: DurationMs = Field(
        default=600_000,
        description="a job that did not renew its lease for so long counts as dead; make it at least twice as long as "
        "a second look takes, and at least twice as long as a batch takes",
        examples=["10m"],
    )
    threads: Annotated[int, Field(ge=1, le=64)] = Field(
        default=8, description="calls to the file system at the same time"
    )
