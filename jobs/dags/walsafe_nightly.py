"""Airflow DAG of one night: for each cluster `night --part decide`, the approval, and `night --part finish`.

Every part is a process of its own; the DAG imports neither walsafe nor Spark. docs/airflow.md explains it.
"""

import os
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import airflow

if TYPE_CHECKING:
    from jobs.dags.walsafe_nightly_config import ConfigurationError, Nightly, parse_nightly, refuse_unfit
else:  # in Airflow's environment, the modules beside this file are on the path
    from walsafe_nightly_config import ConfigurationError, parse_nightly, refuse_unfit

refuse_unfit(airflow.__version__)  # before anything is imported that another Airflow does not have

from airflow.sdk import Asset, Param, TriggerRule, dag, get_current_context, task, task_group  # noqa: E402 - after the check of the version
from airflow.sdk.exceptions import AirflowFailException  # noqa: E402 - after the check of the version

if TYPE_CHECKING:
    from jobs.dags.walsafe_nightly_operator import DECIDE, FINISH, Approval, NightOperator, pulled
else:
    from walsafe_nightly_operator import DECIDE, FINISH, Approval, NightOperator, pulled

CONFIG_ENV = "WALSAFE_NIGHTLY_CONFIG"
BY_CLUSTER = "{{ task.cluster }}"
TABLES = {
    DECIDE: (
        "runs",
        "wal_verdicts",
        "verdict_totals",
        "verdict_changes",
        "peers",
        "queue_offsets",
        "pinned_bytes",
        "findings",
        "quality_results",
    ),
    FINISH: ("deletions", "cleanups"),
}
"""The Delta tables that each part writes every night."""


def _configuration() -> "Nightly":
    path = os.environ.get(CONFIG_ENV)
    if not path:
        raise ConfigurationError(
            f"{CONFIG_ENV} is not set: let it name a copy of conf/walsafe-nightly.example.yaml, for the scheduler, the "
            "DAG processor and the workers alike"
        )
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
    return parse_nightly(text, path)


def _notifiers(nightly: "Nightly") -> list[Any]:
    made = []
    for one in nightly.notifiers:
        module, _, cls = one.name.rpartition(".")
        try:
            made.append(getattr(import_module(module), cls)(**one.arguments))
        except (ImportError, AttributeError, TypeError) as error:
            raise ConfigurationError(f"key 'notifiers': {one.name} cannot be made: {error}") from error
    return made


NIGHTLY = _configuration()
NOTIFIERS = _notifiers(NIGHTLY)


@task
def clusters() -> list[str]:
    """Returns the clusters of this run."""
    return list(get_current_context()["params"]["clusters"])


@task(map_index_template="{{ task.op_kwargs['cluster'] }}")
def no_new_error(cluster: str) -> None:
    """Fails if an error finding is new. No task waits for this one: the clean-up goes on, and the run fails."""
    new = (pulled(get_current_context(), DECIDE) or {}).get("new_errors")
    if new:
        raise AirflowFailException(f"new error findings of {cluster}:\n" + "\n".join(new))


def _part(part: str, cluster: str, **arguments: Any) -> NightOperator:  # noqa: ANN401 - of BaseOperator
    return NightOperator(
        task_id=part,
        nightly=NIGHTLY,
        cluster=cluster,
        part=part,
        map_index_template=BY_CLUSTER,
        pool=NIGHTLY.pool,
        outlets=[Asset(f"walsafe/{table}") for table in TABLES[part]],
        **arguments,
    )


@task_group
def night(cluster: str) -> None:
    """The tasks of one cluster; no cluster waits for another's approval."""
    decided = _part(DECIDE, cluster)
    approval = Approval(
        task_id="approval",
        cluster=cluster,
        map_index_template=BY_CLUSTER,
        assigned_users=[{"id": name, "name": name} for name in NIGHTLY.approvers] or None,
        notifiers=NOTIFIERS,
        response_timeout=NIGHTLY.approval_timeout,
    )
    decided >> no_new_error(cluster=cluster)
    decided >> approval >> _part(FINISH, cluster, trigger_rule=TriggerRule.NONE_FAILED)


@dag(
    dag_id="walsafe_nightly",
    schedule=NIGHTLY.schedule,
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    # no backfill: max_active_runs does not count its runs, and each would capture the cluster of today as an old night
    allowed_run_types=["scheduled", "manual", "operator_triggered", "asset_materialization"],
    dagrun_timeout=NIGHTLY.run_timeout,
    default_args={
        "retries": NIGHTLY.retries,
        "retry_delay": NIGHTLY.retry_delay,
        "on_failure_callback": NOTIFIERS,
    },
    params={
        "clusters": Param(
            list(NIGHTLY.clusters),
            type="array",
            items={"type": "string", "enum": list(NIGHTLY.clusters)},
            uniqueItems=True,
            minItems=1,
            description="the clusters of this run",
        ),
        "rehearse_only": Param(False, type="boolean", description="decide and rehearse, and change nothing"),
        "accept": Param(
            [],
            type="array",
            items={"type": "string", "pattern": "^[^=]+=.*\\S"},
            description="EXPECTATION=REASON: overrule an expectation of the gate",
        ),
    },
    doc_md=__doc__,
    tags=["walsafe", "hbase"],
)
def walsafe_nightly() -> None:
    """The whole DAG."""
    night.expand(cluster=clusters())


DAG = walsafe_nightly()
