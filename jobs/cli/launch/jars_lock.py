"""What jars.lock names: Delta's jars, their places in the folder of the jars, and those that a version of Spark needs.

Standard library only. `jobs.cli.launch.jars` fetches them.
"""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Jar:
    """One line of jars.lock."""

    sha256: str
    organisation: str
    module: str
    revision: str

    @property
    def name(self) -> str:
        """Returns the name of the jar's file."""
        return f"{self.organisation}_{self.module}-{self.revision}.jar"

    @property
    def spark(self) -> str | None:
        """Returns the version of Spark that it is for, such as `4.2`; None for a jar that fits every version."""
        match = re.fullmatch(r"delta-spark_(\d+\.\d+)_2\.13", self.module)
        return match[1] if match else None

    @property
    def place(self) -> Path:
        """Returns its path in the folder of the jars, where each version of Spark has a folder of its own."""
        return Path(f"spark-{self.spark}" if self.spark else "", self.name)


def read_lock(lock: Path) -> list[Jar]:
    """Returns the jars that jars.lock names."""
    jars = []
    for line in lock.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            sha256, coordinate = line.split()
            jars.append(Jar(sha256, *coordinate.split(":")))
    return jars


def spark_of(jars: Path) -> str | None:
    """Returns the version of the Spark whose jars are in a folder, such as `4.2`; None if they are not Spark's."""
    found = (re.fullmatch(r"spark-core_2\.13-(\d+\.\d+)\..+\.jar", jar.name) for jar in jars.glob("spark-core_*.jar"))
    return next((match[1] for match in found if match), None)


def supported_sparks(lock: Path) -> list[str]:
    """Returns the versions of Spark for which jars.lock has a jar of Delta; the last is that of the locked pyspark."""
    return [jar.spark for jar in read_lock(lock) if jar.spark]


def jars_for(lock: Path, folder: Path, spark: str) -> list[Path]:
    """Returns the fetched jars that a version of Spark needs: those of jars.lock without Delta's for other versions.

    If the folder is a link, the paths are those behind it. Java uses an archive of loaded classes only if the class
    path names the same paths as when the archive was written, and a checkout that links to the jars has other paths.
    """
    real = folder.resolve()
    return sorted(real / jar.place for jar in read_lock(lock) if jar.spark in {None, spark})
