"""Reads files in a task on an executor, as a stream of bytes or as a copy; needs only the standard library and a JVM.

A local file is opened directly. For any other file it reads the output of `hdfs dfs -cat`, run with the Hadoop client
from Spark's jars. So it reads every file system that Spark knows, and memory does not grow with the file
(docs/adr/0018).
"""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO

Read = Callable[[int], bytes]
_SHELL = "org.apache.hadoop.fs.FsShell"
_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true")
_GLOB = "\\*?[]{}"
_LAST_WORDS = 4096


class NotReadError(OSError):
    """The file system did not return the file, or not all of it."""


class NotThereError(NotReadError):
    """The file does not exist."""


@contextmanager
def open_file(uri: str, hadoop_conf: str) -> Iterator[Read]:
    """Opens a file and returns a function that reads its next bytes.

    Args:
        uri: the file.
        hadoop_conf: the Hadoop configuration, as the text of a `core-site.xml`.

    Raises:
        NotReadError: the file system did not return the file, or not all of it; NotThereError if the file does not
            exist.
    """
    if uri.startswith("file:"):
        path = Path("/" + uri.removeprefix("file:").lstrip("/"))
        try:
            with path.open("rb", buffering=0) as stream:
                yield lambda count: stream.read(count) or b""
        except FileNotFoundError as error:
            raise NotThereError(uri) from error
        except OSError as error:
            raise NotReadError(f"{uri}: {error.strerror or error}") from error
        return
    with _configured(hadoop_conf) as scratch, Path(scratch, "errors").open("w+b") as errors:
        yield from _cat(uri, scratch, errors)


def copy_directory(uri: str, target: str, hadoop_conf: str) -> None:
    """Copies a directory with all files to a new local directory; Hadoop compares its own checksums.

    Args:
        uri: the directory, on any file system that Spark knows.
        target: the local directory, which does not exist.
        hadoop_conf: the Hadoop configuration, as the text of a `core-site.xml`.

    Raises:
        NotReadError: not everything was copied; NotThereError if the directory does not exist.
    """
    with _configured(hadoop_conf) as scratch, Path(scratch, "errors").open("w+b") as errors:
        process = _started("-get", uri, [f"file://{target}"], scratch, errors)
        try:
            process.communicate()
            if process.returncode != 0:
                raise _not_read("get", uri, errors)
        finally:
            process.kill()
            process.wait()


@contextmanager
def _configured(hadoop_conf: str) -> Iterator[str]:
    """Makes a temporary folder with the configuration, which only this process uses."""
    with tempfile.TemporaryDirectory(prefix="walsafe-hadoop-") as scratch:
        Path(scratch, "core-site.xml").write_text(hadoop_conf, encoding="utf-8")
        yield scratch


def _started(verb: str, uri: str, more: list[str], scratch: str, errors: IO[bytes]) -> "subprocess.Popen[bytes]":
    """Starts a command of Hadoop's shell."""
    pattern = "".join(f"\\{char}" if char in _GLOB else char for char in uri)
    environment = {**os.environ, "CLASSPATH": os.pathsep.join(_class_path(scratch))}
    command = [_java(), *_OPTIONS, _SHELL, verb, pattern, *more]
    try:
        return subprocess.Popen(  # noqa: S603 - nothing of it is a shell's
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, bufsize=0
        )
    except OSError as error:
        raise NotReadError(f"{command[0]} did not start: {error}") from error


def _not_read(verb: str, uri: str, errors: IO[bytes]) -> NotReadError:
    words = _last_words(verb, errors)
    return (NotThereError if "No such file" in words else NotReadError)(f"{uri}: {words}")


def _cat(uri: str, scratch: str, errors: IO[bytes]) -> Iterator[Read]:
    """Runs Hadoop's `-cat`; the end of its output counts as the end of the file only if the exit code is 0."""
    process = _started("-cat", uri, [], scratch, errors)
    ended = False

    def read(count: int) -> bytes:
        nonlocal ended
        piece = process.stdout.read(count) if process.stdout else b""
        ended = not piece
        return piece or b""

    try:
        yield read
        if ended and process.wait() != 0:
            raise _not_read("cat", uri, errors)
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def _class_path(scratch: str) -> list[str]:
    """Returns the configuration folders, then the folders where this executor may have Spark's jars."""
    package = find_spec("pyspark")
    folders = [Path(place) for place in (package.submodule_search_locations if package else None) or ()]
    jars = [
        *(Path(home, "jars") for home in (os.environ.get("SPARK_HOME"),) if home),
        *(folder / "jars" for folder in folders),
        Path("__spark_libs__"),  # where YARN unpacks them
    ]
    own = [folder for folder in (os.environ.get("HADOOP_CONF_DIR"), "__spark_conf__/__hadoop_conf__") if folder]
    return [scratch, *own, *(f"{folder}/*" for folder in jars if folder.is_dir())]


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else "java"


def _last_words(verb: str, errors: IO[bytes]) -> str:
    """Returns Hadoop's error message: the last line that begins with the command's name, else the last line."""
    errors.seek(0, os.SEEK_END)
    errors.seek(max(errors.tell() - _LAST_WORDS, 0))
    lines = errors.read().decode("utf-8", errors="replace").strip().splitlines()
    said = [line.removeprefix(f"{verb}: ") for line in lines if line.startswith(f"{verb}: ")]
    return (said or lines or ["Hadoop's client ended without an error message"])[-1]
