"""The file by which the launcher asks a job to end after its current batch."""

import os
from pathlib import Path

STOP_FILE_ENV = "WALSAFE_STOP_FILE"
"""Name of the environment variable with the path of the file; the launcher creates the file on Ctrl-C."""


def stop_asked() -> bool:
    """Tell whether the file exists; False if the launcher set no path."""
    told = os.environ.get(STOP_FILE_ENV)
    return bool(told) and Path(str(told)).exists()
