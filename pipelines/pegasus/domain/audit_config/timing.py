"""Time limits of the audit rules."""

from dataclasses import dataclass

from pipelines.common.instants import HOUR_MS, SECOND_MS


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """The limits in ms.

    Attributes:
        reject_ms: how long a parent may reject requests: one config sync interval (`config_sync_interval_ms`, 30 s).
        stuck_ms: how long a child may wait for its registration.
    """

    reject_ms: int = 30 * SECOND_MS
    stuck_ms: int = 6 * HOUR_MS
