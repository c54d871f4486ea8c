"""Airflow DAG of one night: capture, reconcile, and a clean-up that a person or the configuration has approved.

Every task calls `spark-submit.sh`; the DAG imports neither walsafe nor Spark. docs/airflow.md explains it.
"""

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from airflow.exceptions import AirflowException
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import TriggerRule, dag, get_current_context, task, task_group
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

if TYPE_CHECKING:
    from jobs.dags import walsafe_nightly_logic as logic
    from jobs.dags.walsafe_nightly_config import AUTOMATIC, ConfigurationError, parse_nightly
    from jobs.dags.walsafe_nightly_process import ProcessResult, read_result, run_job
else:  # in Airflow's environment, the modules beside this file are on the path
    import walsafe_nightly_logic as logic
    from walsafe_nightly_config import AUTOMATIC, ConfigurationError, parse_nightly
    from walsafe_nightly_process import ProcessResult, read_result, run_job

CONFIG_ENV = "WALSAFE_NIGHTLY_CONFIG"
BY_CLUSTER = "{{ task.op_kwargs['cluster'] }}"

LOG = logging.getLogger(__name__)


def _configuration() -> Any:  # noqa: ANN401 - whatever the file holds, parse_nightly checks it
    path = os.environ.get(CONFIG_ENV)
    if not path:
        raise ConfigurationError(
            f"{CONFIG_ENV} is not set: let it name a copy of conf/walsafe-nightly.example.yaml, for the scheduler, the "
            "DAG processor and the workers alike"
        )
    try:
        return parse_nightly(yaml.safe_load(Path(path).read_text(encoding="utf-8")), path)
    except (OSError, yaml.YAMLError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error


NIGHTLY = _configuration()


def run_id() -> str:
    """Returns the walsafe run_id of this DAG run; a re-run of the same date finds its earlier results."""
    context = get_current_context()
    return logic.night_id(context.get("logical_date") or context["dag_run"].run_after)


def run(command: Sequence[str], name: str, *, output: str = "json") -> ProcessResult:
    """Runs a walsafe job; `name` is the name of its result file."""
    file = logic.result_file(NIGHTLY, run_id(), name)
    return run_job(NIGHTLY.walsafe, command, file, NIGHTLY.environment, LOG, output=output)


def judge(job: str, answer: ProcessResult) -> ProcessResult:
    """Returns the answer of a job that succeeded, otherwise raises.

    Raises:
        AirflowException: the job ended with exit code 4; Airflow retries the task.
        AirflowFailException: the job failed for another reason; no retry.
    """
    decision = logic.decide(job, answer.exit_code)
    if decision is logic.NextStep.GO_ON:
        return answer
    reason = logic.error_of(answer.result) or answer.last_words or "it said nothing"
    message = f"{job} ended with exit code {answer.exit_code}: {reason}"
    if decision is logic.NextStep.RETRY:
        raise AirflowException(message)
    raise AirflowFailException(message)


@task(map_index_template=BY_CLUSTER)
def capture(cluster: str) -> str:
    """Captures the night's snapshot of one cluster; uses the snapshot if it already exists."""
    answer = run(logic.capture_command(NIGHTLY, cluster, run_id()), f"{cluster}/capture")
    if logic.already_captured(answer.exit_code, answer.result):
        LOG.info("the snapshot of this night stands already: it is used")
        return cluster
    judge("capture", answer)
    return cluster


@task(map_index_template="{{ task.op_kwargs['clusters'] | join(', ') }}", trigger_rule=TriggerRule.ALL_DONE)
def reconcile(clusters: Sequence[str], captured: Iterable[str]) -> None:
    """Decides the captured clusters among `clusters`; fails the task if reconcile refused all of them or failed."""
    there = set(captured)
    ready = [one for one in clusters if one in there]
    if not ready:
        raise AirflowFailException(f"nothing to decide: {', '.join(clusters)} not captured; see task capture")
    answer = run(logic.reconcile_command(NIGHTLY, ready, run_id()), f"reconcile-{clusters[0]}")
    found = logic.verdicts(answer.result)
    # pushed before the task may fail, so that the gate can show the reason for each refused cluster
    get_current_context()["ti"].xcom_push(key="return_value", value=found)
    refused = [f"{name}: {why}" for name, one in found.items() if (why := logic.why_not_passed(one))]
    if answer.exit_code == logic.REFUSED and refused:
        raise AirflowFailException(f"reconcile refused every cluster; {'; '.join(refused)}")
    judge("reconcile", answer)
    if answer.exit_code == logic.DONE_WITH_REFUSALS:
        LOG.warning("%s", "; ".join(refused) or "a finding of severity error is new: see the report")


@task(map_index_template=BY_CLUSTER, trigger_rule=TriggerRule.ALL_DONE)
def gate(cluster: str, decided: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the verdict of a cluster that passed; fails with the reason for one that did not."""
    verdict: dict[str, Any] | None = next((one[cluster] for one in decided if cluster in one), None)
    why = logic.why_not_passed(verdict)
    if verdict is None or why:
        raise AirflowFailException(f"{cluster} takes no further part in this night: {why}")
    return verdict


@task(map_index_template=BY_CLUSTER, multiple_outputs=True)
def rehearse(cluster: str, verdict: Mapping[str, Any]) -> dict[str, str]:
    """Rehearses the clean-up; the approver reads its output."""
    settings = NIGHTLY.cluster(cluster)
    before = read_result(logic.result_file(NIGHTLY, run_id(), f"{cluster}/clean"))
    if logic.is_finished(before, settings):
        raise AirflowSkipException(f"the list of {cluster} of this night was cleaned before")
    if verdict["list_uri"] is None:
        raise AirflowSkipException(f"{cluster} has no list: its snapshot is too old for one")
    answer = judge("clean", run(logic.clean_command(NIGHTLY, cluster, run_id()), f"{cluster}/rehearsal", output="text"))
    paused = logic.why_paused(answer.result)
    if paused:  # nobody is asked for approval: clean would refuse anyway
        raise AirflowFailException(f"nothing of {cluster} is cleaned or purged tonight. {paused}")
    if not (answer.result or {}).get("done_files"):
        raise AirflowSkipException(f"nothing to clean in {cluster}")
    return {"subject": f"Clean up oldWALs of {cluster}, night {run_id()}?", "body": f"```\n{answer.text.rstrip()}\n```"}


@task(map_index_template=BY_CLUSTER)
def approved_by_configuration(cluster: str, rehearsed: Mapping[str, str]) -> dict[str, Any]:
    """Approves without asking, for `approval: automatic` in the configuration."""
    LOG.info("approval: automatic; %s goes on with:\n%s", cluster, rehearsed["body"])
    return {"chosen_options": [logic.APPROVE], "responded_by_user": None}


@task(map_index_template=BY_CLUSTER)
def clean(cluster: str, approval: Mapping[str, Any]) -> str:
    """Moves the files of the list to the quarantine; resumes an earlier attempt."""
    # checked here because the ApprovalOperator of Airflow 3.3 does not skip its downstream tasks in a mapped group
    if not logic.is_approved(approval):
        raise AirflowSkipException(f"{cluster} was not approved: nothing is moved")
    LOG.info("approved by %s", approval.get("responded_by_user") or "the configuration")
    name = f"{cluster}/clean"
    answer = run(logic.clean_command(NIGHTLY, cluster, run_id(), "--execute"), name)
    if logic.cleaned_before(answer.exit_code, answer.result):
        answer = run(logic.clean_command(NIGHTLY, cluster, run_id(), "--resume"), name)
    result = judge("clean", answer).result or {}
    return f"{result.get('status')}: {result.get('done_files')} files, {result.get('done_bytes')} bytes"


@task(map_index_template=BY_CLUSTER, trigger_rule=TriggerRule.NONE_FAILED)
def purge(cluster: str) -> None:
    """Purges the quarantined runs whose grace is over, even if nothing was cleaned tonight."""
    judge("purge", run(logic.purge_command(NIGHTLY, cluster), f"{cluster}/purge"))


@task(trigger_rule=TriggerRule.ALL_DONE_MIN_ONE_SUCCESS)
def maintain() -> None:
    """Maintains walsafe's own tables, lists and snapshots: retention, compaction, expiry."""
    judge("maintain", run(logic.maintain_command(NIGHTLY), "maintain"))


def _approval(cluster: str, rehearsed: Any) -> Any:  # noqa: ANN401 - Airflow's arguments of a mapped group
    if NIGHTLY.approval == AUTOMATIC:
        return approved_by_configuration.override(task_id="approval")(cluster=cluster, rehearsed=rehearsed)
    return HITLOperator(
        task_id="approval",
        map_index_template="{{ task.subject }}",
        subject=rehearsed["subject"],
        body=rehearsed["body"],
        options=[logic.APPROVE, logic.REJECT],
        defaults=logic.REJECT,  # without an answer, nothing is moved and no task fails
        response_timeout=NIGHTLY.approval_timeout,
    ).output


@task_group
def night(cluster: str, decided: Any) -> None:  # noqa: ANN401 - Airflow's argument of a mapped group
    """The tasks of one cluster after the decision; no cluster waits for another's approval."""
    rehearsed = rehearse(cluster=cluster, verdict=gate(cluster=cluster, decided=decided))
    clean(cluster=cluster, approval=_approval(cluster, rehearsed)) >> purge(cluster=cluster)


@dag(
    dag_id="walsafe_nightly",
    schedule=NIGHTLY.schedule,
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,
    max_active_tasks=NIGHTLY.parallel,
    default_args={"retries": NIGHTLY.retries, "retry_delay": NIGHTLY.retry_delay},
    doc_md=__doc__,
    tags=["walsafe", "hbase"],
)
def walsafe_nightly() -> None:
    """The whole DAG."""
    captured = capture.expand(cluster=[one.name for one in NIGHTLY.clusters])
    decided = reconcile.partial(captured=captured).expand(clusters=NIGHTLY.runs_of_reconcile())
    each = night.partial(decided=decided).expand(cluster=[one.name for one in NIGHTLY.clusters])
    kept = maintain()
    # this leaf fails the DAG run if any cluster failed, whatever the result of the others
    each >> kept >> EmptyOperator(task_id="every_cluster_done", trigger_rule=TriggerRule.NONE_FAILED) << each


DAG = walsafe_nightly()
