"""The only module that builds a SparkSession.

Under spark-submit, the user's settings come from `conf/spark-defaults.conf` and the command line; this module adds only
what correct results need.
"""

from typing import Any

from py4j.java_gateway import JavaClass, JavaMember
from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from jobs.cli.launch.places import PROGRAM
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
    prepare(session)
    return session


def prepare(session: SparkSession) -> None:
    """Tells Delta its version of Parquet, and keeps Java's classes and packages that are named often."""
    _tell_delta(session)
    _keep_classes(session)


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


def _with_delta(extensions: str) -> str:
    """Adds Delta's extension to those that the user set."""
    names = [name for name in extensions.split(",") if name]
    return ",".join(names if DELTA_EXTENSION in names else [*names, DELTA_EXTENSION])
