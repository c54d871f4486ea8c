"""A simulated cluster that somebody writes while it is read."""

from pathlib import Path

import pytest

from pipelines.capture.sources.simulated_cluster import QUEUES, STATE, SimulatedQueues, SimulatedState
from pipelines.common.errors import UnavailableError


def test_a_file_that_is_not_text_is_unavailable(tmp_path: Path) -> None:
    """It may have been cut inside a character."""
    for name in (STATE, QUEUES):
        (tmp_path / name).write_bytes("ä".encode()[:1])
    with pytest.raises(UnavailableError, match="the simulated cluster cannot be read"):
        SimulatedState(str(tmp_path)).settings()
    with pytest.raises(UnavailableError, match="the simulated cluster cannot be read"):
        list(SimulatedQueues(str(tmp_path)).cells("queues-1"))
