"""One job at a time may touch the files of a cluster: a numbered lease.

A lease is a file `<number>.json` of the folder of leases; the highest number counts. To take the next one is to create
its file, which of two jobs only one can. The number is the fence too: whoever works under lease n has renamed the
quarantined run to a name that holds n (`pipelines.cleanup.quarantine`). A job that slept past its lease finds
the directory that its renames name gone, because the next holder has renamed it; the file system itself stops it.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.common.errors import SnapshotError, UnavailableError
from pipelines.common.json_form import read_json

_NAME = re.compile(r"([0-9]{10})\.json")


@dataclass(frozen=True, slots=True)
class Lease:
    """One lease.

    Attributes:
        number: rises by one with every holder.
        holder: who: user, host, job, attempt.
        released: its holder has ended in good order.
    """

    number: int
    holder: str
    released: bool = False

    @property
    def file_name(self) -> str:
        """Name of its file; names sort as numbers do."""
        return f"{self.number:010d}.json"

    def text(self) -> str:
        """What the file says."""
        return json.dumps({"holder": self.holder, "released": self.released}) + "\n"


def numbers(names: Sequence[str]) -> list[int]:
    """Numbers of the leases among the names of the folder, rising."""
    return sorted(int(match.group(1)) for name in names if (match := _NAME.fullmatch(name)))


def parse_lease(number: int, text: str | None) -> Lease:
    """Read a lease; one whose creator died before it wrote a word is held by somebody unknown."""
    try:
        document = read_json(text or "", "lease")
        return Lease(number, str(document["holder"]), document["released"] is True)
    except (SnapshotError, KeyError, TypeError):
        return Lease(number, "somebody who died while taking it")


def may_take(newest: Lease | None, renewed_at: int, now: int, time_to_live_ms: int, where: str) -> int:
    """The number of the lease to take.

    Args:
        newest: the one with the highest number; None = there was none yet.
        renewed_at: modification time of its file, ms, by the file system's clock.
        now: by that same clock.
        time_to_live_ms: without renewal for so long it has expired.
        where: the folder, for the message.

    Raises:
        UnavailableError: it is held.
    """
    if newest is None:
        return 1
    left = renewed_at + time_to_live_ms - now
    if not newest.released and left > 0:
        raise UnavailableError(
            f"another job is at work on this cluster: {newest.holder}, lease {newest.number} below {where}; try again "
            f"when it has ended. If it died, its lease expires in {left // 1000 + 1} s"
        )
    return newest.number + 1
