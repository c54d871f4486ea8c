"""Configuration of the nightly DAG, validated completely when Airflow parses the DAG.

It uses only the standard library: the file is beside the DAG in Airflow's environment, where walsafe is not installed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

AUTOMATIC, MANUAL = "automatic", "manual"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
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


def parse_nightly(document: object, source: str) -> Nightly:
    """Validates the whole configuration.

    Args:
        document: the parsed YAML file.
        source: its path, for messages.

    Raises:
        ConfigurationError: an unknown or missing key, or an invalid value.
    """
    top = _Section(document, source, "")
    limits = top.section("limits")
    most = (limits.number("max_files", None), limits.number("max_bytes", None))
    limits.done()
    clusters = tuple(_cluster(name, value, source, most) for name, value in top.mapping("clusters").items())
    if not clusters:
        raise ConfigurationError(f"{source}: key 'clusters' is empty; name a cluster and its configuration file")
    fleet_config = top.text("fleet_config", None)
    maintain_config = top.text("maintain_config", fleet_config)
    if maintain_config is None:
        if len(clusters) > 1:
            raise ConfigurationError(
                f"{source}: key 'maintain_config' is missing. It is required with several clusters and no "
                "'fleet_config'. Set it to the configuration file for `maintain` of the common lake"
            )
        maintain_config = clusters[0].config
    metrics = top.text("metrics", None)
    if metrics and len(clusters) > 1 and not fleet_config:
        raise ConfigurationError(
            f"{source}: key 'metrics' names one file, but each cluster has a run of its own and would overwrite it. "
            "Set 'fleet_config', or remove 'metrics'"
        )
    approval = top.text("approval", MANUAL)
    if approval not in {AUTOMATIC, MANUAL}:
        raise ConfigurationError(f"{source}: key 'approval' is {approval!r}; it must be {AUTOMATIC} or {MANUAL}")
    nightly = Nightly(
        walsafe=top.required("walsafe"),
        lake=top.required("lake"),
        lists=top.required("lists"),
        snapshots=top.required("snapshots").rstrip("/"),
        results=top.required("results").rstrip("/"),
        clusters=clusters,
        maintain_config=maintain_config,
        fleet_config=fleet_config,
        reports=top.text("reports", None),
        metrics=metrics,
        schedule=top.text("schedule", None),
        approval=approval,
        approval_timeout=top.duration("approval_timeout", "12h"),
        retries=top.number("retries", 3) or 0,
        retry_delay=top.duration("retry_delay", "10m"),
        parallel=max(1, top.number("parallel", 1) or 1),
        environment={name: str(value) for name, value in top.mapping("environment").items()},
    )
    top.done()
    return nightly


def _cluster(name: object, value: object, source: str, most: tuple[int | None, int | None]) -> NightlyCluster:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{source}: {name!r} in key 'clusters' is no cluster's name; quote it if it is a number"
        )
    section = _Section(value, source, f"clusters.{name}.")
    cluster = NightlyCluster(
        name, section.required("config"), section.number("max_files", most[0]), section.number("max_bytes", most[1])
    )
    section.done()
    return cluster


class _Section:
    """One mapping of the file; it records the keys that were read, so that `done` can refuse the others."""

    def __init__(self, value: object, source: str, prefix: str) -> None:
        if not isinstance(value, Mapping):
            where = f"key {prefix.rstrip('.')!r}" if prefix else "the file"
            raise ConfigurationError(f"{source}: {where} must hold keys and values; docs/airflow.md has an example")
        self._values: Mapping[Any, Any] = value
        self._source, self._prefix = source, prefix
        self._known: list[str] = []

    def _get(self, key: str) -> Any:  # noqa: ANN401 - it is whatever the file holds
        self._known.append(key)
        return self._values.get(key)

    def _wrong(self, key: str, must: str) -> ConfigurationError:
        return ConfigurationError(f"{self._source}: key '{self._prefix}{key}' {must}")

    def required(self, key: str) -> str:
        value = self.text(key, None)
        if value is None:
            raise self._wrong(key, "is missing")
        return value

    def text(self, key: str, default: str | None) -> str | None:
        value = self._get(key)
        if value is None:
            return default
        if not isinstance(value, str) or not value.strip():
            raise self._wrong(key, f"must be text, not {value!r}")
        return value

    def number(self, key: str, default: int | None) -> int | None:
        value = self._get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._wrong(key, f"must be a whole number, not {value!r}")
        return value

    def duration(self, key: str, default: str) -> timedelta:
        value = self.text(key, default) or default
        match = _DURATION.fullmatch(value)
        if not match:
            raise self._wrong(key, f"must be a duration like 30s, 10m, 12h or 2d, not {value!r}")
        return timedelta(**{_UNITS[match[2]]: int(match[1])})

    def mapping(self, key: str) -> Mapping[Any, Any]:
        value = self._get(key)
        if value is not None and not isinstance(value, Mapping):
            raise self._wrong(key, f"must hold keys and values, not {value!r}")
        return value or {}

    def section(self, key: str) -> "_Section":
        return _Section(self.mapping(key), self._source, f"{self._prefix}{key}.")

    def done(self) -> None:
        unknown = sorted(str(key) for key in self._values if key not in self._known)
        if unknown:
            raise self._wrong(unknown[0], f"is unknown; there are: {', '.join(sorted(self._known))}")
