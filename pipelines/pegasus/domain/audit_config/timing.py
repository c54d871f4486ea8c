"""How long something may last before it is stuck."""

from dataclasses import dataclass

from pipelines.common.human import HOUR, SECOND


@dataclass(frozen=True, slots=True)
class Timing:
    """Limits, ms.

    Attributes:
        reject_ms: a parent may answer nobody for one config sync (`config_sync_interval_ms`, 30 s).
        stuck_ms: a child may wait for its registration.
    """

    reject_ms: int = 30 * SECOND
    stuck_ms: int = 6 * HOUR
