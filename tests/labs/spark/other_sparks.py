"""Installs the other versions of Spark that walsafe supports, from the pyspark of each."""

import sys
import tempfile
from pathlib import Path

from tests.labs.installed import installed, pip_install
from tests.labs.places import PROJECT

LOCKS = {
    "4.0": "pyspark==4.0.5 --hash=sha256:a0d44b0e7faf0458ad83b7aa664e7ed8b96beed8a55d66ce3b0dfac2309dfca6",
    "4.1": "pyspark==4.1.4 --hash=sha256:bcbd5e18690cf79d438e97210ad06fb8d451a251bb77becc2b0418868d2acd73",
}


def spark_home(version: str) -> Path:
    """Returns a `SPARK_HOME` of this version, such as `4.1`; the first call downloads about 400 MB."""
    home = PROJECT / ".cache" / f"spark-{version}"

    def install() -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as lock:
            lock.write(LOCKS[version])
            lock.flush()
            pip_install(sys.executable, lock.name, "--no-deps", "--no-compile", "--target", str(home))

    return installed(home, LOCKS[version], install) / "pyspark"
