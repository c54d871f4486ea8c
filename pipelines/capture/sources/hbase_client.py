"""Uses HBase's own client in Spark's JVM (`--jars hbase-shaded-client-….jar`); several sources share it."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property

from pipelines.capture.sources.hbase_site import site_resource
from pipelines.common.errors import UsageError
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject, java_errors

CLIENT_CLASS = "org.apache.hadoop.hbase.client.ConnectionFactory"
# HBase's client retries for many minutes by default; a capture repeats steps itself
_BOUNDS = {
    "hbase.client.retries.number": "5",
    "hbase.client.pause": "200",
    "zookeeper.recovery.retry": "2",
    "hbase.client.start.log.errors.counter": "100",
}
_DENIED = re.compile(r"AccessDeniedException: (Insufficient permissions.*?)(?:; check |$)")
GRANT = "in hbase shell, as an administrator: grant 'USER', {} (docs/capture.md, Who may read the queues)"
"""What to do if a right is missing."""


def read_right(table: str) -> str:
    """Returns the words of `grant` for the right to read a whole table."""
    return f"'R', '{table}'"


class HBaseClient:
    """A connection to one HBase cluster, opened on first use.

    Args:
        hadoop: the interface to Spark's JVM, with HBase's client on its class path.
        site: the path or URI of `hbase-site.xml`; None = the file on the class path.
        properties: HBase properties that replace those of the file.
        timeout_ms: the limit of each call, including its retries.
        where: the name of the cluster in messages.

    Raises:
        UsageError: HBase's client is not on the class path, or the file does not exist.
    """

    def __init__(
        self, hadoop: HadoopJvm, site: str | None, properties: Mapping[str, str], timeout_ms: int, where: str
    ) -> None:
        self.hadoop = hadoop
        self.where = where
        # looked up by name, because py4j takes an unknown class for a package
        self.java_class(CLIENT_CLASS)
        with java_errors(where):
            self.conf: JavaObject = hadoop.view.org.apache.hadoop.hbase.HBaseConfiguration.create(hadoop.conf)
            if site is not None:
                self.conf.addResource(site_resource(hadoop, site))
            bounds = dict(_BOUNDS)
            for name in ("hbase.rpc.timeout", "hbase.client.operation.timeout", "hbase.client.meta.operation.timeout"):
                bounds[name] = str(timeout_ms)
            bounds["hbase.client.scanner.timeout.period"] = str(timeout_ms)
            for name, value in {**bounds, **properties}.items():
                self.conf.set(name, value)

    @cached_property
    def connection(self) -> JavaObject:
        """Returns the thread-safe `Connection`; `close` closes it."""
        with java_errors(self.where):
            return self.hadoop.view.org.apache.hadoop.hbase.client.ConnectionFactory.createConnection(self.conf)

    @cached_property
    def admin(self) -> JavaObject:
        """Returns the `Admin` of the connection."""
        with java_errors(self.where):
            return self.connection.getAdmin()

    def table_name(self, name: str) -> JavaObject:
        """Returns HBase's `TableName` object for a name."""
        return self.hadoop.view.org.apache.hadoop.hbase.TableName.valueOf(name)

    def table_exists(self, name: str) -> bool:
        """Returns whether there is a table of this name; raises what Java throws."""
        return bool(self.admin.tableExists(self.table_name(name)))

    @property
    def queue_table(self) -> str:
        """Returns the name of the table with the replication queues."""
        return str(self.conf.get("hbase.replication.queue.table.name", "hbase:replication"))

    @contextmanager
    def errors(self, what: str, right: str = "'A'") -> Iterator[None]:
        """Turns Java exceptions of a question to HBase into walsafe errors.

        Args:
            what: the question, for the message.
            right: what `grant` in `hbase shell` must give a user who may not ask it; `'A'` is the global right ADMIN.

        Raises:
            UsageError, UnavailableError: for the reasons of `java_errors`; the message says which right is missing.
        """
        try:
            with java_errors(f"{self.where}, {what}"):
                yield
        except UsageError as error:
            denied = _DENIED.search(str(error))
            if denied is None:
                raise
            told = f"{self.where}, {what}: {denied.group(1)}. Give the user the right, {GRANT.format(right)}"
            raise UsageError(told) from error

    def java_class(self, name: str) -> JavaObject:
        """Returns a Java `Class`, which is found in the same way as Spark finds the classes of `--jars`.

        Raises:
            UsageError: the class is not on the class path.
        """
        lang = self.hadoop.view.java.lang
        try:
            with java_errors(self.where):
                return lang.Class.forName(name, True, lang.Thread.currentThread().getContextClassLoader())
        except Exception as error:
            raise UsageError(
                f"{self.where}: {name} is not on Spark's class path; download HBase's client as docs/capture.md says "
                "(section HBase's client), and add all its jars: SPARK_SUBMIT_ARGS='--jars /folder/of/them/*.jar'"
            ) from error

    def close(self) -> None:
        """Closes the connection, if it was opened."""
        for name in ("admin", "connection"):
            opened = self.__dict__.pop(name, None)
            if opened is not None:
                with java_errors(self.where):
                    opened.close()
