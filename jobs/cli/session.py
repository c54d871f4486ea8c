"""The only module that builds a SparkSession.

Under spark-submit, the user's settings come from `conf/spark-defaults.conf` and the command line; this module adds only
what correct results need. `local_session` is for tests and benchmarks, which start without spark-submit: it reads the
same file, so that they measure what users have.
"""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import JavaClass, JavaMember
from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from jobs.cli.launch import class_archive
from jobs.cli.launch.jars_lock import jars_for, spark_of
from jobs.cli.launch.places import PROGRAM, PROJECT, cache_folder
from jobs.cli.launch.submit import CLASS_PATH, QUICK_START, long_run, read_properties
from jobs.cli.spark_functions import wait_for_functions
from pipelines.common.errors import UnavailableError, UsageError

DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"

REQUIRED = {
    "spark.sql.catalog.spark_catalog": DELTA_CATALOG,
    # an instant must not change with the time zone of the machine that reads it
    "spark.sql.session.timeZone": "UTC",
    # an overflow or a bad cast must fail, or be NULL on purpose, and never wrap around
    "spark.sql.ansi.enabled": "true",
}

_OF_EVERY_COLUMN = ("functions", "org.apache.spark.sql.functions", "PythonUtils", "PythonSQLUtils")
_OF_EVERY_FILE = ("org.apache.hadoop.fs", "org.apache.hadoop.conf", "org.apache.hadoop.security", "java.lang")
_PARQUET_VERSION = "parquet.writer.version"

# What a session without spark-submit needs besides `conf/spark-defaults.conf`.
_ON_ONE_HOST = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def submitted_session(name: str) -> SparkSession:
    """Returns the session of a job started by spark-submit.

    Args:
        name: the application name in Spark's UI and in YARN.

    Raises:
        UsageError: started without spark-submit.
        UnavailableError: the cluster did not start the application.
    """
    for key, value in REQUIRED.items():
        SparkContext.setSystemProperty(key, value)
    conf = SparkConf()  # SparkConf knows what spark-submit was given only after the JVM has been reached
    if not conf.contains("spark.master"):
        raise UsageError(f"no Spark master: start walsafe with {PROGRAM} JOB, which sets one")
    extensions = _with_delta(conf.get("spark.sql.extensions", "") or "")
    wait_for_functions()
    try:
        session = SparkSession.builder.appName(name).config("spark.sql.extensions", extensions).getOrCreate()
    except Py4JJavaError as error:
        cause = str(error.java_exception.toString()).partition("\n")[0]
        raise UnavailableError(
            f"Spark did not start on {conf.get('spark.master')}: {cause}; see the log above, then try again"
        ) from error
    _tell_delta(session)
    _keep_classes(session)
    return session


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
    _tell_delta(session)
    _keep_classes(session)
    return session


def _tell_delta(session: SparkSession) -> None:
    """Sets the Parquet version for Delta, which reads it by a name that is not a Spark setting."""
    version = session.conf.get(f"spark.hadoop.{_PARQUET_VERSION}", None)
    if version is not None:
        session.conf.set(_PARQUET_VERSION, version)


class _KeptMembers:
    """The static methods of a Java class; py4j would ask the JVM for a method each time that it is named."""

    def __init__(self, java_class: JavaClass) -> None:
        self._java_class = java_class

    def __getattr__(self, name: str) -> JavaMember:
        member = getattr(self._java_class, name)
        setattr(self, name, member)
        return member


def _keep_classes(session: SparkSession) -> None:
    """Keeps the classes and packages that are named often; else the JVM looks for each name in all jars each time.

    Measured with the classes alone: of 10,266 such questions to the JVM in two tests of a clean-up, 1,516 remain. A
    question for the package `org` takes 1.5 ms, one for a class by its full name 0.06 ms.
    """
    jvm = session.sparkContext._jvm  # noqa: SLF001 - only the JVM has it
    for name in _OF_EVERY_COLUMN:
        setattr(jvm, name, _KeptMembers(getattr(jvm, name)))
    for package in _OF_EVERY_FILE:
        place: Any = jvm
        for part in package.split("."):
            setattr(place, part, getattr(place, part))
            place = getattr(place, part)


def archive_options(jars: Sequence[Path]) -> str:
    """Returns the Java options for the archive of loaded classes that an earlier job wrote; empty if there is none."""
    command = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else shutil.which("java")
    if command is None:
        return ""
    java_home = Path(command).resolve().parent.parent
    return class_archive.reading_options(
        class_archive.archive_of(cache_folder(), java_home, Path(pyspark.__file__).resolve().parent, jars)
    )


def _with_delta(extensions: str) -> str:
    """Adds Delta's extension to those that the user set."""
    names = [name for name in extensions.split(",") if name]
    return ",".join(names if DELTA_EXTENSION in names else [*names, DELTA_EXTENSION])
