"""Starts separate JVMs for the tests and drives them through py4j."""

import logging
import os
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway

from tests.labs.cluster.classpath import QUICK, ClasspathError

# py4j gives no types; every object that lives in a JVM goes by this one name.
JavaObject = Any

_OPENED = (
    *(f"java.base/java.{name}" for name in ("lang", "lang.reflect", "util", "util.concurrent", "nio", "net", "io")),
    "java.base/java.util.concurrent.atomic",
    "java.base/java.util.regex",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
)
_EXPORTED = ("java.base/jdk.internal.misc", "java.security.jgss/sun.security.krb5")
MODULE_OPTIONS = (
    *(option for module in _OPENED for option in ("--add-opens", f"{module}=ALL-UNNAMED")),
    *(option for module in _EXPORTED for option in ("--add-exports", f"{module}=ALL-UNNAMED")),
)
_START_SECONDS = 900.0
OPTIMIZED = ("-XX:TieredStopAtLevel=4",)
"""Options of a JVM whose speed is measured."""
STARTED: Counter[str] = Counter()
"""The clusters that this process has started, by their kind."""


class Process:
    """A Java process whose output is drained into a log file."""

    def __init__(
        self,
        name: str,
        classpath: Sequence[Path],
        arguments: Sequence[str],
        work: Path,
        *,
        heap: str = "512m",
        options: Sequence[str] = (),
        java_8: Sequence[str] = (),
    ) -> None:
        java = shutil.which("java")
        if java is None and not java_8:
            raise ClasspathError("no java on PATH: install Java 17 or 21")
        self.name = name
        self.work = work
        temporary = work / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        self.log = work / f"{name}.log"
        self._first_lines: list[str] = []
        self._has_ended = False
        self._changed = threading.Condition()
        command = [
            *(java_8 or [str(java)]),
            f"-Xmx{heap}",
            *QUICK,
            "-Djava.net.preferIPv4Stack=true",
            "-Dio.netty.tryReflectionSetAccessible=true",
            f"-Dwalsafe.tests={name}",
            f"-Djava.io.tmpdir={temporary}",
            f"-Dtest.build.data.basedirectory={work / 'data'}",
            f"-Dtest.build.data={work / 'data'}",
            *(() if java_8 else MODULE_OPTIONS),
            *options,
            *arguments,
        ]
        # the class path in the environment stays out of process lists and logs
        child_environment = {**os.environ, "CLASSPATH": os.pathsep.join(map(str, classpath))}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=work,
            env=child_environment,
        )
        # a full pipe would block the JVM
        self._drain = threading.Thread(target=self._copy_output, name=f"drain-{name}", daemon=True)
        self._drain.start()

    def _copy_output(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output, self.log.open("wb") as log:
            for line in output:
                log.write(line)
                log.flush()
                with self._changed:
                    if len(self._first_lines) < 2:
                        self._first_lines.append(line.decode("utf-8", "replace").strip())
                        self._changed.notify_all()
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def first_lines(self, count: int) -> list[str]:
        """Waits for the first lines of the output, of which at most two are kept, and returns them."""
        deadline = time.monotonic() + _START_SECONDS
        with self._changed:
            while len(self._first_lines) < count:
                if self._has_ended or not self._changed.wait(deadline - time.monotonic()):
                    raise RuntimeError(f"{self.name} did not start:\n{self.tail()}")
            return self._first_lines[:count]

    @property
    def running(self) -> bool:
        """Returns whether the process still runs."""
        return self._process.poll() is None

    def wait(self, seconds: float) -> int:
        """Waits for the end of the process and returns its exit code.

        Raises:
            subprocess.TimeoutExpired: the process has not ended in time.
        """
        return self._process.wait(seconds)

    def tail(self, lines: int = 40) -> str:
        """Returns the end of the log, for messages."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])

    def close(self, patience: float = 5.0) -> None:
        """Closes standard input, which ends a gateway, then kills the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._drain.join(patience)


class Jvm:
    """A JVM with a py4j gateway.

    Args:
        name: of its log.
        classpath: its jars.
        work: its working directory.
        heap: its largest heap.
        options: further options.
        java_8: the command that starts a Java 8, which knows no modules; empty = the Java of this machine.

    Attributes:
        view: The classes of the JVM, by their dotted names.
        log: Everything that the JVM printed.
    """

    def __init__(
        self,
        name: str,
        classpath: Sequence[Path],
        work: Path,
        *,
        heap: str = "512m",
        options: Sequence[str] = (),
        java_8: Sequence[str] = (),
    ) -> None:
        arguments = ("py4j.GatewayServer", "--enable-auth", "--die-on-broken-pipe", "0")
        self._process = Process(name, classpath, arguments, work, heap=heap, options=options, java_8=java_8)
        self.work = work
        self.log = self._process.log
        try:
            port, token = self._process.first_lines(2)
            parameters = GatewayParameters(port=int(port), auth_token=token, auto_convert=True)
        except (RuntimeError, ValueError):
            self._process.close(0)
            raise
        self.gateway: JavaObject = JavaGateway(gateway_parameters=parameters)
        self.view: JavaObject = self.gateway.jvm

    def tail(self, lines: int = 40) -> str:
        """Returns the end of the log, for messages."""
        return self._process.tail(lines)

    def close(self) -> None:
        """Ends the JVM; the systems in it are not shut down in good order."""
        # finalizers of Java objects would otherwise log that nobody answers any more
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        self.gateway.close(keep_callback_server=False, close_callback_server_connections=True)
        self._process.close()
