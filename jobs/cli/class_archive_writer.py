"""The writing of Java's archive of loaded classes, apart from its reading: only the starter of a demo does it.

Every job's session reads the archive, and none of them may import anything that removes a file.
"""

import os
import time
from pathlib import Path

from jobs.cli.class_archive import QUIET

_DEAD_S = 3600


def writing(archive: Path) -> tuple[str, Path]:
    """Java's options for leaving an archive at its exit, and the file that will then be there.

    It gets its name with `keep`: what a killed JVM leaves half-written is never read.
    """
    for left_behind in archive.parent.glob("classes-*.part"):
        if time.time() - left_behind.stat().st_mtime > _DEAD_S:
            left_behind.unlink(missing_ok=True)
    unfinished = archive.with_name(f"{archive.stem}-{os.getpid()}.part")
    return f'{QUIET} "-XX:ArchiveClassesAtExit={unfinished}"', unfinished


def keep(unfinished: Path, archive: Path, *, ended_well: bool) -> None:
    """Give the written file its name, in the place of those of another Java or Spark; or take it away."""
    if not unfinished.is_file():
        return
    if not ended_well:
        unfinished.unlink()
        return
    unfinished.replace(archive)
    for other in archive.parent.glob("classes-*.jsa"):
        if other != archive:
            other.unlink(missing_ok=True)
