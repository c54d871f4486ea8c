"""What `spark-submit.sh` starts, and the command `walsafe` of an installed wheel.

In a wheel, the whole tree is the folder `walsafe` of site-packages.
"""

import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn


def main() -> NoReturn:
    """Runs `launch` in a wheel."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    os.environ["WALSAFE_PROGRAM"] = "walsafe"
    # as `-X utf8` does in a clone; another encoding could not write every answer
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)
    launch()


def launch() -> NoReturn:
    """Runs a job with the command line of this process, and ends with its exit code."""
    from jobs.cli.leave import run_and_leave

    run_and_leave(_launcher)


def _launcher() -> int:
    from jobs.cli.launch.launcher import main as run

    return run(sys.argv[1:])
