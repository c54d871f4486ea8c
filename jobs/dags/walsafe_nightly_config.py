"""Configuration of the nightly DAG, validated completely when Airflow parses the DAG.

The file is beside the DAG in Airflow's environment, where walsafe is not installed, but pydantic is: Airflow needs it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

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

_DURATION = re.compile(r"(\d+)(s|m|h|d)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class ConfigurationError(ValueError):
    """The nightly configuration is wrong; the message names file, key and remedy."""


@dataclass(frozen=True)
class Nightly:
    """The nightly configuration; docs/airflow.md explains every key."""

    walsafe: str
    results: str
    clusters: Mapping[str, str]
    schedule: str | None
    approval_timeout: timedelta
    approvers: tuple[str, ...]
    job_timeout: timedelta
    run_timeout: timedelta
    pool: str
    deferrable: bool
    notifiers: tuple[tuple[str, Mapping[str, Any]], ...]
    report_url: str | None
    retries: int
    retry_delay: timedelta
    environment: Mapping[str, str]


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


class _Notifier(_Section):
    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$")]
    arguments: dict[str, Any] = Field(default_factory=dict)


class NightlyFile(_Section):
    """The file as it is written."""

    walsafe: _Text
    results: _Folder
    clusters: Annotated[dict[_Name, _Text], Field(min_length=1)]
    schedule: _Text | None = None
    approval_timeout: _Duration = timedelta(hours=12)
    approvers: list[_Text] = Field(default_factory=list)
    job_timeout: _Duration = timedelta(hours=6)
    run_timeout: _Duration = timedelta(hours=30)
    pool: _Text = "default_pool"
    deferrable: bool = True
    notifiers: list[_Notifier] = Field(default_factory=list)
    report_url: _Text | None = None
    retries: _Number = 1
    retry_delay: _Duration = timedelta(minutes=10)
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
    if file.run_timeout <= file.approval_timeout + file.job_timeout:
        raise ConfigurationError(
            f"{source}: key 'run_timeout' must be longer than 'approval_timeout' and 'job_timeout' together, or the "
            "run ends before somebody has answered and the clean-up is done"
        )
    values = {
        **dict(file),
        "approvers": tuple(file.approvers),
        "notifiers": tuple((one.name, one.arguments) for one in file.notifiers),
        "environment": {str(name): str(value) for name, value in file.environment.items()},
    }
    return Nightly(**values)


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
