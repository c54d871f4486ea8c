"""Hadoop's classes in Spark's JVM: the one door through which sources and sinks reach them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.sql import SparkSession

from pipelines.common.errors import UnavailableError, UsageError

JavaObject: TypeAlias = Any
"""py4j has no types; whatever lives in the JVM goes by this name."""

_NOT_ALLOWED = ("AccessControlException", "AccessDeniedException", "UnknownHostException", "UnsupportedFileSystem")


@dataclass(frozen=True)
class HadoopJvm:
    """A JVM with Hadoop on its class path.

    Attributes:
        view: its classes by their dotted names.
        gateway: py4j's gateway, for arrays.
        conf: the Hadoop `Configuration` that file systems are opened with.
    """

    view: JavaObject
    gateway: JavaObject
    conf: JavaObject

    @classmethod
    def of(cls, spark: SparkSession) -> "HadoopJvm":
        """The driver's JVM, with the configuration that Spark was started with."""
        context: Any = spark.sparkContext
        return cls(context._jvm, context._gateway, context._jsc.hadoopConfiguration())  # noqa: SLF001 - the one door

    def path(self, uri: str) -> JavaObject:
        """A Hadoop `Path`."""
        return self.view.org.apache.hadoop.fs.Path(uri)

    def qualified(self, uri: str) -> str:
        """The full URI of a path: with the scheme and authority of `fs.defaultFS` where it has none.

        Raises:
            UsageError: no such scheme, or not a path.
            UnavailableError: the file system cannot be reached.
        """
        with java_errors(uri):
            path = self.path(uri)
            return str(path.getFileSystem(self.conf).makeQualified(path).toString())


def java_cause(error: Exception) -> str:
    """The innermost Java exception in one line."""
    if not isinstance(error, Py4JJavaError):
        return next(iter(str(error).splitlines()), type(error).__name__)
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return next(iter(str(cause.toString()).splitlines()), "")[:400]


@contextmanager
def java_errors(what: str) -> Iterator[None]:
    """Turn Java's exceptions into errors a person can act on.

    Args:
        what: what was being read or written; the message begins with it.

    Raises:
        UsageError: the user may not, or the name means nothing.
        UnavailableError: anything else.
    """
    try:
        yield
    except Py4JJavaError as error:
        cause = java_cause(error)
        if any(name in cause for name in _NOT_ALLOWED):
            raise UsageError(f"{what}: {cause}; check the name, the user and its permissions") from error
        raise UnavailableError(f"{what}: {cause}; put it right and try again") from error
    except (Py4JNetworkError, Py4JError) as error:
        raise UnavailableError(f"{what}: Spark's JVM did not answer ({java_cause(error)}); try again") from error


def hadoop_configuration(hadoop: HadoopJvm) -> str:
    """The driver's Hadoop configuration, as the text of a `core-site.xml`."""
    with java_errors("Hadoop's configuration"):
        writer = hadoop.view.java.io.StringWriter()
        hadoop.conf.writeXml(writer)
        return str(writer.toString())
