"""Checks whose clock stamped each step of a capture; the clocks of two hosts prove no order."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.snapshot.model import CaptureStep

FILE_SYSTEM = "the file system's own clock"
"""The clock of an fsimage, which also set the modification times of the files in it."""


@dataclass(frozen=True, slots=True)
class StepStamp:
    """The times of one step, and whose clock stamped them.

    Attributes:
        step: its name and times.
        host: the host of the clock; None = unknown.
        saved: the answers were saved before the capture, and the input itself contains its times.
    """

    step: CaptureStep
    host: str | None
    saved: bool = True


def clock_fault(stamps: Sequence[StepStamp]) -> str | None:
    """Returns why the times of these steps do not prove their order, or None if they do.

    A host whose clock is ahead can stamp an order that loses data as the correct one. So one host must have stamped all
    steps. Only the listing may have a different clock, in two cases:

    - The capture itself read everything else. It reads a saved listing before anything else, so the listing is older,
      whatever its stamp says.
    - The listing comes from an fsimage. Then one clock stamped the image and its files, and a file is DELETABLE only if
      it was older than the time to live by that clock. So it was archived before the peers were read, unless the two
      clocks differ by more than that time; walsafe trusts that they do not (docs/safety.md).

    Args:
        stamps: the stamps of all steps of the capture.
    """
    rest = [stamp for stamp in stamps if stamp.step.step != "files"]
    for stamp in rest:
        fault = _differs(stamp, rest[0])
        if fault is not None:
            return fault
    if not any(stamp.saved for stamp in rest):
        return None
    listings = [stamp for stamp in stamps if stamp.step.step == "files" and stamp.host != FILE_SYSTEM]
    return next(filter(None, (_differs(stamp, rest[0]) for stamp in listings)), None)


def _differs(stamp: StepStamp, first: StepStamp) -> str | None:
    for one in (first, stamp):
        if one.host is None:
            return (
                f"nobody says by which host's clock step {one.step.step!r} was stamped; name it beside the times, in "
                f"capture.{'files' if one.step.step == 'files' else 'queues'}.clock_host"
            )
    if stamp.host == first.host:
        return None
    return (
        f"step {stamp.step.step!r} was stamped by the clock of {stamp.host}, step {first.step.step!r} by that of "
        f"{first.host}: the clocks of two hosts do not tell which was first"
    )
