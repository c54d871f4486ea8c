"""Every job by name. A job's module is imported only when it runs or explains itself, so `--help` stays instant."""

import importlib
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from typing import Protocol, cast

from jobs.context import JobContext
from pipelines.use_cases.outcome import Outcome


class Job(Protocol):
    """What the module of a job offers.

    Such a module imports Spark, Great Expectations and other slow libraries inside functions: `JOB --help` and
    the check of the arguments import it too, before any JVM starts.

    Attributes:
        HELP: one line, as in the registry.
        DESCRIPTION: what a newcomer must know before the first use; shown by `JOB --help`.
        NEEDS_SPARK: whether `spark-submit.sh` starts a JVM for it.
    """

    HELP: str
    DESCRIPTION: str
    NEEDS_SPARK: bool

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declares the job's own options; `--output`, `--result` and `--log-level` are there already."""
        ...

    def run(self, args: Namespace, context: JobContext) -> Outcome:
        """Does the work; raises a `WalsafeError` for everything a person can act on."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A job that can be named on the command line.

    Attributes:
        module: dotted name of the module.
        help: one line for the overview; the module's HELP.
        small: never decides a large listing, so the JVM may skip its optimizing compiler for a faster start.
        gentle: on Ctrl-C it ends after the batch it is at.
    """

    module: str
    help: str
    small: bool = False
    gentle: bool = False

    def load(self) -> Job:
        """Imports the job."""
        return cast("Job", importlib.import_module(self.module))


JOBS: dict[str, Entry] = {
    "demo": Entry("jobs.demo", "everything below on a generated cluster, then says what to look at", small=True),
    "capture": Entry("jobs.capture", "take a snapshot of a live cluster"),
    "reconcile": Entry("jobs.reconcile", "decide which oldWALs are delete-safe; write the list, tables, report"),
    "explain": Entry(
        "jobs.explain", "who holds a file, a peer or a server, since when, what would free it", small=True
    ),
    "clean": Entry(
        "jobs.clean", "move the files of a delete-safe list to a quarantine, after deciding on each again", gentle=True
    ),
    "restore": Entry("jobs.restore", "put quarantined files back where they were", small=True, gentle=True),
    "purge": Entry(
        "jobs.purge", "delete quarantined runs for good once their grace is over, or archive them", gentle=True
    ),
    "inspect-wals": Entry(
        "jobs.inspect_wals",
        "look into the WALs that queues still have to read: whose edits, and what peers want of them",
    ),
    "maintain": Entry("jobs.maintain", "retention, compaction and vacuum of the tables, expiry of lists and snapshots"),
    "simulate": Entry("jobs.simulate", "try to make the rule lose data: random histories of a model cluster, by seed"),
}
