"""The application file that spark-submit starts: `spark-submit … jobs/main.py JOB [options]`."""

import sys
from importlib.util import find_spec
from pathlib import Path


def _prepare_import_path() -> None:
    """Makes `jobs`, `pipelines` and `schemas` importable.

    Python puts the folder of this file first on the path, where `config` or `session` would shadow any library of that
    name, so this removes it. The archive that spark-submit ships comes next; without it, the project tree around this
    file is used.
    """
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != here]
    if find_spec("jobs") is None:
        sys.path.insert(0, str(here.parent))


def _job() -> int:
    from jobs.cli.entry import main

    return main()


if __name__ == "__main__":
    _prepare_import_path()
    from jobs.cli.leave import run_and_leave

    run_and_leave(_job)
