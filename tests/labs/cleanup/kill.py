"""A clean-up job that dies at a named call of a port: as a process of its own by SIGKILL, or where it stands.

Run as a program it is a job on a laid-out cluster (`tests.labs.cleanup.on_disk`): CONFIG LAKE LISTS SCRATCH JOB CUT.
"""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jobs.cleanup.settings import cleanup_settings
from jobs.cleanup.wiring import open_cleanup
from jobs.cli.context import JobContext
from pipelines.cleanup.clean import CleanRequest, clean
from pipelines.cleanup.purge import PurgeRequest, purge
from pipelines.cleanup.request import CleanupPorts
from tests.labs.cleanup.memory import Killed
from tests.labs.small_cluster import NOW, At
from tests.labs.spark.local_session import local_session

CLUSTER = "prod"
RUN = "night"
WORDS = "the disk is full"
CUTS = {
    "intended": ("audit", "intend", "after"),
    "half of a batch": ("store", "move", "half"),
    "moved": ("store", "move", "after"),
    "deleted": ("store", "delete", "after"),
    "run taken": ("store", "rename_directory", "after"),
    "about to end": ("audit", "ended", "before"),
}
"""Port, call, and where in it; `deleted` counts WALs alone, not leases."""


@dataclass
class Life:
    """The life of one process."""

    die: Callable[[], None]
    dead: bool = False

    def end(self) -> None:
        self.dead = True
        self.die()


@dataclass
class Cut:
    """A port with one call that is the last action of its process; a dead process makes no calls."""

    inner: Any
    call: str
    where: str
    life: Life = field(repr=False)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self.inner, name)

        def made(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - whatever the port has
            if self.life.dead:
                raise Killed
            if name != self.call or (name == "delete" and not any("/oldWALs/" in uri for uri in args[0])):
                return call(*args, **options)
            if self.where == "half":
                call(args[0][: len(args[0]) // 2])
            elif self.where == "after":
                call(*args, **options)
            self.life.end()
            return None

        return made


def cut(ports: CleanupPorts, name: str, die: Callable[[], None]) -> CleanupPorts:
    """Returns the ports with a named call at which the process dies."""
    life = Life(die)
    port, call, where = CUTS[name]
    return replace(
        ports,
        store=Cut(ports.store, call if port == "store" else "", where, life),
        audit=Cut(ports.audit, call if port == "audit" else "", where, life),
        second_look=Cut(ports.second_look, "", "", life),
    )


def raise_killed() -> None:
    """Simulates the death of a process within a living test."""
    raise Killed


def kill_myself() -> None:
    """Kills this process by SIGKILL, which no code of ours can see."""
    os.kill(os.getpid(), signal.SIGKILL)


def main(config: str, lake: str, lists: str, scratch: str, job: str, name: str) -> None:
    """Runs the job in this process."""
    spark = local_session(Path(scratch), memory="700m")
    context = JobContext(job, At(NOW), spark)
    with open_cleanup(context, cleanup_settings(config, CLUSTER, context), lake, lists) as (place, edges):
        ports = cut(edges, name, kill_myself)
        if job == "purge":
            purge(PurgeRequest(None, WORDS, execute=True), place, ports)
        else:
            clean(CleanRequest(RUN, execute=job == "clean", resume=job == "resume"), place, ports)


if __name__ == "__main__":
    main(*sys.argv[1:])
