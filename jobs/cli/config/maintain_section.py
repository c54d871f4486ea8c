"""The `maintain` section of the configuration file (docs/maintain.md)."""

from pydantic import Field, field_validator

from jobs.cli.config.config_types import DurationMs, Place, Section, Text
from pipelines.common.instants import DAY_MS
from pipelines.lake.retention import MAX_GRACE_MS, MIN_GRACE_MS


class KeepSection(Section):
    """Retention times. The newest nights of each cluster and runs with files in quarantine are always kept."""

    wal_verdicts: DurationMs = Field(
        default=90 * DAY_MS, description="nights of `wal_verdicts`, nearly all of the lake's bytes", examples=["90d"]
    )
    other_tables: DurationMs = Field(default=730 * DAY_MS, description="nights of each other table", examples=["730d"])
    tables: dict[Text, DurationMs] = Field(
        default_factory=dict,
        description="nights of single tables, by name; wins over the two above",
        examples=[{"quality_results": "180d"}],
    )
    lists: DurationMs = Field(
        default=30 * DAY_MS, description="a list, after its `not_after`; at least `list.valid_for`"
    )
    snapshots: DurationMs = Field(default=30 * DAY_MS, description="a snapshot, after the end of its capture")
    reports: DurationMs = Field(
        default=90 * DAY_MS, description="a page in `reports` (or `<lake>/reports`), after the start of its listing"
    )


class MaintainSection(Section):
    """What `maintain` may remove."""

    keep: KeepSection = Field(default_factory=KeepSection)
    lists: Place | None = Field(
        default=None,
        description="folder of the delete-safe lists; absent = the key `lists` of the file; none expires where neither "
        "is given",
        examples=["hdfs://ns1/walsafe/lists"],
    )
    snapshots: Place | None = Field(
        default=None,
        description="folder of the snapshots: `<folder>/<any>` or `<folder>/<cluster>/<any>`; absent = the key "
        "`snapshots` of the file; none expires where neither is given",
        examples=["hdfs://ns1/walsafe/snapshots"],
    )
    vacuum_grace: DurationMs | None = Field(
        default=None,
        description="how long readers may still read a version of a table after the next one; 7d to 30d; "
        "absent = what each table says itself, 7d unless someone changed it",
        examples=["14d"],
    )
    compact_from: int = Field(
        default=16, ge=2, le=100_000, description="a night with so many small files (below 32 MiB) is merged"
    )

    @field_validator("vacuum_grace")
    @classmethod
    def _safe_for_readers(cls, value: int | None) -> int | None:
        if value is not None and not MIN_GRACE_MS <= value <= MAX_GRACE_MS:
            raise ValueError(
                "7d (168h) to 30d: with less, readers lose files under their hands; Delta forgets after 30d"
            )
        return value
