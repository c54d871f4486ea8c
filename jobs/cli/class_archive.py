"""Java's archive of loaded classes: the first demo on a machine leaves it, each later job starts from it.

A Spark driver loads some twenty thousand classes before it does anything, which takes it two to four seconds of each
start. Java can keep them, parsed and checked, in a file that the next JVM only maps (dynamic class-data sharing). Java
itself looks whether the file fits its version and its class path, and goes on without it where it does not.
"""

import hashlib
from pathlib import Path

QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"
"""A file that does not fit is no news to anybody: the start takes as long as it did without."""


def archive_of(project: Path, java_home: Path, spark_home: Path) -> Path:
    """Where the archive of this Java and this Spark lies, whether it is there or not.

    Args:
        project: the project's root; the archive is in its `.cache`.
        java_home: of the JVM.
        spark_home: whose jars are the class path.
    """
    release = java_home / "release"
    jars = sorted((jar.name, jar.stat().st_size, jar.stat().st_mtime_ns) for jar in spark_home.glob("jars/*.jar"))
    known = [
        str(java_home),
        release.read_text(encoding="utf-8") if release.is_file() else "",
        str(spark_home),
        str(jars),
    ]
    return project / ".cache" / f"classes-{hashlib.sha256(chr(0).join(known).encode()).hexdigest()[:12]}.jsa"


def reading(archive: Path) -> str:
    """Java's options for starting from the archive; empty when there is none."""
    return f'{QUIET} "-XX:SharedArchiveFile={archive}"' if archive.is_file() else ""
