"""Where this walsafe is, what its command is called, and where it keeps what it fetches or makes once.

A clone keeps everything inside: `.jars` and `.cache`. An installed wheel must not write into site-packages, so it has a
folder of the user.
"""

import os
from pathlib import Path

from pipelines.common.version import VERSION

PROJECT = Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("WALSAFE_PROGRAM", "./spark-submit.sh")
"""What a person types before the name of a job; the console script sets the variable."""
CACHE_ENV = "WALSAFE_CACHE"


def is_clone() -> bool:
    """Whether this is a clone, which `spark-submit.sh` prepares, and no installed wheel."""
    return (PROJECT / "spark-submit.sh").is_file()


def cache_folder() -> Path:
    """Returns `.cache` of a clone; else `$WALSAFE_CACHE`, or `walsafe/<version>` below the user's cache folder."""
    if is_clone():
        return PROJECT / ".cache"
    given = os.environ.get(CACHE_ENV)
    if given:
        return Path(os.path.expanduser(given)).resolve()
    return Path(os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")).resolve() / "walsafe" / VERSION


def jars_folder() -> Path:
    """Returns the folder of Delta's jars."""
    return PROJECT / ".jars" if is_clone() else cache_folder() / "jars"
