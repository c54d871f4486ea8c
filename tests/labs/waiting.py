"""Waits for what comes at last."""

import time
from collections.abc import Callable
from typing import Any

PATIENCE_SECONDS = 900.0
"""However slow the machine is: only what never comes is an error."""


def wait_until(condition: Callable[[], Any], what: str | Callable[[], str], pause: float = 0.1) -> Any:  # noqa: ANN401 - whatever it waits for
    """Polls until a condition holds, and returns its answer.

    Args:
        condition: what is polled.
        what: what is waited for, or how to find out what is missing of it; for the message.
        pause: between two polls, seconds.

    Raises:
        TimeoutError: the condition did not hold within the time.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := condition()):
        if time.monotonic() > deadline:
            missing = what if isinstance(what, str) else what()
            raise TimeoutError(f"waited {PATIENCE_SECONDS:.0f} s in vain until {missing}")
        time.sleep(pause)
    return found
