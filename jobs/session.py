"""The one module that builds a SparkSession.

Under spark-submit the user's settings come from `conf/spark-defaults.conf` and the command line; here stands only
what the result's correctness needs. `local_session` is for tests and benchmarks, which start without spark-submit.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from jobs.submit import QUICK_START, long_run
from pipelines.domain.errors import UnavailableError, UsageError

PROJECT = Path(__file__).resolve().parent.parent
DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"

REQUIRED = {
    "spark.sql.catalog.spark_catalog": DELTA_CATALOG,
    # an instant must not change with the zone of the machine that reads it
    "spark.sql.session.timeZone": "UTC",
    # an overflow or a bad cast must fail or be NULL on purpose, never wrap around
    "spark.sql.ansi.enabled": "true",
}

ALL_DIFFERENT = ("path", "modification_time", "length", "wal_timestamp")

# Settings for one small machine (measured: a six-table job takes half the time of Spark's defaults).
SMALL_MACHINE = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    # Spark would take 64 MiB of heap for each broadcast of a hashed table, however small
    "spark.buffer.pageSize": "4m",
    # pieces of a listing small enough to share out evenly between a few cores
    "spark.sql.files.minPartitionNum": "8",
    # PySpark would ask the JVM several times more for each column, to tell in errors where it was written
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
    "spark.sql.parquet.compression.codec": "zstd",
    # an instant as one number, and not as twelve bytes that only Hive and Impala of old need
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # nearly every value differs from every other: Parquet would learn so anew for each row group
    **{f"spark.hadoop.parquet.enable.dictionary#{name}": "false" for name in ALL_DIFFERENT},
    # nobody reads them
    "spark.hadoop.parquet.size.statistics.enabled": "false",
    # what is sorted already is grouped row by row, without a table of the groups
    "spark.sql.execution.replaceHashWithSortAgg": "true",
    # a job writes one day: its rows need not be sorted by day
    "spark.sql.maxConcurrentOutputFileWriters": "8",
}


def submitted_session(name: str) -> SparkSession:
    """The session of a job started by spark-submit.

    Args:
        name: what Spark's UI and YARN show.

    Raises:
        UsageError: started without spark-submit.
        UnavailableError: the cluster gave no application.
    """
    for key, value in REQUIRED.items():
        SparkContext.setSystemProperty(key, value)
    conf = SparkConf()  # only now, with the JVM reached, does it know what spark-submit was given
    if not conf.contains("spark.master"):
        raise UsageError("no Spark master: start walsafe with ./spark-submit.sh JOB, which sets one")
    extensions = _with_delta(conf.get("spark.sql.extensions", "") or "")
    try:
        return SparkSession.builder.appName(name).config("spark.sql.extensions", extensions).getOrCreate()
    except Py4JJavaError as error:
        cause = str(error.java_exception.toString()).partition("\n")[0]
        raise UnavailableError(
            f"Spark did not start on {conf.get('spark.master')}: {cause}; see the log above, then try again"
        ) from error


def local_session(
    work: Path,
    *,
    cores: int = 2,
    memory: str = "2g",
    quick_start: bool = True,
    extra: Mapping[str, str] | None = None,
) -> SparkSession:
    """A local session with Delta, without spark-submit, for tests and benchmarks.

    Args:
        work: a directory for the warehouse and Spark's scratch files.
        cores: worker threads.
        memory: heap of the JVM, as `-Xmx` takes it.
        quick_start: leave out the JVM's optimizing compiler: right for small data, wrong for measurements.
        extra: further settings, which win.

    Raises:
        UsageError: Delta's jars have not been fetched.
    """
    jars = sorted((PROJECT / ".jars").glob("*.jar"))
    if not jars:
        raise UsageError(f"no Delta jars in {PROJECT / '.jars'}: run ./spark-submit.sh --set-up once")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("LOG4J_CONFIGURATION_FILE", str(PROJECT / "conf" / "log4j2.properties"))
    settings = {
        **SMALL_MACHINE,
        **REQUIRED,
        "spark.sql.extensions": DELTA_EXTENSION,
        "spark.jars": ",".join(map(str, jars)),
        "spark.driver.memory": memory,
        "spark.sql.warehouse.dir": str(work / "warehouse"),
        "spark.local.dir": str(work / "spark"),
        **(extra or {}),
    }
    settings.setdefault("spark.driver.defaultJavaOptions", QUICK_START if quick_start else long_run(PROJECT))
    builder = SparkSession.builder.master(f"local[{cores}]").appName("walsafe")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _with_delta(extensions: str) -> str:
    """Delta's extension beside those the user asked for."""
    names = [name for name in extensions.split(",") if name]
    return ",".join(names if DELTA_EXTENSION in names else [*names, DELTA_EXTENSION])
