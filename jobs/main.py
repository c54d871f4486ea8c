"""The application file that spark-submit starts: `spark-submit … jobs/main.py JOB [options]`."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path


def import_path(path: Sequence[str], file: Path) -> list[str]:
    """Returns the `sys.path` with which a job imports walsafe and Spark.

    Python puts the folder of this file first on the path, where `config` or `session` would shadow any library of that
    name, so this removes it. spark-submit puts archives next. walsafe's own stays: whoever renews the project while a
    job runs changes nothing in it. The archives of Spark's Python and of py4j go if Python has the same Spark as files,
    because Python compiles what it imports from them at every start.

    Args:
        path: the `sys.path` of the start.
        file: this file.
    """
    folder = file.resolve().parent
    entries = {entry: Path(entry or ".").resolve() for entry in path}
    entries = {entry: place for entry, place in entries.items() if place != folder}
    of_spark = {entry: place for entry, place in entries.items() if place.match("pyspark/python/lib/*.zip")}
    others = {entry: place for entry, place in entries.items() if entry not in of_spark}
    if all(_installed(place.parents[3], list(others.values())) for place in of_spark.values()):
        return list(others)
    return list(entries)


def _installed(packages: Path, path: Sequence[Path]) -> bool:
    """Returns whether Python finds Spark and py4j in this folder, and not in a folder or archive before it."""
    if packages not in path or not all((packages / name).is_dir() for name in ("pyspark", "py4j")):
        return False
    earlier = [place for place in path[: path.index(packages)] if packages not in place.parents]
    earlier = [place for place in earlier if not place.match("walsafe-*.zip")]
    return not any(one.is_file() or (one / "pyspark").exists() or (one / "py4j").exists() for one in earlier)


def _job() -> int:
    from jobs.cli.entry import main

    return main()


if __name__ == "__main__":
    here = Path(__file__)
    sys.path[:] = import_path(sys.path, here)
    if find_spec("jobs") is None:  # no archive was shipped
        sys.path.insert(0, str(here.resolve().parents[1]))
    from jobs.cli.leave import run_and_leave

    run_and_leave(_job)
