"""How the launcher asks a job to end after the batch it is at."""

import os
from pathlib import Path

STOP_FILE_ENV = "WALSAFE_STOP_FILE"
"""Path of a file that appears when a person pressed Ctrl-C."""


def stop_asked() -> bool:
    """Whether it is there; never where nobody launched the job so."""
    told = os.environ.get(STOP_FILE_ENV)
    return bool(told) and Path(str(told)).exists()
