"""Installs other versions of Spark than this environment's, from the pyspark of each, and jars for them."""

from pathlib import Path

import pyspark

from jobs.cli.launch.jars import fetch_jars
from tests.labs.installed import pip_folder

LOCKS = {
    "4.0": "pyspark==4.0.5 --hash=sha256:a0d44b0e7faf0458ad83b7aa664e7ed8b96beed8a55d66ce3b0dfac2309dfca6",
    "4.1": "pyspark==4.1.4 --hash=sha256:bcbd5e18690cf79d438e97210ad06fb8d451a251bb77becc2b0418868d2acd73",
}
"""The other versions that run walsafe."""
READERS = {
    "3.2": "pyspark==3.2.4 --hash=sha256:aaa592f2f03fbef34c91bfcfee389cf53cbff6662ae47bd5f700573ed9ed61f2",
    "3.5": "pyspark==3.5.9 --hash=sha256:ea27adc39ddac9413b8951e45aa748cbed6c785971b81386efc41938f6243d93",
}
"""Versions that only read a lake."""
DELTA = {
    "3.2": """\
613bb11abb770095a8a9b2890e71c62b8a150e0317d88f87cb5ff1056c91c1b5 io.delta:delta-core_2.12:2.0.2
680838a777e1218fbf84ab708e5eccd5c3b26348e269909ba840809cec98b391 io.delta:delta-storage:2.0.2
""",
    "3.5": """\
4e92085d5d794cf949c50bb665b91384857cad58680c2d0bfc9c7ad353e98e85 io.delta:delta-spark_2.12:3.3.2
c096975a2ca97ccc9b4005aa5cce16c9ac3903139d340da6665b66ace67d7c36 io.delta:delta-storage:3.3.2
""",
}
"""The jars of Delta for these readers, as `jars.lock` names such jars."""


def spark_home(version: str) -> Path:
    """Returns a `SPARK_HOME` of this version, such as `4.1`; the first call downloads about 400 MB."""
    return pip_folder(f"spark-{version}", {**LOCKS, **READERS}[version]) / "pyspark"


def fetched_jars(lock: str, work: Path) -> list[Path]:
    """Fetches jars as walsafe fetches its own.

    Args:
        lock: one line a jar, as in `jars.lock`.
        work: a folder for them, which must not exist yet.
    """
    (work / "cache").mkdir(parents=True)
    (work / "lock").write_text(lock, encoding="utf-8")
    spark = Path(pyspark.__file__).parent / "jars"
    fetch_jars(work / "lock", work / "jars", work / "cache", "java", lambda: spark, lambda _: None)
    return sorted((work / "jars").glob("*.jar"))
