"""Writes Java's archive of loaded classes; separate from reading it, because only the launcher of a demo writes.

The session of every job reads the archive, and no job may import a module that removes files.
"""

import os
import time
from pathlib import Path

from jobs.cli.launch.class_archive import QUIET

_DEAD_S = 3600


def writing_options(archive: Path) -> tuple[str, Path]:
    """Returns the Java options for writing an archive at exit, and the file that the JVM will then write.

    `keep_archive` renames the file afterwards, so that a file left half-written by a killed JVM is never read.
    """
    for left_behind in archive.parent.glob("classes-*.part"):
        if time.time() - left_behind.stat().st_mtime > _DEAD_S:
            left_behind.unlink(missing_ok=True)
    unfinished = archive.with_name(f"{archive.stem}-{os.getpid()}.part")
    return f'{QUIET} "-XX:ArchiveClassesAtExit={unfinished}"', unfinished


def keep_archive(unfinished: Path, archive: Path, *, ended_well: bool) -> None:
    """Rename the written file, replacing archives of other Java or Spark versions; delete it if the JVM failed."""
    if not unfinished.is_file():
        return
    if not ended_well:
        unfinished.unlink()
        return
    unfinished.replace(archive)
    for other in archive.parent.glob("classes-*.jsa"):
        if other != archive:
            other.unlink(missing_ok=True)
