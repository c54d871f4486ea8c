"""A session of tests and benchmarks, which start without spark-submit.

It reads `conf/spark-defaults.conf` as spark-submit does, so that they measure what users have.
"""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from jobs.cli.launch import class_archive
from jobs.cli.launch.jars import jars_for, spark_of
from jobs.cli.launch.places import PROJECT, cache_folder
from jobs.cli.launch.submit import CLASS_PATH, QUICK_START, long_run, read_properties
from jobs.cli.session import DELTA_EXTENSION, REQUIRED, prepare
from pipelines.common.errors import UsageError

_ON_ONE_HOST = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def local_session(
    work: Path,
    *,
    cores: int = 2,
    memory: str = "2g",
    quick_start: bool = True,
    extra: Mapping[str, str] | None = None,
) -> SparkSession:
    """Returns a local session with Delta, without spark-submit, for tests and benchmarks.

    Args:
        work: a directory for the warehouse and Spark's scratch files.
        cores: number of worker threads.
        memory: heap of the JVM, as `-Xmx` takes it.
        quick_start: turn off the JVM's optimizing compiler: right for small data, wrong for measurements.
        extra: further settings, which take precedence.

    Raises:
        UsageError: the Delta jars have not been fetched.
    """
    spark_home = Path(pyspark.__file__).resolve().parent
    jars = jars_for(PROJECT / "jars.lock", PROJECT / ".jars", spark_of(spark_home / "jars") or "")
    if not all(jar.exists() for jar in jars):
        raise UsageError(f"no Delta jars in {PROJECT / '.jars'}: run ./spark-submit.sh --set-up once")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("LOG4J_CONFIGURATION_FILE", str(PROJECT / "conf" / "log4j2.properties"))
    settings = {
        **read_properties((PROJECT / "conf" / "spark-defaults.conf").read_text(encoding="utf-8")),
        **_ON_ONE_HOST,
        **REQUIRED,
        "spark.master": f"local[{cores}]",
        "spark.sql.extensions": DELTA_EXTENSION,
        "spark.driver.memory": memory,
        CLASS_PATH: os.pathsep.join(map(str, jars)),
        "spark.sql.warehouse.dir": str(work / "warehouse"),
        "spark.local.dir": str(work / "spark"),
        **(extra or {}),
    }
    java = QUICK_START if quick_start else long_run(PROJECT)
    settings.setdefault("spark.driver.defaultJavaOptions", f"{java} {archive_options(jars)}".rstrip())
    builder = SparkSession.builder.appName("walsafe")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    prepare(session)
    return session


def archive_options(jars: Sequence[Path]) -> str:
    """Returns the Java options for the archive of loaded classes that an earlier job wrote; empty if there is none."""
    command = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else shutil.which("java")
    if command is None:
        return ""
    java_home = Path(command).resolve().parent.parent
    return class_archive.reading_options(
        class_archive.archive_of(cache_folder(), java_home, Path(pyspark.__file__).resolve().parent, jars)
    )
