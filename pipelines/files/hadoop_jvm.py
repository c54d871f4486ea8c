"""Access to Hadoop's classes in Spark's JVM, for sources and sinks."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from pipelines.common.conditions import Condition
from pipelines.common.errors import UnavailableError, UsageError

JavaObject: TypeAlias = Any
"""Any object of the JVM; py4j has no types."""

_COMPILED: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
_WRONG_NAME_OR_RIGHTS = (
    "AccessControlException",
    "AccessDeniedException",
    "UnknownHostException",
    "UnsupportedFileSystem",
)
_NO_TICKET = (
    *("cannot authenticate via", "GSSException", "LoginException", "KerberosAuthException", "KrbException"),
    "GSS initiate failed",  # of a server that did not accept the ticket
    "no valid authentication method",  # of HBase's client
)
_LOGS_IN_AGAIN = "relogin is in progress"
"""Of HBase's client, for some seconds after a server or the KDC did not accept its ticket."""
_NO_KDC = ("timed out", "Connection refused", "Cannot contact", "Network is unreachable")
LOG_IN = "Give SPARK_SUBMIT_ARGS='--principal … --keytab …', or run kinit, and check this machine's clock"
"""What to do without a valid Kerberos ticket."""


@dataclass(frozen=True)
class HadoopJvm:
    """A JVM with Hadoop on its class path.

    Attributes:
        view: py4j's view of the JVM; classes are attributes by their full name.
        gateway: py4j's gateway, needed to make arrays.
        conf: the Hadoop `Configuration` with which file systems are opened.
    """

    view: JavaObject
    gateway: JavaObject
    conf: JavaObject

    @classmethod
    def of(cls, spark: SparkSession) -> "HadoopJvm":
        """Returns the driver's JVM, with the Hadoop configuration of the Spark application."""
        context: Any = spark.sparkContext
        return cls(context._jvm, context._gateway, context._jsc.hadoopConfiguration())  # noqa: SLF001 - the one door

    def path(self, uri: str) -> JavaObject:
        """Returns a Hadoop `Path`."""
        return self.view.org.apache.hadoop.fs.Path(uri)

    def compiled(self, name: str, source: str) -> JavaObject:
        """Compiles a small Java class with the compiler that Spark uses for its queries, and returns an object of it.

        A py4j call takes about 0.2 ms. Where each of many files would need several of them, such a class needs one.

        Args:
            name: full name of the class.
            source: one file of Java, without generics and lambdas; the class has no state.
        """
        # py4j finds methods by the name of the class, so a name may be compiled once only
        known = _COMPILED.setdefault(self.gateway, {})
        if name not in known:
            compiler = self.view.org.codehaus.janino.SimpleCompiler()
            # the thread's context class loader knows the classes that came with --jars
            compiler.setParentClassLoader(self.view.java.lang.Thread.currentThread().getContextClassLoader())
            compiler.cook(source)
            known[name] = compiler.getClassLoader().loadClass(name).newInstance()
        return known[name]

    def qualified(self, uri: str) -> str:
        """Returns the full URI of a path; a path without scheme and authority gets those of `fs.defaultFS`.

        Raises:
            UsageError: the path is not valid, the host is unknown, access is denied, or Hadoop has no file system for
                the scheme.
            UnavailableError: the file system does not answer.
        """
        with java_errors(uri):
            path = self.path(uri)
            return str(path.getFileSystem(self.conf).makeQualified(path).toString())


def java_cause(error: Exception) -> str:
    """Returns the innermost Java exception of an error as one line."""
    if not isinstance(error, Py4JJavaError):
        return next(iter(str(error).splitlines()), type(error).__name__)
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return next(iter(str(cause.toString()).splitlines()), "")[:400]


def lacks_ticket(cause: str) -> bool:
    """Returns whether a Java exception says that there is no valid Kerberos ticket, although the KDC answered."""
    return any(sign in cause for sign in _NO_TICKET) and not lacks_kdc(cause)


def no_ticket(cause: str) -> str:
    """Returns the sentence about a ticket that a Java exception lacks, with the way out."""
    return f"no valid Kerberos ticket ({cause}). {LOG_IN}"


def lacks_kdc(cause: str) -> bool:
    """Returns whether a Java exception about a ticket says that the KDC did not answer."""
    return any(sign in cause for sign in _NO_KDC)


@contextmanager
def java_errors(what: str) -> Iterator[None]:
    """Turns Java exceptions of a `with` block into walsafe errors.

    Args:
        what: the name of the object that was read or written; the message begins with it.

    Raises:
        UsageError: there is no valid Kerberos ticket, access is denied, the host is unknown, the path is not valid, or
            Hadoop has no file system for the scheme.
        UnavailableError: any other Java or py4j error.
    """
    try:
        yield
    except Py4JJavaError as error:
        cause = java_cause(error)
        if lacks_ticket(cause):
            raise UsageError(f"{what}: {no_ticket(cause)}") from error
        if _LOGS_IN_AGAIN in cause:
            raise UnavailableError(f"{what}: {cause}; try again. If that does not help, log in. {LOG_IN}") from error
        if any(name in cause for name in _WRONG_NAME_OR_RIGHTS):
            raise wrong_name_or_rights(what, cause) from error
        raise UnavailableError(f"{what}: {cause}; solve this and try again") from error
    except IllegalArgumentException as error:  # PySpark's own class for the JVM's exception of that name
        cause = next(iter(str(error).splitlines()), "")
        raise wrong_name_or_rights(what or repr(what), cause) from error
    except (Py4JNetworkError, Py4JError) as error:
        words = f"{what}: Spark's JVM did not answer ({java_cause(error)}); try again"
        raise UnavailableError(words, condition=Condition.SPARK_ENDED) from error


def wrong_name_or_rights(what: str, cause: str) -> UsageError:
    """Returns the error for a name that Hadoop cannot use, or for a missing right, with the way out."""
    unknown = "check the name, and for HDFS that HADOOP_CONF_DIR names this cluster"
    way = unknown if "UnknownHost" in cause else "check the name, the user and its permissions"
    return UsageError(f"{what}: {cause}; {way}")


def hadoop_configuration(hadoop: HadoopJvm) -> str:
    """Returns the driver's Hadoop configuration as the text of a `core-site.xml`."""
    with java_errors("Hadoop's configuration"):
        writer = hadoop.view.java.io.StringWriter()
        hadoop.conf.writeXml(writer)
        return str(writer.toString())
