"""Reports the progress of a long clean-up."""

from pipelines.cleanup.deletions import CleanupTally
from pipelines.cleanup.request import CleanupPorts
from pipelines.common.human import human_bytes


class CleanupProgress:
    """Reports files, files/s and the remaining time after each batch.

    Args:
        verb: the beginning of each line, which says what was done to the files.
        files: the total number of files.
        ports: provide `tell` and the clock.
    """

    def __init__(self, verb: str, files: int, ports: CleanupPorts) -> None:
        self._verb = verb
        self._files = files
        self._ports = ports
        self._began = ports.seconds()

    def more(self, tally: CleanupTally) -> None:
        """Reports the progress so far in one line."""
        rate = tally.files / max(self._ports.seconds() - self._began, 0.001)
        left = max(self._files - tally.files, 0) / max(rate, 0.001)
        self._ports.tell(
            f"{self._verb} {tally.done_files:,} files ({human_bytes(tally.done_bytes)}), left {tally.left_files:,}, "
            f"{tally.gone_files:,} gone already; {tally.files:,} of {self._files:,}, {rate:,.0f} files/s, "
            f"{left:,.0f} s to go"
        )
