"""Runs nights of the DAG with `dag.test()`; started in Airflow's own environment, never imported by the suite.

    run_nights.py DAG_FILE OUT LOGICAL_DATE[=PARAMS]…

Writes to OUT a list of `{"state": …, "tasks": [{"task", "map_index", "label", "state", "tries", "link"}], "assets":
[[name, cluster, run_id]]}`, one for each date, in order.
"""

import importlib.util
import json
import sys
from datetime import datetime
from pathlib import Path
from types import ModuleType

from airflow.models.asset import AssetEvent
from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from sqlalchemy import select


def load(file: Path) -> ModuleType:
    sys.path.insert(0, str(file.parent))
    specification = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(specification)
    sys.modules[file.stem] = module
    specification.loader.exec_module(module)
    return module


def link_of(ti: TaskInstance) -> str | None:
    told = XComModel.get_many(
        run_id=ti.run_id, key="_link_ReportLink", task_ids=ti.task_id, dag_ids=ti.dag_id, map_indexes=ti.map_index
    )
    with create_session() as session:
        return next((str(one.value).strip('"') for one in session.execute(told).scalars()), None)


def events_of(run: DagRun) -> list[list[str]]:
    wanted = select(AssetEvent).where(AssetEvent.source_run_id == run.run_id)
    with create_session() as session:
        return [
            [one.asset.name, one.extra["cluster"], one.extra["run_id"]] for one in session.execute(wanted).scalars()
        ]


def main(file: Path, out: Path, dates: list[str]) -> None:
    dag = load(file).DAG
    nights = []
    for date, _, params in (one.partition("=") for one in dates):
        run = dag.test(logical_date=datetime.fromisoformat(date), run_conf=json.loads(params or "{}"))
        tis = run.get_task_instances()
        events = events_of(run)
        tasks = [
            {
                "task": ti.task_id,
                "map_index": ti.map_index,
                "label": ti.rendered_map_index,
                "state": str(ti.state),
                "tries": ti.try_number,
                "link": link_of(ti),
            }
            for ti in tis
        ]
        nights.append({"state": str(run.state), "tasks": tasks, "assets": events})
    out.write_text(json.dumps(nights))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
