"""The configuration file of all jobs (docs/configuration.md), validated key by key.

A typing error must never weaken a check, so an unknown key is an error that names its file and line.
"""

import hashlib
import json
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from jobs.cli.config.capture_section import CaptureSection
from jobs.cli.config.config_errors import validate_model
from jobs.cli.config.config_types import Place, Section, SizeBytes, WalRoot
from jobs.cli.config.maintain_section import MaintainSection
from jobs.cli.config.sections import (
    BackupSection,
    CleanersSection,
    CleanSection,
    FindingsSection,
    ListSection,
    NightSection,
    NotifySection,
    QualitySection,
    QueuesSection,
    ReleaseSection,
)
from jobs.cli.config.yaml_lines import parse_yaml
from jobs.cli.context import JobContext
from jobs.cli.monitoring.metrics_place import check_metrics
from pipelines.common.errors import UsageError
from pipelines.common.forms import Name
from pipelines.decide.rule.settings import ReconcileSettings, Release
from pipelines.hbase.replication_queues import RowLayout
from pipelines.lake.findings import Acknowledgement


class Config(Section):
    """The whole file. Every section may be left out."""

    cluster: Name | None = Field(default=None, description="name of the cluster that `capture` reads")
    wal_root: WalRoot | None = Field(
        default=None, description="its `hbase.wal.dir` as a full URI", examples=["hdfs://ns1/hbase"]
    )
    lake: Place | None = Field(
        default=None, description="folder of the Delta tables; `--lake`", examples=["hdfs://ns1/walsafe/lake"]
    )
    lists: Place | None = Field(
        default=None, description="folder of the delete-safe lists; `--lists`", examples=["hdfs://ns1/walsafe/lists"]
    )
    snapshots: Place | None = Field(
        default=None,
        description="folder of the snapshots; a night and a `capture` without `--out` add `/<cluster>/<time>`",
        examples=["hdfs://ns1/walsafe/snapshots"],
    )
    reports: Place | None = Field(
        default=None, description="folder of the HTML pages; `--reports`", examples=["file:///var/www/walsafe"]
    )
    metrics: Annotated[Place, AfterValidator(check_metrics)] | None = Field(
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
