"""Takes the steps of a capture: each one is stamped, and repeated while its source does not answer."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pipelines.capture.ports import CaptureSource
from pipelines.common.clock import Clock
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError
from pipelines.snapshot.capture_clocks import StepStamp, clock_fault
from pipelines.snapshot.capture_order import order_fault
from pipelines.snapshot.model import CaptureStep

logger = logging.getLogger(__name__)

ValueT = TypeVar("ValueT")
_EXPORTED = (
    "Saved inputs must be read by one run of the export script, the listing before everything else, and no clock may "
    "be set back meanwhile"
)
_SET_BACK = "Was the clock set back? Capture again"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a read is tried, and how long to wait between two attempts.

    Attributes:
        step_attempts: how often a step is tried if its source does not answer.
        quiet_attempts: how often everything after the listing is read while servers or queues move.
        pause_ms: the pause before another attempt.
        sleep_ms: a function that waits for a number of ms.
    """

    step_attempts: int
    quiet_attempts: int
    pause_ms: int
    sleep_ms: Callable[[int], None]


@dataclass(slots=True)
class Timeline:
    """Stamps each step by one clock, and repeats a step whose source did not answer.

    Attributes:
        clock: the clock of this host.
        patience: how often to repeat a step.
        host: the name of this host.
        stamps: the stamps of the steps taken so far.
    """

    clock: Clock
    patience: RetryPolicy
    host: str
    stamps: list[StepStamp] = field(default_factory=list)

    @property
    def steps(self) -> tuple[CaptureStep, ...]:
        """Returns the steps in the form in which the snapshot stores them."""
        return tuple(stamp.step for stamp in self.stamps)

    @property
    def clock_host(self) -> str:
        """Returns the host whose clock stamped the steps after the listing.

        `refuse_disorder` ensures that there is only one.
        """
        return self.stamps[-1].host or self.host

    def take(self, name: str, source: CaptureSource, read: Callable[[], ValueT]) -> ValueT:
        """Runs one step and returns what it read.

        The times of the step are those of the attempt that succeeded, or those that a saved source carries.
        """

        def timed() -> tuple[ValueT, StepStamp]:
            saved = source.stamp(name)
            started_at = self.clock.now_ms()
            value = read()
            return value, saved or StepStamp(CaptureStep(name, started_at, self.clock.now_ms()), self.host, saved=False)

        value, stamp = with_retries(f"Step {name}", timed, self.patience)
        self.stamps.append(stamp)
        return value

    def clock_was_set_back(self) -> str | None:
        """Returns why the steps that were read now are out of order; None = they are not.

        Steps that were saved earlier do not count, because to read them again changes nothing.
        """
        return order_fault([stamp.step for stamp in self.stamps if not stamp.saved], needed=())

    def refuse_disorder(self, needed: Sequence[str]) -> None:
        """Refuses steps in any order but the one that loses nothing, and an order that rests on several clocks.

        Args:
            needed: the steps that must not be missing.

        Raises:
            RefusedError: the order is wrong; the message names the step.
        """
        disorder = order_fault(self.steps, needed) or clock_fault(self.stamps)
        if disorder is None:
            return
        way_out = _EXPORTED if self.clock_was_set_back() is None else _SET_BACK
        raise RefusedError(Condition.SNAPSHOT_OUT_OF_ORDER, f"not the capture order: {disorder}. {way_out}")


def with_retries(what: str, read: Callable[[], ValueT], patience: RetryPolicy) -> ValueT:
    """Runs a read, and repeats it while its source does not answer.

    Raises:
        UnavailableError: the last attempt failed too.
    """
    logger.info("%s", what)
    for attempt in range(1, patience.step_attempts):
        try:
            return read()
        except UnavailableError as error:
            logger.warning("%s, attempt %d of %d: %s", what, attempt, patience.step_attempts, error)
            patience.sleep_ms(patience.pause_ms)
    return read()
