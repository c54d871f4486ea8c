"""Numbered leases, so that only one job at a time may touch the files of a cluster.

A lease is a file `<number>.json` in the folder of leases; the highest number counts. A job takes the next lease by
creating its file, which only one of two jobs can do. The number is also the fence: the holder of lease n renames the
quarantined run to a name that contains n (`pipelines.cleanup.quarantine`). A job that slept past the end of its lease
finds that the directory named in its renames no longer exists, because the next holder has renamed it; so the file
system itself stops that job.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.common.conditions import Condition
from pipelines.common.errors import SnapshotError, UnavailableError
from pipelines.common.strict_json import read_json

_NAME = re.compile(r"([0-9]{10})\.json")


@dataclass(frozen=True, slots=True)
class Lease:
    """One lease.

    Attributes:
        number: rises by one with every holder.
        holder: user, host, job, attempt.
        released: its holder has ended normally.
    """

    number: int
    holder: str
    released: bool = False

    @property
    def file_name(self) -> str:
        """Name of its file; names sort like numbers."""
        return f"{self.number:010d}.json"

    def text(self) -> str:
        """Returns the content of its file."""
        return json.dumps({"holder": self.holder, "released": self.released}) + "\n"


def lease_numbers(names: Sequence[str]) -> list[int]:
    """Returns the numbers of the leases among the names of the folder, in rising order."""
    return sorted(int(match.group(1)) for name in names if (match := _NAME.fullmatch(name)))


def parse_lease(number: int, text: str | None) -> Lease:
    """Parses a lease; if its creator died before writing the content, the holder is unknown."""
    try:
        document = read_json(text or "", "lease")
        return Lease(number, str(document["holder"]), document["released"] is True)
    except (SnapshotError, KeyError, TypeError):
        return Lease(number, "somebody who died while taking it")


def may_take(newest: Lease | None, renewed_at: int, now: int, time_to_live_ms: int, where: str) -> int:
    """Returns the number of the lease to take.

    Args:
        newest: the lease with the highest number; None = there is none yet.
        renewed_at: modification time of its file, ms, by the file system's clock.
        now: ms, by the same clock.
        time_to_live_ms: a lease that was not renewed for this long has expired.
        where: the folder, for the message.

    Raises:
        UnavailableError: another job holds the lease.
    """
    if newest is None:
        return 1
    left = renewed_at + time_to_live_ms - now
    if not newest.released and left > 0:
        raise UnavailableError(
            f"another job is at work on this cluster: {newest.holder}, lease {newest.number} below {where}; try again "
            f"when it has ended. If it died, its lease expires in {left // 1000 + 1} s",
            condition=Condition.LEASE_HELD,
        )
    return newest.number + 1
