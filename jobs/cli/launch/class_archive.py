"""Java's archive of loaded classes: the first demo on a machine writes it, and each later job starts from it.

A Spark driver loads some twenty thousand classes before it does anything, which takes two to four seconds of each
start. Java can store them, parsed and verified, in a file that the next JVM only maps (dynamic class-data sharing).
Java itself checks whether the file matches its version and class path, and continues without it if it does not.
"""

import hashlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"
"""Silences messages about an archive that does not match: the start only takes as long as without one."""
_DEAD_S = 3600


def archive_of(cache: Path, java_home: Path, spark_home: Path, delta: Sequence[Path]) -> Path:
    """Returns the path of the archive for this Java and this Spark, whether the file exists or not.

    A jar is known by its path as Java sees it, its size, and the time of its last change.

    Args:
        cache: the folder of the archive.
        java_home: of the JVM.
        spark_home: the Spark whose jars come last in the class path.
        delta: Delta's jars, in their order.
    """
    release = java_home / "release"
    class_path = [*(jar for jar in delta if jar.is_file()), *sorted(spark_home.glob("jars/*.jar"))]
    jars = [(str(jar), jar.stat().st_size, jar.stat().st_mtime_ns) for jar in class_path]
    known = [
        str(java_home),
        release.read_text(encoding="utf-8") if release.is_file() else "",
        str(jars),
    ]
    return cache / f"classes-{hashlib.sha256(chr(0).join(known).encode()).hexdigest()[:12]}.jsa"


def reading_options(archive: Path) -> str:
    """Returns the Java options for starting from the archive; empty if the file does not exist."""
    return f'{QUIET} "-XX:SharedArchiveFile={archive}"' if archive.is_file() else ""


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
