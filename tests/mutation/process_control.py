"""Runs work in a copy of this process, and starts the command of this process again."""

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from pyspark import SparkContext


def jvm_has_ended() -> bool:
    """Whether the JVM of this process's Spark session is no longer there, so that every test on Spark would fail."""
    gateway = SparkContext._gateway
    return gateway is not None and gateway.proc.poll() is not None


def again() -> NoReturn:
    """Starts this command again; the answers so far are in its file and are not asked for again."""
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - the command that was started


@contextmanager
def again_after(limit: float, tell: Callable[[], None]) -> Iterator[None]:
    """If the block takes longer than the limit in seconds, calls `tell` and starts the whole command again.

    A thread of a test that never ends cannot be stopped in any other way.
    """

    def start_again() -> None:
        tell()
        again()

    timer = threading.Timer(limit, start_again)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def forked(work: Callable[[], str], limit: float) -> str | None:
    """What the work says in a copy of this process; None if it takes longer than the limit, or dies."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            text = work()
        except BaseException as error:  # noqa: BLE001 - no change may leave this block but by the end of the process
            text = f"{type(error).__name__}"
        with os.fdopen(writing, "w") as out:
            out.write(text)
        os._exit(0)
    os.close(writing)
    parts: list[bytes] = []
    end = time.monotonic() + limit
    with os.fdopen(reading, "rb") as come:
        while True:
            ready, _, _ = select.select([come], [], [], max(end - time.monotonic(), 0))
            if not ready:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return None
            part = os.read(come.fileno(), 1 << 16)
            if not part:
                break
            parts.append(part)
    _, status = os.waitpid(child, 0)
    return b"".join(parts).decode() if status == 0 else None
