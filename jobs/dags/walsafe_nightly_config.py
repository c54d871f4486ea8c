"""What the nightly DAG is given: its configuration, validated completely when Airflow parses the DAG, and an Airflow.

The file is beside the DAG in Airflow's environment, where walsafe is not installed, but pydantic and PyYAML
are: Airflow needs them.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

LOWEST, BELOW = (3, 3), (4,)
_DURATION = re.compile(r"([0-9]{1,9})([smhd])")
_LONGEST = timedelta(days=36_500)  # far below where Airflow's own sums with it overflow
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
# exceptions that PyYAML's constructors raise for a value that does not match its tag, like the date 2026-99-99
_OF_CONSTRUCTORS = (ValueError, ArithmeticError, LookupError, AttributeError, TypeError, RecursionError)


def refuse_unfit(version: str) -> None:
    """Refuses an Airflow that this DAG does not fit.

    Raises:
        RuntimeError: in one sentence, which Airflow it fits.
    """
    found = tuple(map(int, re.findall(r"\d+", version)[:2]))
    if not LOWEST <= found < BELOW:
        raise RuntimeError(f"walsafe_nightly fits Airflow 3.3 and later 3.x, and this is Airflow {version}")


class ConfigurationError(ValueError):
    """The nightly configuration is wrong; the message names file, key and remedy."""


def _duration(value: object) -> timedelta:
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if not match:
        raise ValueError("must be a duration like 30s, 10m, 12h or 2d")
    found = timedelta(**{_UNITS[match[2]]: int(match[1])})
    if found > _LONGEST:
        raise ValueError("must be at most a hundred years")
    return found


def _variable(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("must be a text or a number")  # Python's text of anything else is not what YAML says
    return str(value)


def _without_nulls(value: object) -> object:
    return {name: one for name, one in value.items() if one is not None} if isinstance(value, dict) else value


_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
_Duration = Annotated[timedelta, BeforeValidator(_duration)]
_Variables = Annotated[dict[str, Annotated[str, BeforeValidator(_variable)]], BeforeValidator(_without_nulls)]


class Notifier(BaseModel):
    """A notifier of Airflow: its class, and what it is made with."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$")]
    arguments: dict[str, Any] = Field(default_factory=dict)


class Nightly(BaseModel):
    """The nightly configuration; docs/airflow.md explains every key."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    walsafe: _Text
    results: _Text
    clusters: Annotated[dict[_Name, _Text], Field(min_length=1)]
    schedule: _Text | None = None
    approval_timeout: _Duration = timedelta(hours=12)
    approvers: list[_Text] = Field(default_factory=list)
    job_timeout: _Duration = timedelta(hours=6)
    run_timeout: _Duration = timedelta(hours=30)
    pool: _Text = "default_pool"
    deferrable: bool = True
    notifiers: list[Notifier] = Field(default_factory=list)
    report_url: _Text | None = None
    retries: Annotated[int, Field(ge=0)] = 1
    retry_delay: _Duration = timedelta(minutes=10)
    environment: _Variables = Field(default_factory=dict)

    @model_validator(mode="after")
    def _run_is_longest(self) -> "Nightly":
        if self.run_timeout <= self.approval_timeout + 2 * self.job_timeout:  # one job decides, one finishes
            raise ValueError(
                "key 'run_timeout' must be longer than 'approval_timeout' and twice 'job_timeout' together, or the run "
                "ends before somebody has answered and the clean-up is done"
            )
        return self


def parse_nightly(text: str, source: str) -> Nightly:
    """Parses the configuration and validates all of it; null means that a key is not given.

    Args:
        text: the YAML file.
        source: its path, for messages.

    Raises:
        ConfigurationError: not YAML, an unknown, missing or repeated key, or an invalid value.
    """
    try:
        document = yaml.load(text, _Loader)  # noqa: S506 - a safe loader that also refuses a repeated key
    except ConfigurationError as error:
        raise ConfigurationError(f"{source}, {error}") from None
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{source}: not valid YAML: {error}") from None
    except _OF_CONSTRUCTORS as error:
        raise ConfigurationError(f"{source}: a value does not fit its type: {error}") from None
    pairs = document.items() if isinstance(document, Mapping) else ()
    given = {key: value for key, value in pairs if value is not None or key not in Nightly.model_fields}
    try:
        return Nightly.model_validate(given)
    except ValidationError as error:
        raise ConfigurationError("\n".join(f"{source}: {_problem(one)}" for one in error.errors())) from None


class _Loader(yaml.SafeLoader):
    """Refuses a repeated key. YAML keeps the last one, so a cluster could be left out every night without a word."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:  # noqa: ANN401 - an anchor of YAML
        node = super().compose_mapping_node(anchor)
        lines: dict[str, int] = {}
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            line = key.start_mark.line + 1
            if key.value in lines:
                raise ConfigurationError(
                    f"line {line}: key {key.value!r} is given twice (first on line {lines[key.value]})"
                )
            lines[key.value] = line
        return node


def _problem(problem: Mapping[str, Any]) -> str:
    key, message = ".".join(map(str, problem["loc"])), problem["msg"].removeprefix("Value error, ")
    if not key:
        return str(message)
    said = f": {message.replace('Input should be', 'must be')}, found {problem['input']!r}"
    said = {"extra_forbidden": " is unknown", "missing": " is missing"}.get(problem["type"], said)
    return f"key {key!r}{said}; docs/airflow.md explains every key"
