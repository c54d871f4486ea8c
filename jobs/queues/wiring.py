"""Wires the jobs on queues: they read snapshots and remember findings in the lake."""

from collections.abc import Callable

from jobs.cli.context import JobContext
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.files.text_files import write_text
from pipelines.lake.job_run import JobLake
from pipelines.snapshot.reader import SnapshotDirectories


def snapshots_and_lake(
    context: JobContext, settings: ReconcileSettings, lake: str | None, suffix: str
) -> tuple[SnapshotDirectories, JobLake]:
    """Returns the production ports of a job that only reads snapshots; without a lake it writes no tables."""
    return SnapshotDirectories(context.spark, settings.row_layout), JobLake.of(context.spark, lake, suffix)


def text_writer(context: JobContext, folder: str) -> Callable[[str, str], str]:
    """Returns the function that writes a text file to a folder, from its name and text, and returns its URI."""

    def write(name: str, text: str) -> str:
        uri = f"{folder.rstrip('/')}/{name}"
        write_text(context.spark, uri, text)
        return uri

    return write
