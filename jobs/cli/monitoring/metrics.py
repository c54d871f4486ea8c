"""Turns the answer of a job into metrics. Nothing is read again: a number that no answer has is no metric."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector

from jobs.cli.monitoring.alerts import objects_of
from jobs.cli.monitoring.metric_names import METRICS, PREFIX
from pipelines.common.errors import EXIT_DONE, EXIT_PARTIAL, EXIT_REFUSED
from pipelines.common.instants import DAY_MS, parse_instant
from pipelines.common.version import VERSION

_BY_NAME = {metric.name: metric for metric in METRICS}
Json = Mapping[str, Any]
Add = Callable[..., None]
Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One run of one job.

    Attributes:
        job: its name.
        rehearsal: whether it only said what it would do.
        started_ms: ms since the epoch.
        ended_ms: ms since the epoch.
        exit_code: of the job.
        result: its JSON object.
        cluster: of the options or of the configuration, for a result that names none.
        notified: whether the webhook took the message; None = there was none to send.
    """

    job: str
    rehearsal: bool
    started_ms: int
    ended_ms: int
    exit_code: int
    result: Json
    cluster: str | None = None
    notified: bool | None = None


class Samples(Collector):
    """The samples of one file of metrics; they are added up where all labels are equal.

    Args:
        labels: of every sample that has a label of this name.
    """

    def __init__(self, **labels: str) -> None:
        self._labels = labels
        self._values: dict[str, dict[tuple[str, ...], float]] = {}

    def add(self, name: str, value: float, **labels: object) -> None:
        """Adds to a metric of `METRICS`."""
        given = {**self._labels, **labels}
        key = tuple(str(given[label]) for label in ("cluster", *_BY_NAME[name].labels))
        samples = self._values.setdefault(name, {})
        samples[key] = samples.get(key, 0.0) + value

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yields the metrics in the order of `METRICS`."""
        for metric in METRICS:
            if metric.name in self._values:
                family = GaugeMetricFamily(PREFIX + metric.name, metric.text, labels=("cluster", *metric.labels))
                for labels, value in self._values[metric.name].items():
                    family.add_metric(labels, value)
                yield family

    def registry(self) -> CollectorRegistry:
        """Returns a registry that has these samples alone."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return registry

    def text(self) -> str:
        """Returns Prometheus' text format."""
        return generate_latest(self.registry()).decode("utf-8")


def samples_of(run: MeasuredRun) -> dict[str, tuple[Samples, Samples | None]]:
    """Returns the metrics of a run by cluster, and what a later run that fails must not take away.

    The second samples say when the job ended well, and of which snapshot; None = it did not end well. A cluster without
    a name has no metrics.
    """
    if run.job == "reconcile" and objects_of(run.result.get("clusters")):
        parts = [(one["cluster"], one["exit_code"], one) for one in objects_of(run.result["clusters"])]
    elif run.job == "maintain" and run.cluster is None:
        parts = [(one["cluster"], run.exit_code, run.result) for one in objects_of(run.result.get("quarantine"))]
    elif run.job == "check-tables" and objects_of(run.result.get("runs")):
        parts = [(one["cluster"], _checked(run, one["cluster"]), {}) for one in objects_of(run.result["runs"])]
    else:
        parts = [(run.result.get("cluster") or run.cluster, run.exit_code, run.result)]
    return {cluster: _of_cluster(run, cluster, code, result) for cluster, code, result in parts if cluster}


def _of_cluster(run: MeasuredRun, cluster: str, code: int, result: Json) -> tuple[Samples, Samples | None]:
    common = {"cluster": cluster, "walsafe_job": run.job, "rehearsal": "yes" if run.rehearsal else "no"}
    samples = Samples(**common)
    add, ended = samples.add, run.ended_ms / 1000
    add("build_info", 1, version=VERSION)
    add("job_end_timestamp_seconds", ended)
    add("job_duration_seconds", (run.ended_ms - run.started_ms) / 1000)
    add("job_exit_code", code)
    error = run.result.get("error")
    condition = error.get("condition") if isinstance(error, Mapping) else result.get("condition")
    if condition:
        add("job_error", 1, condition=condition)
    if run.notified is not None:
        add("notify_failed", not run.notified)
    for finding in objects_of(result.get("findings")):
        add(
            "findings",
            1,
            severity=finding["severity"],
            code=finding["code"],
            acknowledged="yes" if finding["acknowledged"] else "no",
        )
    if run.job in _OWN and (not error or run.job in _EVEN_IF_FAILED):
        _OWN[run.job](add, result, common)
    if run.job == "reconcile" and "status" in result:
        add("run_timestamp_seconds", ended)
    partly = run.job == "night" and any(
        one["exit_code"] == EXIT_PARTIAL or (one.get("executed") and one.get("error"))  # clean left files behind
        for one in objects_of(result.get("jobs"))
        if one["job"] != "reconcile"
    )
    if code not in (EXIT_DONE, EXIT_PARTIAL) or error or partly:
        return samples, None
    good = Samples(**common)
    good.add("job_last_good_timestamp_seconds", ended)
    if run.job == "reconcile" and "status" in result:
        good.add("capture_timestamp_seconds", parse_instant(result["files_started_at"]) / 1000)
    return samples, good


def _reconcile(add: Add, one: Json, _labels: Labels) -> None:
    if "status" not in one:  # it failed before it knew its clusters
        return
    add("run_outcome", 1, status=one["status"], mode=one["mode"])
    add("run_exit_code", one["exit_code"])
    add("list_bytes", one["deletable_bytes"] if one["list_uri"] else 0)
    if one["status"] != "DONE":
        return  # without sizes, so that no sizes of an earlier night remain
    add("cleanup_paused", bool(one["paused"]))
    for total in one["by_reason"]:
        add("wal_files", total["files"], verdict=total["verdict"], reason=total["reason"])
        add("wal_bytes", total["bytes"], verdict=total["verdict"], reason=total["reason"])
    for row in one["holders"]:
        peer = row["peer_id"]
        add("peer_pinned_bytes", row["exclusive_bytes"], peer=peer, shared="no")
        add("peer_pinned_bytes", row["bytes"] - row["exclusive_bytes"], peer=peer, shared="yes")
        add("peer_freed_bytes", row["freed_bytes"], peer=peer)
        if row["oldest_age_ms"] is not None:
            add("peer_oldest_wal_age_seconds", row["oldest_age_ms"] / 1000, peer=peer)
    if one["forecast"] is not None:
        _forecast(add, one["forecast"], parse_instant(one["files_started_at"]))


def _forecast(add: Add, forecast: Json, night: int) -> None:
    for name, key in (("capacity_bytes", "capacity_bytes"), ("daily_growth_bytes", "growth_per_day")):
        if forecast[key] is not None:
            add(name, forecast[key])
    if forecast["days"] is not None:  # `full_at` may be after the last year that has a date
        add("capacity_full_timestamp_seconds", (night + forecast["days"] * DAY_MS) / 1000)


def _checked(run: MeasuredRun, cluster: str) -> int:
    """Returns the exit code that check-tables would have for this cluster alone."""
    unmet = any(row["cluster"] == cluster for rows in run.result["failed"].values() for row in rows)
    return EXIT_DONE if run.exit_code == EXIT_REFUSED and not unmet else run.exit_code


def _capture(add: Add, result: Json, _labels: Labels) -> None:
    add("snapshot_files", result["files"])
    add("snapshot_queue_cells", result["cells"])
    add("snapshot_peers", result["peers"])
    add("snapshot_quiet", result["quiet"])


def _cleanup(add: Add, result: Json, _labels: Labels) -> None:
    if "done_files" in result:
        _tally(add, result)


def _purge(add: Add, result: Json, _labels: Labels) -> None:
    for run in objects_of(result.get("runs")):
        _tally(add, run, left="waiting" if run["status"] == "WAITING" else "left")


def _tally(add: Add, tally: Json, left: str = "left") -> None:
    for outcome, key in (("done", "done"), (left, "left")):
        add("cleanup_files", tally[f"{key}_files"], outcome=outcome)
        add("cleanup_bytes", tally[f"{key}_bytes"], outcome=outcome)
    add("cleanup_files", tally["gone_files"], outcome="gone")


def _maintain(add: Add, result: Json, labels: Labels) -> None:
    add("maintain_freed_bytes", result["freed_bytes"])
    add("maintain_later_bytes", result["later_bytes"])
    add("maintain_errors", len(result["errors"]))
    if labels["rehearsal"] == "yes" or result["quarantine"] is None:  # it could not be read
        return  # and a rehearsal has a file of its own, where the same number would come twice
    rests: Json = next((one for one in objects_of(result["quarantine"]) if one["cluster"] == labels["cluster"]), {})
    add("quarantine_files", rests.get("files", 0))
    add("quarantine_bytes", rests.get("bytes", 0))
    if rests.get("oldest_at"):
        add("quarantine_oldest_timestamp_seconds", parse_instant(rests["oldest_at"]) / 1000)


def _audit_queues(add: Add, result: Json, _labels: Labels) -> None:
    for name, queues in result["classes"].items():
        add("queues", queues, **{"class": name})


def _dump_queues(add: Add, result: Json, _labels: Labels) -> None:
    for peer, wals in result["pending_wals"].items():
        add("queues_pending_wals", wals, peer=peer)
    add("queues_pending_bytes", result["pending_bytes"])
    add("queues_missing_wals", result["missing_wals"])


def _inspect_wals(add: Add, result: Json, _labels: Labels) -> None:
    add("inspected_wals", result["files"])
    add("inspected_bytes", result["bytes"])


def _plan_migration(add: Add, result: Json, _labels: Labels) -> None:
    for family, counts in result["counts"].items():
        for action, rows in counts.items():
            add("migration_rows", rows, family=family, action=action)


def _verify_migration(add: Add, result: Json, _labels: Labels) -> None:
    for rule, counts in result["rules"].items():
        add("migration_checks", counts["holds"], rule=rule, answer="holds")
        add("migration_checks", counts["checked"] - counts["holds"], rule=rule, answer="differs")


def _plan_syncup(add: Add, result: Json, _labels: Labels) -> None:
    add("syncup_bytes", result["bytes"])


_OWN: Mapping[str, Callable[[Add, Json, Labels], None]] = {
    "capture": _capture,
    "reconcile": _reconcile,
    "clean": _cleanup,
    "restore": _cleanup,
    "purge": _purge,
    "maintain": _maintain,
    "audit-queues": _audit_queues,
    "dump-queues": _dump_queues,
    "inspect-wals": _inspect_wals,
    "plan-migration": _plan_migration,
    "verify-migration": _verify_migration,
    "plan-syncup": _plan_syncup,
}
_EVEN_IF_FAILED = {"reconcile", "clean", "purge"}
"""Jobs whose answer has numbers beside an error."""
