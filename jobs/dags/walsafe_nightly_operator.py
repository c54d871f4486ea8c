"""Airflow's side of one part of a night: an operator that gives its slot back, its trigger, and the approval."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.exceptions import AirflowException
from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import BaseOperator, BaseOperatorLink
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException
from airflow.triggers.base import BaseTrigger, TriggerEvent

if TYPE_CHECKING:
    from jobs.dags import walsafe_nightly_job as job
    from jobs.dags.walsafe_nightly_config import Nightly
else:  # in Airflow's environment, the modules beside this file are on the path
    import walsafe_nightly_job as job

DECIDE, FINISH = "decide", "finish"
APPROVED_LIST = "approved_list"
_LOST_S = 120.0
_LOOK_S = 5.0
_PATIENCE_S = 600.0


def pulled(context: Mapping[str, Any], task: str, key: str = "return_value") -> Any:  # noqa: ANN401 - of an XCom
    """Returns what a task of the same cluster has told; None if it was skipped."""
    ti = context["ti"]
    return ti.xcom_pull(task_ids=f"night.{task}", map_indexes=ti.map_index, key=key)


def _run_id(context: Mapping[str, Any]) -> str:
    return job.night_id(context.get("logical_date") or context["dag_run"].run_after)


class JobTrigger(BaseTrigger):
    """Waits until a job has ended; ends it if a person clears or marks the task.

    A triggerer that starts again goes on with the same folder, and the job does not notice.
    """

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = folder

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Returns what makes this trigger again."""
        return "walsafe_nightly_operator.JobTrigger", {"folder": self.folder}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yields one event: how the job ended."""
        folder, seen, since, pause = Path(self.folder), "", time.monotonic(), 0.1
        while (end := job.ended(folder)) is None:
            now = job.pulse(folder)
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > _LOST_S:
                end = {"exit_code": None, "why": job.LOST}
                break
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LOOK_S)
        yield TriggerEvent(end)

    async def on_kill(self) -> None:
        """Asks the job to end."""
        job.ask_to_stop(Path(self.folder))


async def _event(trigger: JobTrigger) -> Mapping[str, Any]:
    return dict((await anext(trigger.run())).payload)


class ReportLink(BaseOperatorLink):
    """The link to the night's page."""

    name = "Report"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:  # noqa: ANN401, ARG002 - Airflow's signature
        """Returns the address of the page; empty if the night wrote none."""
        return str(getattr(operator, "page", ""))


class NightOperator(BaseOperator):
    """Runs `night --part` of one cluster.

    Args:
        nightly: the configuration of the DAG.
        cluster: its name.
        part: `decide` or `finish`.
    """

    template_fields = ("cluster",)
    operator_extra_links = (ReportLink(),)

    def __init__(self, *, nightly: "Nightly", cluster: Any, part: str, **arguments: Any) -> None:  # noqa: ANN401 - of BaseOperator
        # the job ends itself at its own time-out; Airflow's is for a process that died and left its task waiting
        late = nightly.job_timeout + timedelta(seconds=2 * _PATIENCE_S)
        super().__init__(execution_timeout=late, **arguments)
        self.nightly, self.cluster, self.part = nightly, cluster, part
        self.page = ""
        self._last_folder = Path()
        self._killed = False

    def execute(self, context: Any) -> Any:  # noqa: ANN401 - Airflow's signature
        """Starts the job and gives the slot back; a job of an earlier attempt is ended first."""
        return self._start(context)

    def _start(self, context: Any) -> Any:  # noqa: ANN401 - Airflow's
        folder, options = self._folder(context), self._options(context)
        if job.is_running(folder):
            self.log.info("ending the job of an earlier attempt; its log is %s", folder / job.LOG)
            job.ask_to_stop(folder)
        else:
            command = [job.program(Path(self.nightly.walsafe)), *options]
            self.log.info("running: %s\nits log is %s", " ".join(command), folder / job.LOG)
            patience = _PATIENCE_S if self.part == FINISH else 0.0
            timeout = self.nightly.job_timeout.total_seconds()
            environment = self.nightly.environment
            job.start(folder, command, environment, timeout_s=timeout, patience_s=patience)
        trigger = JobTrigger(str(folder))
        if self.nightly.deferrable:
            self.defer(trigger=trigger, method_name="ended", timeout=self.execution_timeout)
        return self.ended(context, asyncio.run(_event(trigger)))

    def ended(self, context: Any, event: Mapping[str, Any]) -> Any:  # noqa: ANN401 - Airflow's signature
        """Judges how the job ended, and tells the next tasks.

        Raises:
            AirflowException: something was unavailable, or the job or its result vanished; Airflow tries again.
            AirflowFailException: it failed otherwise, or took too long.
        """
        folder = self._folder(context)
        lines, found = job.log_lines(folder), job.result(folder)
        for line in lines:
            self.log.info("%s", line)
        code, why = event["exit_code"], event["why"]
        if why == job.LOST:
            (folder / job.PULSE).unlink(missing_ok=True)
            raise AirflowException(f"the job vanished without a word; the end of {folder / job.LOG} may say why")
        if why == job.STOPPED and code not in (job.DONE, job.NEW_ERROR) and not self._killed:
            self.log.info("the job of the earlier attempt has ended: starting it again")
            return self._start(context)
        if self.part == DECIDE:  # the page also says why a night was refused
            self.page = str(job.decision(found, self.nightly.report_url)["page"])
        if code != job.DONE and not (code == job.NEW_ERROR and self.part == DECIDE):
            if why == job.TIMED_OUT:
                raise AirflowFailException(f"it took longer than job_timeout ({self.nightly.job_timeout})")
            if code == job.UNAVAILABLE:
                raise AirflowException(f"exit code 4: {job.reason(found, lines)}")
            raise AirflowFailException(f"exit code {code}: {job.reason(found, lines)}")
        if not found:  # it would read as a night without findings and without files to clean
            raise AirflowException(f"it ended with exit code {code} and left no result: {job.reason(found, lines)}")
        if other := job.another_cluster(found, self.cluster):
            raise AirflowFailException(f"{self.nightly.clusters[self.cluster]} {other}")
        told = job.decision(found, self.nightly.report_url) if self.part == DECIDE else self._told(context)
        self.page = str(told.get("page"))
        for asset in self.outlets:
            context["outlet_events"][asset].extra = {"cluster": self.cluster, "run_id": _run_id(context)}
        return told if self.part == DECIDE else None

    def on_kill(self) -> None:
        """Ends the job if the task is ended before it waits in the triggerer."""
        self._killed = True
        job.ask_to_stop(self._last_folder)

    def _options(self, context: Mapping[str, Any]) -> list[str]:
        config, params = self.nightly.clusters.get(self.cluster), context["params"]
        if config is None:  # it was taken out while its approval waited
            raise AirflowFailException(f"{self.cluster} is no longer in 'clusters' of the configuration")
        options = ["night", "--config", config, "--run-id", _run_id(context), "--part", self.part]
        if self.part == DECIDE:
            return [*options, *(word for one in params["accept"] for word in ("--accept", one))]
        if params["rehearse_only"]:
            raise AirflowSkipException("rehearse_only: nothing is cleaned, purged or maintained")
        answer, shown = pulled(context, "approval"), pulled(context, "approval", APPROVED_LIST)
        digest = job.approved_list(answer, shown, self._told(context))
        self.log.info("approved list: %s; answered by %s", digest, (answer or {}).get("responded_by_user"))
        return [*options, *(["--approved", digest] if digest else [])]

    def _told(self, context: Mapping[str, Any]) -> Mapping[str, Any]:
        return pulled(context, DECIDE) or {}

    def _folder(self, context: Mapping[str, Any]) -> Path:
        self._last_folder = Path(self.nightly.results, _run_id(context), self.cluster, self.part)
        return self._last_folder


class Approval(HITLOperator):
    """Asks a person to approve the list that was rehearsed; nobody is asked if there is nothing to approve.

    Args:
        cluster: its name.
    """

    template_fields = ("cluster",)

    def __init__(self, *, cluster: Any, **arguments: Any) -> None:  # noqa: ANN401 - of BaseOperator
        # without an answer, nothing is moved and no task fails
        super().__init__(subject="", options=[job.APPROVE, job.REJECT], defaults=job.REJECT, **arguments)
        self.cluster = cluster

    def execute(self, context: Any) -> Any:  # noqa: ANN401 - Airflow's signature
        """Keeps the digest of the list that the person sees, and asks."""
        told = pulled(context, DECIDE) or {}
        why = job.why_nobody_is_asked(told, rehearse_only=context["params"]["rehearse_only"])
        if why:
            raise AirflowSkipException(why)
        context["ti"].xcom_push(key=APPROVED_LIST, value=told["list_sha256"])
        self.subject = f"Clean up oldWALs of {self.cluster}, night {_run_id(context)}?"
        self.body = told["text"]
        return super().execute(context)
