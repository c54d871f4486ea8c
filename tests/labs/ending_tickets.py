"""A clean-up whose Kerberos ticket ends between two of its batches, while its driver is stopped."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from tests.labs.cluster.oracle import wait_shipped
from tests.labs.secure_nights import TABLE, SecureNight, decide
from tests.labs.spark.one_application import Done, OneApplication

LIFE = 180
"""Seconds that a ticket in a cache lives: on a slow machine, an application starts and moves a file meanwhile."""
OTHERS = 75
"""Seconds that other tickets live: those for a service, and those that a keytab gives."""
IDLE = 15
"""After ten seconds, Hadoop's client closes a connection that nobody uses."""
PATIENCE = 180
SMALL = MappingProxyType({"batch": 1, "lease": "1m"})


def decide_on_several(night: SecureNight) -> None:
    """Decides on a list of several files; the disabled peer ships meanwhile what it would hold."""
    cluster = night.secure.hbase
    cluster.enable_peer("two")
    wait_shipped(cluster, TABLE, files=3)
    cluster.disable_peer("two")
    decide(night)
    assert len(night.listed()) > 1


@contextmanager
def past_the_end(night: SecureNight, by: Path | None = None) -> Iterator[tuple[SecureNight, Done]]:
    """Runs `clean --execute`, in an application whose ticket ends after the first of many batches.

    Args:
        night: a night whose list is decided on; `SMALL` is in its configuration.
        by: the ticket cache to write and to log in by; None = the keytab, which gives short tickets.

    Yields:
        The night in that application, and what became of the `clean`.
    """
    secure = night.secure
    ends, identity, environment = 0.0, secure.keys(), {}
    if by is not None:
        with secure.hdfs.tickets_that_end(LIFE):
            secure.hdfs.save_ticket(secure.ordinary, by)
        ends, identity, environment = time.monotonic() + LIFE, (), {"KRB5CCNAME": f"FILE:{by}"}
    # a real KDC gives no ticket for a service that outlives the ticket which was shown for it; this one does
    short = ExitStack()
    short.enter_context(secure.hdfs.tickets_that_end(OTHERS))
    with short, secure.application(night.work / "ending.log", *identity, **environment) as run:
        ending = replace(night, run=run)
        done = _cleaned(ending, run, ends)
        short.close()
        yield ending, done


def _cleaned(night: SecureNight, run: OneApplication, ends: float) -> Done:
    with ThreadPoolExecutor(1) as other:
        cleaning = other.submit(night.clean, "--execute")
        while True:
            time.sleep(0.1)
            # it sleeps during each look: on a slow machine, a look takes longer than to move all the files
            with run.asleep():
                if night.moved():
                    assert not ends or time.monotonic() < ends, "this machine is too slow for such a short ticket"
                    time.sleep(max(OTHERS, ends - time.monotonic()) + IDLE)
                    assert night.moved() < night.listed()
                    break
            assert not cleaning.done(), cleaning.result().text
        return cleaning.result()


def tried_again(work: Callable[[], Done]) -> Done:
    """Repeats what ends with the exit codes of a missing ticket or service, for some minutes.

    Hadoop looks for a new ticket once a minute (`hadoop.kerberos.min.seconds.before.relogin`), and a lease that a job
    could not release must end.
    """
    until = time.monotonic() + PATIENCE
    while (done := work()).exit_code in (2, 4) and time.monotonic() < until:
        time.sleep(10)
    return done
