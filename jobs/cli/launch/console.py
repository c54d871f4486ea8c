"""What `spark-submit.sh` starts, and the command `walsafe` of an installed wheel.

In a wheel, the whole tree is the folder `walsafe` of site-packages.
"""

import os
import sys
from pathlib import Path
from typing import NoReturn


def main() -> NoReturn:
    """Runs `launch` in a wheel."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    os.environ["WALSAFE_PROGRAM"] = "walsafe"
    launch()


def launch() -> NoReturn:
    """Runs a job with the command line of this process, and ends with its exit code."""
    from jobs.cli.leave import run_and_leave

    run_and_leave(_launcher)


def _launcher() -> int:
    from jobs.cli.launch.launcher import main as run

    return run(sys.argv[1:])
