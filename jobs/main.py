"""The application file that spark-submit starts: `spark-submit … jobs/main.py JOB [options]`."""

import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path

_OF_SPARK = ("pyspark.zip", "py4j-*-src.zip")


def import_path(path: Sequence[str], file: Path) -> list[str]:
    """Returns the `sys.path` with which a job imports walsafe and Spark.

    Python puts the folder of this file first on the path, where `config` or `session` would shadow any library of that
    name, so this removes it. spark-submit puts archives next. walsafe's own archive stays, so that a job keeps its code
    if somebody updates the project meanwhile. The archives of Spark's Python and of py4j are removed if Python finds
    the same Spark as files, because Python compiles the modules of these archives at every start.

    Args:
        path: the `sys.path` of the start.
        file: this file.
    """
    folder = file.resolve().parent
    kept = [entry for entry in path if _real(entry) != folder]
    archives = [entry for entry in kept if any(_real(entry).match(f"pyspark/python/lib/{name}") for name in _OF_SPARK)]
    others = [entry for entry in kept if entry not in archives]
    return others if all(_imports_from(_real(entry).parents[3], others) for entry in archives) else kept


def _real(entry: str) -> Path:
    return Path(entry or ".").resolve()


def _imports_from(packages: Path, path: Sequence[str]) -> bool:
    """Returns whether Python imports Spark and py4j from this folder."""
    specs = {name: PathFinder.find_spec(name, path) for name in ("pyspark", "py4j")}
    return all(
        spec is not None and spec.origin is not None and _real(spec.origin) == packages / name / "__init__.py"
        for name, spec in specs.items()
    )


def _job() -> int:
    from jobs.cli.spark_functions import begin_loading

    begin_loading()
    from jobs.cli.entry import main

    return main()


if __name__ == "__main__":
    this = Path(__file__)
    sys.path[:] = import_path(sys.path, this)
    if find_spec("jobs") is None:  # no archive was shipped
        sys.path.insert(0, str(this.resolve().parents[1]))
    from jobs.cli.leave import run_and_leave

    run_and_leave(_job)
