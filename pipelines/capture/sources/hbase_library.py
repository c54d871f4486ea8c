"""Loads HBase's server classes in Spark's JVM with their own class loader, beside an HBase client of any version."""

import glob
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pipelines.common.errors import UsageError
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject, java_errors
from pipelines.files.local_paths import local_path


class HBaseLibrary:
    """Calls classes of an HBase installation's `lib` by reflection, because py4j shows only Spark's class path.

    Hadoop's classes are those of Spark, which come first.

    Args:
        hadoop: the interface to Spark's JVM.
        jars: paths on the driver's machine; `*` matches any name.
        where: the name of the cluster in messages.

    Raises:
        UsageError: a pattern matches no file.
    """

    def __init__(self, hadoop: HadoopJvm, jars: Sequence[str], where: str) -> None:
        self.hadoop = hadoop
        self._where = where
        files = [file for pattern in jars for file in _files(pattern)]
        urls = hadoop.gateway.new_array(hadoop.view.java.net.URL, len(files))
        for index, file in enumerate(files):
            urls[index] = hadoop.view.java.net.URL(file.as_uri())
        # HBase registers its metrics under fixed names in Hadoop's own registry, which outlives a class loader: a
        # second capture in one JVM would find the names taken, and HBase's classes would not initialize
        hadoop.view.org.apache.hadoop.metrics2.lib.DefaultMetricsSystem.setMiniClusterMode(True)
        loader = hadoop.view.java.lang.ClassLoader.getSystemClassLoader()
        self._loader: JavaObject = hadoop.view.java.net.URLClassLoader(urls, loader)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Sets the thread's context class loader, with which HBase finds its own resources and services."""
        thread = self.hadoop.view.java.lang.Thread.currentThread()
        before = thread.getContextClassLoader()
        thread.setContextClassLoader(self._loader)
        try:
            yield
        finally:
            thread.setContextClassLoader(before)

    def java_class(self, name: str) -> JavaObject:
        """Returns a Java `Class` of the library.

        Raises:
            UsageError: none of the jars has the class.
        """
        try:
            with java_errors(self._where):
                return self.hadoop.view.java.lang.Class.forName(name, True, self._loader)
        except Exception as error:
            raise UsageError(
                f"{self._where}: {name} is in none of capture.queues.jars; give the jars of an HBase 3 installation: "
                "its lib/*.jar and lib/client-facing-thirdparty/*.jar"
            ) from error

    def static(self, name: str, method: str, *arguments: tuple[JavaObject, JavaObject]) -> JavaObject:
        """Calls a static method. Each argument comes with the class that the method declares for it."""
        kinds, values = self._arrays(arguments)
        return self.java_class(name).getMethod(method, kinds).invoke(None, values)

    def new(self, name: str, *arguments: tuple[JavaObject, JavaObject]) -> JavaObject:
        """Creates an object. Each argument comes with the class that the constructor declares for it."""
        kinds, values = self._arrays(arguments)
        return self.java_class(name).getConstructor(kinds).newInstance(values)

    def close(self) -> None:
        """Closes the jars."""
        with java_errors(self._where):
            self._loader.close()

    def _arrays(self, arguments: Sequence[tuple[JavaObject, JavaObject]]) -> tuple[JavaObject, JavaObject]:
        lang = self.hadoop.view.java.lang
        kinds = self.hadoop.gateway.new_array(lang.Class, len(arguments))
        values = self.hadoop.gateway.new_array(lang.Object, len(arguments))
        for index, (kind, value) in enumerate(arguments):
            kinds[index] = kind
            values[index] = value
        return kinds, values


def _files(pattern: str) -> list[Path]:
    """Returns the files that match a pattern.

    Raises:
        UsageError: no file matches.
    """
    found = sorted(glob.glob(str(local_path(pattern) or pattern)))
    if not found:
        raise UsageError(f"capture.queues.jars: no file matches {pattern} on this machine")
    return [Path(file).absolute() for file in found]
