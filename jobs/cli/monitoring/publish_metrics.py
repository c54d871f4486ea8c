"""Writes the metrics of a job to textfiles, or pushes them to a Pushgateway. A failure never fails the job."""

import logging
import os
from argparse import Namespace
from functools import partial
from http.client import HTTPException
from urllib.parse import unquote, urlsplit

from jobs.cli.config.configured_options import cluster_of_job
from jobs.cli.context import JobContext
from jobs.cli.monitoring.alerts import objects_of
from jobs.cli.monitoring.metrics import MeasuredRun, Samples, samples_of
from jobs.cli.monitoring.metrics_place import is_gateway
from jobs.cli.registry import JOBS
from jobs.cli.result_file import write_result
from pipelines.common.errors import WalsafeError
from pipelines.common.job_result import JobResult
from pipelines.common.names import NAME

logger = logging.getLogger(__name__)

_TIMEOUT_S = 10
_GOOD = "-good"


def publish_metrics(
    place: str | None,
    job: str,
    args: Namespace,
    outcome: JobResult,
    started_ms: int,
    context: JobContext,
    notified: bool | None = None,
) -> None:
    """Publishes the metrics of a job that has ended; a warning in the log says why nothing was published.

    Args:
        place: value of `--metrics`; None = nothing is published.
        job: its name.
        args: its options.
        outcome: its result.
        started_ms: when it started, ms since the epoch.
        context: of the job.
        notified: whether the webhook took its message; None = there was none to send.
    """
    if place is None or not JOBS[job].measured or getattr(args, "plan", None) is True:
        return
    rehearsal = getattr(args, "execute", None) is False and not getattr(args, "resume", False)
    clusters, context.failed_clusters = context.failed_clusters, []
    result = {"clusters": clusters, **outcome.result} if clusters else outcome.result
    older = {one["cluster"] for one in objects_of(result.get("clusters")) if one.get("is_newest") is False}
    cluster = cluster_of_job(args, context.local_file)
    run = MeasuredRun(job, rehearsal, started_ms, context.clock.now_ms(), outcome.exit_code, result, cluster, notified)
    try:
        found = samples_of(run)
    except Exception:  # a bug in the metrics must not fail a night
        logger.exception("this is a bug of walsafe: the metrics of %s were not published", job)
        return
    if not found:
        logger.warning("%s has no metrics: its cluster is not known", job)
    name = f"{job}-rehearsal" if rehearsal else job
    half = getattr(args, "part", None) == "decide"  # a night is good when its second part, too, has ended well
    for of, (samples, good) in found.items():
        if of in older or not NAME.fullmatch(of):  # it is a name of a file; the job has reported it
            continue
        _publish(place, of, name, samples, context)
        if good is not None and not half:
            _publish(place, of, name + _GOOD, good, context)


def _publish(place: str, cluster: str, name: str, samples: Samples, context: JobContext) -> None:
    if is_gateway(place):
        _push(place, cluster, name, samples)
        return
    try:
        write_result(f"{place.rstrip('/')}/walsafe.{cluster}.{name}.prom", samples.text(), context, "--metrics")
    except WalsafeError as error:
        logger.warning("the metrics were not written: %s", error)


def _push(place: str, cluster: str, name: str, samples: Samples) -> None:
    """Replaces the metrics of one group of the Pushgateway.

    The URL appears in no log, because it may contain a password. A request that replaces (PUT) is not redirected, so
    the password goes to no other server.
    """
    from prometheus_client.exposition import basic_auth_handler, default_handler, push_to_gateway

    variable = place[1:] if place.startswith("$") else None
    url = place if variable is None else os.environ.get(variable, "")
    if not url:
        logger.warning("the metrics were not pushed: the environment variable %s is not set", variable)
        return
    try:
        parts = urlsplit(url)
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        handler = partial(basic_auth_handler, username=user, password=password) if user else default_handler
        gateway = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        grouping = {"cluster": cluster}
        push_to_gateway(gateway, f"walsafe-{name}", samples.registry(), grouping, _TIMEOUT_S, handler)
    except (OSError, ValueError, HTTPException) as error:
        said = f"{type(error).__name__} {getattr(error, 'code', '')}".rstrip()
        logger.warning("the metrics were not pushed: the Pushgateway did not take them (%s)", said)
