"""Runs nights of the DAG with `dag.test()`; started in Airflow's own environment, never imported by the suite.

    run_nights.py DAG_FILE OUT LOGICAL_DATE…

Writes to OUT a list of `{"state": …, "tasks": [{"task", "map_index", "label", "state", "tries"}]}`, one for each date,
in order.
"""

import importlib.util
import json
import sys
from datetime import datetime
from pathlib import Path
from types import ModuleType


def load(file: Path) -> ModuleType:
    sys.path.insert(0, str(file.parent))
    specification = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(specification)
    sys.modules[file.stem] = module
    specification.loader.exec_module(module)
    return module


def main(file: Path, out: Path, dates: list[str]) -> None:
    dag = load(file).DAG
    nights = []
    for date in dates:
        run = dag.test(logical_date=datetime.fromisoformat(date))
        tasks = [
            {
                "task": ti.task_id,
                "map_index": ti.map_index,
                "label": ti.rendered_map_index,
                "state": str(ti.state),
                "tries": ti.try_number,
            }
            for ti in run.get_task_instances()
        ]
        nights.append({"state": str(run.state), "tasks": tasks})
    out.write_text(json.dumps(nights))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
