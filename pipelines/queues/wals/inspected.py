"""Reads and tallies one WAL; this is the task that an executor runs."""

from dataclasses import dataclass

from pipelines.files.executor_streams import NotThereError, open_file
from pipelines.queues.wals.rows import GONE, UNREADABLE
from pipelines.queues.wals.tally import WalContents, tally_wal


@dataclass(frozen=True, slots=True)
class WalTask:
    """One file to read.

    Attributes:
        uris: possible URIs of the file; the first that exists is read.
        cuts: offsets at which the tally is split.
    """

    uris: tuple[str, ...]
    cuts: frozenset[int]


@dataclass(frozen=True, slots=True)
class WalAnswer:
    """The answer of a task: the contents, or a fault and its description."""

    contents: WalContents | None
    fault: str | None = None
    problem: str | None = None


def inspect_wal(task: WalTask, hadoop_conf: str) -> WalAnswer:
    """Read one file; errors of the file or the file system are returned, not raised.

    Args:
        task: the file.
        hadoop_conf: the text of a `core-site.xml` with the driver's Hadoop configuration.
    """
    for uri in task.uris:
        try:
            with open_file(uri, hadoop_conf) as read:
                return WalAnswer(tally_wal(read, task.cuts))
        except NotThereError:
            continue
        except OSError as error:  # also of this machine's disk
            return WalAnswer(None, UNREADABLE, str(error))
    return WalAnswer(None, GONE, f"it is neither there nor archived: {', '.join(task.uris)}")
