"""Tells the progress of a long clean-up."""

from pipelines.cleanup.deletions import CleanupTally
from pipelines.cleanup.request import CleanupPorts
from pipelines.common.human import human_bytes
from pipelines.common.progress import Progress


class CleanupProgress:
    """Tells files, files/s and the remaining time after each batch.

    Args:
        verb: the beginning of each line, which says what was done to the files.
        files: the total number of files; None = unknown, and so is the remaining time.
        ports: provide `tell` and the clock.
    """

    def __init__(self, verb: str, files: int | None, ports: CleanupPorts) -> None:
        self._verb, self._tell = verb, ports.tell
        self._progress = Progress(verb, files, seconds=ports.seconds, tell=lambda _: None)

    def more(self, tally: CleanupTally) -> None:
        """Tells the progress so far in one line."""
        self._progress.reached(tally.files)
        self._tell(
            f"{self._verb} {tally.done_files:,} files ({human_bytes(tally.done_bytes)}), left {tally.left_files:,}, "
            f"{tally.gone_files:,} gone already; {self._progress}"
        )
