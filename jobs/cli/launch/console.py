"""The command `walsafe` of an installed wheel, in which the whole tree is the folder `walsafe` of site-packages."""

import os
import sys
from pathlib import Path


def main() -> int:
    """Runs a job with the command line of this process; returns its exit code."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    os.environ["WALSAFE_PROGRAM"] = "walsafe"
    from jobs.cli.launch.launcher import main as launch

    return launch(sys.argv[1:])
