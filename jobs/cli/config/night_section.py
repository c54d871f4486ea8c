"""The `night` section of the configuration file: what a night does without approval, and how often it tries."""

from typing import Annotated, Literal

from pydantic import Field

from jobs.cli.config.config_types import DurationMs, PlainBytes, Section

Positive = Annotated[int, Field(ge=1)]


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
        default=4, description="how often a job is started that ends with exit code 4, unavailable, unless Spark ended"
    )
    retry_delay: DurationMs = Field(default=600_000, description="the time between two tries", examples=["10m"])
