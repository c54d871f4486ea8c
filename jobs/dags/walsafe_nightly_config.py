"""Configuration of the nightly DAG, validated completely when Airflow parses the DAG.

The file is beside the DAG in Airflow's environment, where walsafe is not installed, but pydantic is: Airflow needs it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

AUTOMATIC, MANUAL = "automatic", "manual"
_DURATION = re.compile(r"(\d+)(s|m|h|d)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class ConfigurationError(ValueError):
    """The nightly configuration is wrong; the message names file, key and remedy."""


@dataclass(frozen=True)
class NightlyCluster:
    """One cluster of the night.

    Attributes:
        name: as in its own configuration file.
        config: that file, for capture, clean and purge.
        max_files: most files that one clean moves; None = all.
        max_bytes: most bytes that one clean moves; None = all.
    """

    name: str
    config: str
    max_files: int | None = None
    max_bytes: int | None = None


@dataclass(frozen=True)
class Nightly:
    """The nightly configuration; docs/airflow.md explains every key."""

    walsafe: str
    lake: str
    lists: str
    snapshots: str
    results: str
    clusters: tuple[NightlyCluster, ...]
    maintain_config: str
    fleet_config: str | None
    reports: str | None
    metrics: str | None
    schedule: str | None
    approval: str
    approval_timeout: timedelta
    retries: int
    retry_delay: timedelta
    parallel: int
    environment: Mapping[str, str]

    def cluster(self, name: str) -> NightlyCluster:
        """Returns the cluster with this name."""
        return next(one for one in self.clusters if one.name == name)

    def runs_of_reconcile(self) -> list[list[str]]:
        """Returns the groups of clusters that one reconcile decides: all with `fleet_config`, else one cluster each."""
        names = [one.name for one in self.clusters]
        return [names] if self.fleet_config else [[name] for name in names]


def _duration(value: object) -> timedelta:
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if not match:
        raise ValueError("must be a duration like 30s, 10m, 12h or 2d")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    return value


_Text = Annotated[str, AfterValidator(_text)]
_Folder = Annotated[_Text, AfterValidator(lambda value: value.rstrip("/"))]
_Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
_Number = Annotated[int, Field(ge=0)]
_Duration = Annotated[timedelta, BeforeValidator(_duration)]


class _Section(BaseModel):
    """One mapping of the file; null means that the key is not given."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _given(cls, values: object) -> object:
        if not isinstance(values, Mapping):
            return values
        return {key: value for key, value in values.items() if value is not None or key not in cls.model_fields}


class _Limits(_Section):
    max_files: _Number | None = None
    max_bytes: _Number | None = None


class _Cluster(_Limits):
    config: _Text


class NightlyFile(_Section):
    """The file as it is written."""

    walsafe: _Text
    lake: _Text
    lists: _Text
    snapshots: _Folder
    results: _Folder
    clusters: Annotated[dict[_Name, _Cluster], Field(min_length=1)]
    maintain_config: _Text | None = None
    fleet_config: _Text | None = None
    reports: _Text | None = None
    metrics: _Text | None = None
    schedule: _Text | None = None
    approval: Literal["automatic", "manual"] = "manual"
    approval_timeout: _Duration = timedelta(hours=12)
    limits: _Limits = _Limits()
    retries: _Number = 3
    retry_delay: _Duration = timedelta(minutes=10)
    parallel: _Number = 1
    environment: dict[Any, Any] = Field(default_factory=dict)


def parse_nightly(document: object, source: str) -> Nightly:
    """Validates the whole configuration.

    Args:
        document: the parsed YAML file.
        source: its path, for messages.

    Raises:
        ConfigurationError: an unknown or missing key, or an invalid value.
    """
    try:
        file = NightlyFile.model_validate(document)
    except ValidationError as error:
        raise ConfigurationError("\n".join(f"{source}: {_problem(one)}" for one in error.errors())) from None
    alone = len(file.clusters) == 1
    maintain_config = file.maintain_config or file.fleet_config
    if maintain_config is None:
        if not alone:
            raise ConfigurationError(
                f"{source}: key 'maintain_config' is missing. It is required with several clusters and no "
                "'fleet_config'. Set it to the configuration file for `maintain` of the common lake"
            )
        maintain_config = next(iter(file.clusters.values())).config
    values = {
        **{key: value for key, value in file if key != "limits"},
        "clusters": tuple(_cluster(name, one, file.limits) for name, one in file.clusters.items()),
        "maintain_config": maintain_config,
        "parallel": max(1, file.parallel),
        "environment": {str(name): str(value) for name, value in file.environment.items()},
    }
    return Nightly(**values)


def _cluster(name: str, own: _Cluster, most: _Limits) -> NightlyCluster:
    return NightlyCluster(name, **{**most.model_dump(), **own.model_dump(exclude_none=True)})


def _problem(problem: Mapping[str, Any]) -> str:
    """Returns a sentence about one problem that pydantic found."""
    path, kind = problem["loc"], problem["type"]
    key = ".".join(map(str, path))
    if path and path[-1] == "[key]":
        return f"{path[-2]!r} in key {path[0]!r} is no cluster's name; quote it if it is a number"
    if kind == "extra_forbidden":
        return f"key {key!r} is unknown; docs/airflow.md lists them all"
    if kind == "missing":
        return f"key {key!r} is missing"
    if kind in {"model_type", "dict_type"}:
        where = f"key {key!r}" if key else "the file"
        return f"{where} must hold keys and values; docs/airflow.md has an example"
    message = problem["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    return f"key {key!r}: {message}, found {problem['input']!r}; docs/airflow.md explains it"
