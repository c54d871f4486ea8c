"""The short sections of the configuration file; those of capture and maintain have modules of their own."""

from typing import Annotated, Literal

from pydantic import Field, SecretStr, StringConstraints, ValidationInfo, field_validator

from jobs.cli.config.config_types import ClassName, DurationMs, PlainBytes, Section, SizeBytes, Text, UntilMs, WalRoot
from pipelines.common.instants import DAY_MS, DEFAULT_GRACE_MS
from pipelines.decide.rule.settings import LONGEST_VALID_MS

Nights = Annotated[int, Field(ge=1, le=365)]
Positive = Annotated[int, Field(ge=1)]
Variable = Annotated[str, StringConstraints(pattern=r"^\$[A-Za-z_]\w*$")]
ArchiveUri = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9+.-]*:/[^\x00-\x1f\x7f]*[^/\x00-\x1f\x7f]$")]


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


class NightSection(Section):
    """The job `night`."""

    approval: Literal["manual", "automatic"] = Field(
        default="manual",
        description="`automatic`: the night moves what the rehearsal of clean reports; `manual`: a person starts clean",
    )
    max_files: Positive | None = Field(
        default=None, description="`clean --max-files` of each start of the night", examples=["100000"]
    )
    max_bytes: PlainBytes | None = Field(
        default=None, description="`clean --max-bytes` of each start of the night", examples=["10TiB"]
    )
    tries: Annotated[int, Field(ge=1, le=100)] = Field(
        default=4,
        description="how often a job is started that ends with exit code 4, unavailable, unless Spark ended or clean "
        "could not move some files",
    )
    retry_delay: DurationMs = Field(default=600_000, description="the time between two tries", examples=["10m"])


class NotifySection(Section):
    """A webhook for new error findings, refusals, failures and approvals that wait."""

    webhook: SecretStr = Field(
        description="URL, or `$NAME` for the environment variable that contains it",
        examples=["$WALSAFE_WEBHOOK"],
        strict=False,
        json_schema_extra={"pattern": r"^(https?://|\$)"},
    )
    form: Literal["slack", "alertmanager"] = Field(
        default="slack", description="what the webhook takes: a message of Slack, or alerts of Alertmanager's API v2"
    )
    token: Variable | None = Field(
        default=None,
        description="`$NAME` of the environment variable that contains a bearer token",
        examples=["$WALSAFE_TOKEN"],
    )
    timeout: DurationMs = Field(default=10_000, description="of the request", examples=["10s"])

    @field_validator("webhook")
    @classmethod
    def _url_or_variable(cls, value: SecretStr) -> SecretStr:
        text = value.get_secret_value()
        if not text.startswith(("http://", "https://", "$")):
            raise ValueError("expected a URL that begins with http:// or https://, or $NAME of an environment variable")
        return value


class CleanSection(Section):
    """The quarantine of cleaned files until they are purged, and how the clean-up works."""

    quarantine: WalRoot = Field(
        description="folder on the file system of wal_root, outside of wal_root and hbase.rootdir; change it only "
        "while the quarantine is empty",
        examples=["hdfs://ns1/walsafe/quarantine"],
    )
    grace: DurationMs = Field(
        default=DEFAULT_GRACE_MS, description="how long files rest before purge may delete them", examples=["7d"]
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
