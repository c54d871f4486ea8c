"""The configuration file of all jobs (docs/configuration.md), validated key by key.

A typing error must never weaken a check, so an unknown key is an error that names its file and line.
"""

import hashlib
import json
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from jobs.cli.config.capture_section import CaptureSection
from jobs.cli.config.clean_section import CleanSection
from jobs.cli.config.config_errors import validate_model
from jobs.cli.config.config_types import ClassName, ClusterName, DurationMs, Section, SizeBytes, Text, UntilMs, WalRoot
from jobs.cli.config.maintain_section import MaintainSection
from jobs.cli.config.night_section import NightSection
from jobs.cli.config.notify_section import NotifySection
from jobs.cli.config.yaml_lines import parse_yaml
from jobs.cli.context import JobContext
from jobs.cli.monitoring.metrics_place import check_place
from pipelines.common.errors import UsageError
from pipelines.common.instants import DAY_MS
from pipelines.decide.rule.settings import LONGEST_VALID_MS, ReconcileSettings, Release
from pipelines.hbase.replication_queues import RowLayout
from pipelines.lake.findings import Acknowledgement

Nights = Annotated[int, Field(ge=1, le=365)]


class ReleaseSection(Section):
    """Opt-ins that turn HELD into DELETABLE. Each needs a person's decision; all are off by default."""

    replication_table_wals: bool = Field(
        default=False, description="free the WALs of `hbase:replication` itself, which HBase 3 never frees"
    )
    orphan_queues: bool = Field(
        default=False, description="believe a snapshot that has queue rows but no replication peer"
    )
    empty_wal_directories: bool = Field(
        default=False, description="ignore an empty directory below `WALs/` that is older than 24 h"
    )


class CleanersSection(Section):
    """Other cluster components that may need a WAL."""

    plugins: tuple[ClassName, ...] | None = Field(
        default=None,
        strict=False,
        description="`hbase.master.logcleaner.plugins`, where the snapshot does not say; absent = unknown; then every "
        "file past its TTL is held",
    )
    harmless: tuple[ClassName, ...] = Field(
        default=(), strict=False, description="further log-cleaner plugin classes known to need no file"
    )
    interval: DurationMs = Field(default=600_000, description="`hbase.master.cleaner.interval`", examples=["10m"])


class QueuesSection(Section):
    """The layout of the row keys of `hbase:replication`."""

    row_layout: Literal["shipped", "seed-003"] = Field(
        default="shipped",
        description="`shipped` is `<peer>-<owner>/<source>`, as every HBase writes it; `seed-003` is "
        "`<peer>-<owner>-<source>`, which only the design document of HBASE-27109 has: choose it for data made by that "
        "document, never for a real HBase; rows of the other layout make a snapshot untrusted",
    )


class BackupSection(Section):
    """HBase backup, where the snapshot does not say whether it is on."""

    enabled: Literal[False] | None = Field(
        default=None, description="false states that it is off; absent = unknown, which holds every file"
    )


class ListSection(Section):
    """The delete-safe list."""

    # must precede `valid_for`, whose validator reads it
    valid_for_reason: Text | None = Field(
        default=None,
        description="why lists are valid for more than 7 days, in a person's words; recorded in table `runs`",
        examples=["change freeze until January, OPS-1234"],
    )
    valid_for: DurationMs = Field(
        default=DAY_MS,
        description="how long after the start of step `files` a list may be written and acted on; "
        "above 7d only with `valid_for_reason`",
        examples=["24h"],
    )

    @field_validator("valid_for")
    @classmethod
    def _with_reason(cls, value: int, info: ValidationInfo) -> int:
        if value > LONGEST_VALID_MS and info.data.get("valid_for_reason") is None:
            raise ValueError(
                "a list is a statement about the past. For more than 7d say why, in list.valid_for_reason; it is "
                "recorded in table runs"
            )
        return value


class QualitySection(Section):
    """Limits of the checks before a list is written."""

    max_deletable_share: float = Field(
        default=0.95,
        ge=0,
        le=1,
        description="largest share of all bytes under oldWALs that one run may list without --accept",
    )
    share_from: SizeBytes = Field(
        default=100 << 30,
        description="the limit above applies only if oldWALs has at least this many bytes",
        examples=["100GiB"],
    )
    data_docs: bool = Field(
        default=True,
        description="write the suite and the validation result of Great Expectations beside the page of each run",
    )


class AcknowledgedSection(Section):
    """A known finding: it stays in the tables and reports, but does not change the exit code."""

    key: Text = Field(
        description="the finding's key, as the report, `--output json` or the text of a job shows it: `CODE:subject`"
    )
    reason: Text = Field(description="why it may wait, in a person's words")
    until: UntilMs = Field(description="last UTC day (or instant) it is quiet", examples=["2027-01-31"])


class FindingsSection(Section):
    """Thresholds of findings."""

    stalled_nights: Nights = Field(
        default=3, description="nights without progress of a pending offset before QUEUE_STALLED"
    )
    growth_nights: Nights = Field(default=3, description="nights of rising held bytes before GROWTH")
    growth_min_bytes: SizeBytes = Field(
        default=1 << 30, description="growth below this over those nights is no finding", examples=["1GiB"]
    )
    backup_age: DurationMs = Field(
        default=8 * DAY_MS,
        description="how far back the newest backup of a root may reach before BACKUP_BEHIND",
        examples=["8d"],
    )
    acknowledged: tuple[AcknowledgedSection, ...] = Field(
        default=(), strict=False, description="findings a person has accepted"
    )


class Config(Section):
    """The whole file. Every section may be left out."""

    cluster: ClusterName | None = Field(default=None, description="name of the cluster that `capture` reads")
    wal_root: WalRoot | None = Field(
        default=None, description="its `hbase.wal.dir` as a full URI", examples=["hdfs://ns1/hbase"]
    )
    lake: Text | None = Field(
        default=None, description="folder of the Delta tables; `--lake`", examples=["hdfs://ns1/walsafe/lake"]
    )
    lists: Text | None = Field(
        default=None, description="folder of the delete-safe lists; `--lists`", examples=["hdfs://ns1/walsafe/lists"]
    )
    snapshots: Text | None = Field(
        default=None,
        description="folder of the snapshots; a night and a `capture` without `--out` add `/<cluster>/<time>`",
        examples=["hdfs://ns1/walsafe/snapshots"],
    )
    reports: Text | None = Field(
        default=None, description="folder of the HTML pages; `--reports`", examples=["file:///var/www/walsafe"]
    )
    metrics: Annotated[Text, AfterValidator(check_place)] | None = Field(
        default=None,
        description="folder of the Prometheus metrics, or URL of a Pushgateway; `$NAME` = the URL is in this "
        "environment variable; `--metrics`",
        examples=["/var/lib/node_exporter"],
    )
    capacity: SizeBytes | None = Field(
        default=None,
        description="bytes of files that oldWALs and the quarantine may take together, for the forecast; absent = what "
        "they have and what the file system has free",
        examples=["200TiB"],
    )
    log_format: Literal["text", "json"] | None = Field(
        default=None, description="of each line of the log; `--log-format`", examples=["json"]
    )
    capture: CaptureSection | None = Field(default=None, description="where each part of a snapshot is read")
    cleaners: CleanersSection = Field(default_factory=CleanersSection)
    queues: QueuesSection = Field(default_factory=QueuesSection)
    backup: BackupSection = Field(default_factory=BackupSection)
    release: ReleaseSection = Field(default_factory=ReleaseSection)
    list: ListSection = Field(default_factory=ListSection)
    quality: QualitySection = Field(default_factory=QualitySection)
    findings: FindingsSection = Field(default_factory=FindingsSection)
    clean: CleanSection | None = Field(default=None, description="where `clean` moves files, and how carefully")
    night: NightSection = Field(default_factory=NightSection)
    notify: NotifySection | None = Field(default=None, description="who is told when a night needs a person")
    maintain: MaintainSection = Field(default_factory=MaintainSection)

    @model_validator(mode="before")
    @classmethod
    def _empty_section(cls, values: object) -> object:
        """Replaces null by defaults: YAML reads a section whose keys are all commented out as null."""
        if not isinstance(values, dict):
            return values
        optional = {name for name, field in cls.model_fields.items() if field.default is None}
        return {key: {} if value is None and key not in optional else value for key, value in values.items()}

    @field_validator("capture")
    @classmethod
    def _simulated(cls, value: CaptureSection | None, info: ValidationInfo) -> CaptureSection | None:
        root = info.data.get("wal_root")
        fault = None if value is None or root is None else value.simulated_fault(root)
        if fault is not None:
            raise ValueError(fault)
        return value

    def settings(self) -> ReconcileSettings:
        """Returns the settings that the decision needs."""
        return ReconcileSettings(
            release=Release(**self.release.model_dump()),
            row_layout=RowLayout(self.queues.row_layout),
            harmless_cleaners=self.cleaners.harmless,
            log_cleaner_plugins=self.cleaners.plugins,
            backup_enabled=self.backup.enabled,
            valid_for_ms=self.list.valid_for,
            valid_for_reason=self.list.valid_for_reason,
            max_deletable_share=self.quality.max_deletable_share,
            share_from_bytes=self.quality.share_from,
            cleaner_interval_ms=self.cleaners.interval,
            stalled_nights=self.findings.stalled_nights,
            growth_nights=self.findings.growth_nights,
            growth_min_bytes=self.findings.growth_min_bytes,
            backup_age_ms=self.findings.backup_age,
            acknowledged=tuple(Acknowledgement(**entry.model_dump()) for entry in self.findings.acknowledged),
            capacity_bytes=self.capacity,
        )

    def snapshot_of(self, run_id: str) -> str | None:
        """Returns where the snapshot of a run belongs; None without the keys `snapshots` and `cluster`."""
        if self.snapshots is None or self.cluster is None:
            return None
        return f"{self.snapshots.rstrip('/')}/{self.cluster}/{run_id}"

    def digest(self) -> str:
        """Returns the SHA-256 of the effective configuration, with defaults; secrets count as a constant."""
        document = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(document.encode()).hexdigest()


def load_config(path: str | None, context: JobContext) -> Config:
    """Reads the file given with `--config`; without one, every key has its default.

    Raises:
        UsageError: the file does not exist, is not YAML, or has a wrong value; with file, line and key.
    """
    if path is None:
        return Config()
    file = context.local_file(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    return parse_config(text, path)


def parse_config(text: str, name: str) -> Config:
    """Reads a configuration from text.

    Args:
        text: YAML.
        name: the file name for messages.

    Raises:
        UsageError: the text is not YAML, or has a wrong value; with file, line and key.
    """
    return validate_model(Config, parse_yaml(text, name))
