"""Reads files as streams of bytes or copies them, with Hadoop's client in a JVM.

A task on an executor cannot reach Spark's JVM. It opens a local file directly. For all other files, its Python process
starts one JVM with the jars of Spark. So it reads every file system of these jars, and memory does not grow with the
file (docs/adr/0018).
"""

import os
import select
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from io import FileIO
from pathlib import Path

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from pipelines.common.errors import UnavailableError, WalsafeError
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject, java_cause
from pipelines.files.local_paths import local_path

Read = Callable[[int], bytes]
_PIECE = 1 << 18
_LOOK_EVERY_MS = 1000
_OPTIONS = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true"]


class NotReadError(OSError):
    """The file system did not return the file, or not all of it."""


class NotThereError(NotReadError):
    """The file does not exist."""


@contextmanager
def open_file(uri: str, hadoop_conf: str) -> Iterator[Read]:
    """Opens a file in a task, and returns a function that reads its next bytes.

    Args:
        uri: the file.
        hadoop_conf: the Hadoop configuration, as the text of a `core-site.xml`.

    Raises:
        NotReadError: the file system did not return the file, or not all of it; NotThereError if the file does not
            exist.
    """
    if path := local_path(uri):
        try:
            with path.open("rb", buffering=0) as stream:
                yield lambda count: stream.read(count) or b""
        except FileNotFoundError as error:
            raise NotThereError(uri) from error
        except OSError as error:
            raise NotReadError(f"{uri}: {error.strerror or error}") from error
        return
    with open_in_jvm(uri, task_jvm(hadoop_conf)) as read:
        yield read


@contextmanager
def open_in_jvm(uri: str, hadoop: HadoopJvm) -> Iterator[Read]:
    """Opens a file with the Hadoop client of a JVM; otherwise like `open_file`.

    A thread lets the JVM write the file into a pipe: 64 MiB took 0.2 s, and 7 s as py4j's own bytes.
    """
    with tempfile.TemporaryDirectory(prefix="walsafe-stream-") as scratch, ThreadPoolExecutor(1) as thread:
        pipe = str(Path(scratch, "pipe"))
        os.mkfifo(pipe)
        # neither end waits for the other one: this one is opened without waiting, and then the JVM's can be
        with FileIO(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)) as source:
            with _errors_of(uri, hadoop):
                path = hadoop.path(uri)
                stream = path.getFileSystem(hadoop.conf).open(path)
                out = hadoop.view.java.io.FileOutputStream(pipe)
            os.set_blocking(source.fileno(), True)
            ready = select.poll()
            ready.register(source, select.POLLIN)
            sent = thread.submit(_send, stream, out, hadoop)

            def read(count: int) -> bytes:
                while not ready.poll(_LOOK_EVERY_MS):
                    if sent.done():  # a JVM that could not be asked to write keeps its end open
                        with _errors_of(uri, hadoop):
                            sent.result()
                piece = source.read(count)
                if not piece:
                    with _errors_of(uri, hadoop):
                        sent.result()
                return piece

            yield read


def _send(stream: JavaObject, out: JavaObject, hadoop: HadoopJvm) -> None:
    """Writes a stream of the JVM into another one, and closes both; raises what the JVM raised."""
    close_both = True
    hadoop.view.org.apache.hadoop.io.IOUtils.copyBytes(stream, out, _PIECE, close_both)


def copy_directory(uri: str, target: str, hadoop_conf: str) -> None:
    """Copies a directory with all its files to a new local directory; Hadoop compares its own checksums.

    The directory has no subdirectories: Hadoop would not say that it could not copy one.

    Args:
        uri: the directory, on any file system that Spark knows.
        target: the local directory, which does not exist.
        hadoop_conf: the Hadoop configuration, as the text of a `core-site.xml`.

    Raises:
        NotReadError: not everything was copied; NotThereError if the directory does not exist.
    """
    hadoop = task_jvm(hadoop_conf)
    with _errors_of(uri, hadoop):
        path = hadoop.path(uri)
        without_checksum_files = True
        path.getFileSystem(hadoop.conf).copyToLocalFile(
            False, path, hadoop.path(f"file://{target}"), without_checksum_files
        )
    if not Path(target).is_dir():
        raise NotReadError(f"{uri}: {target} could not be made")


@contextmanager
def fetched_directory(uri: str, hadoop_conf: str) -> Iterator[str]:
    """Copies a directory to a temporary one on the task's own disk and returns its path; removes the copy afterwards.

    Messages of errors in the `with` block name the directory, not the copy.

    Args:
        uri: the directory.
        hadoop_conf: the Hadoop configuration, as the text of a `core-site.xml`.

    Raises:
        UnavailableError: the file system did not return all files, or the disk is full.
    """
    with tempfile.TemporaryDirectory(prefix="walsafe-copy-") as scratch:
        copy = str(Path(scratch, "copy"))
        try:
            try:
                copy_directory(uri, copy, hadoop_conf)
            except OSError as error:
                raise UnavailableError(
                    f"{error}: the directory was not copied to {scratch}; start again, and the job goes on"
                ) from None
            yield copy
        except WalsafeError as error:
            error.args = (str(error).replace(copy, uri),)
            raise


@contextmanager
def _errors_of(uri: str, hadoop: HadoopJvm) -> Iterator[None]:
    try:
        yield
    except Py4JJavaError as error:
        raise (NotReadError if _exists(uri, hadoop) else NotThereError)(f"{uri}: {java_cause(error)}") from error
    except PySparkException as error:  # what PySpark makes of some Java exceptions, on the driver
        raise NotReadError(f"{uri}: {java_cause(error)}") from error
    except Py4JError as error:
        task_jvm.cache_clear()  # the JVM may have ended; the next file gets another one
        raise NotReadError(f"{uri}: Hadoop's client did not answer ({java_cause(error)})") from error


def _exists(uri: str, hadoop: HadoopJvm) -> bool:
    """Returns whether something has this name, or whether the file system does not say."""
    try:
        path = hadoop.path(uri)
        return bool(path.getFileSystem(hadoop.conf).exists(path))
    except (Py4JError, PySparkException):
        return True


@cache
def task_jvm(hadoop_conf: str) -> HadoopJvm:
    """Starts a JVM that ends with this Python process.

    Raises:
        NotReadError: it did not start.
    """
    jars = _jar_folders()
    py4j = next((jar for folder in jars for jar in sorted(folder.glob("py4j-*.jar"))), None)
    java_home = os.environ.get("JAVA_HOME")
    java = str(Path(java_home, "bin", "java")) if java_home else "java"
    # where this executor may have a Hadoop configuration of its own
    confs = [folder for folder in (os.environ.get("HADOOP_CONF_DIR"), "__spark_conf__/__hadoop_conf__") if folder]
    process = None
    try:
        port, token, process = launch_gateway(
            jarpath=str(py4j),
            classpath=os.pathsep.join([*confs, *(f"{folder}/*" for folder in jars)]),
            javaopts=_OPTIONS,
            java_path=java,
            die_on_exit=True,
            enable_auth=True,
            return_proc=True,
        )
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
        view = gateway.jvm
        conf = view.org.apache.hadoop.conf.Configuration()
        conf.addResource(view.java.io.ByteArrayInputStream(hadoop_conf.encode("utf-8")))
        # it would take the configuration of this machine alone
        view.org.apache.hadoop.security.UserGroupInformation.setConfiguration(conf)
    # ValueError: it ended before it had a port; TypeError: it has no class of Hadoop
    except (OSError, ValueError, TypeError, Py4JError) as error:
        if process is not None:
            process.kill()
        raise NotReadError(f"{java} did not start with Hadoop's client: {error}") from error
    return HadoopJvm(view, gateway, conf)


def _jar_folders() -> list[Path]:
    """Returns the folders where this executor has the jars of Spark."""
    package = find_spec("pyspark")
    of_the_container = os.environ.get("CLASSPATH", "").split(os.pathsep)  # YARN's
    folders = [
        *(Path(home, "jars") for home in (os.environ.get("SPARK_HOME"),) if home),
        *(Path(place, "jars") for place in (package.submodule_search_locations if package else None) or ()),
        *(Path(entry.removesuffix("/*")) for entry in of_the_container if entry.endswith("/*")),
    ]
    return [folder for folder in folders if folder.is_dir()]
