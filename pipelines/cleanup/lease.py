"""Numbered leases ensure that only one job at a time touches the files of a cluster.

A lease is a file `<number>.json` in the folder of leases; the highest number counts. A job takes the next lease by
creating its file; if two jobs try, only one succeeds. The number is also the fence: the holder of lease n renames the
quarantined run to a name that contains n (`pipelines.cleanup.quarantine`). If a job sleeps past the end of its lease,
the next holder renames the directory, so the paths that the first job renames no longer exist. In this way the file
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
        number: rises with every holder.
        holder: the name of the holder: user, host, job, attempt.
        released: whether the holder has ended normally.
    """

    number: int
    holder: str
    released: bool = False

    @property
    def file_name(self) -> str:
        """Returns the name of the lease's file; the names sort in the order of the numbers."""
        return f"{self.number:010d}.json"

    def text(self) -> str:
        """Returns the content of the lease's file."""
        return json.dumps({"holder": self.holder, "released": self.released}) + "\n"


def lease_numbers(names: Sequence[str]) -> list[int]:
    """Returns the lease numbers in the file names of the folder, in rising order."""
    return sorted(int(match.group(1)) for name in names if (match := _NAME.fullmatch(name)))


def parse_lease(number: int, text: str | None) -> Lease:
    """Parses the text of a lease; the holder is unknown if its creator died before it wrote the content."""
    try:
        document = read_json(text or "", "lease")
        return Lease(number, str(document["holder"]), document["released"] is True)
    except (SnapshotError, KeyError, TypeError):
        return Lease(number, "somebody who died while taking it")


def may_take(newest: Lease | None, renewed_at: int, now: int, time_to_live_ms: int, where: str) -> int:
    """Returns the number of the lease to take.

    Args:
        newest: the lease with the highest number; None = there is no lease yet.
        renewed_at: the modification time of the newest lease's file, in ms by the file system's clock.
        now: the present time, in ms by the file system's clock.
        time_to_live_ms: a lease that was not renewed for this long has expired.
        where: the folder of leases, for the message.

    Raises:
        UnavailableError: another job holds the lease.
    """
    if newest is None:
        # the audit is sorted by these numbers: the seconds since 1970 are above those of leases that somebody removed
        return now // 1000
    left = renewed_at + time_to_live_ms - now
    if not newest.released and left > 0:
        raise UnavailableError(
            f"another job is at work on this cluster: {newest.holder}, lease {newest.number} below {where}; try again "
            f"when it has ended. If it died, its lease expires in {left // 1000 + 1} s",
            condition=Condition.LEASE_HELD,
        )
    return newest.number + 1
