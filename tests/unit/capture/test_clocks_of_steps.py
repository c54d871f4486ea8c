"""By whose clock the steps of a capture are stamped, and which mixtures of clocks are refused."""

from collections.abc import Iterator

import pytest

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError
from pipelines.hbase.replication_queues import Cell
from pipelines.snapshot.capture_clocks import FILE_SYSTEM, StepStamp
from pipelines.snapshot.capture_order import CAPTURE_ORDER, order_fault
from pipelines.snapshot.model import CaptureStep
from tests.labs.capture_world import THE_REST, World


@pytest.mark.parametrize(
    ("stamps", "words"),
    [
        ({"queues-1": CaptureStep("queues-1", 1, 2)}, "'queues-1' started at"),
        ({"files": CaptureStep("files", 5_000, 6_000)}, "'wal_directories' started at"),
        ({"files": CaptureStep("files", 7, 6)}, "'files' finished before it started"),
    ],
)
def test_exported_inputs_out_of_order_are_refused(stamps: dict[str, CaptureStep], words: str) -> None:
    world = World(stamps={name: StepStamp(step, "edge") for name, step in stamps.items()})
    with pytest.raises(RefusedError, match=words) as refused:
        world.capture()
    assert refused.value.condition is Condition.SNAPSHOT_OUT_OF_ORDER
    assert world.finished is None


class SetBack(World):
    """Its clock is set back by less than the pause inside the first queue pass."""

    def _scan(self, step: str) -> Iterator[Cell]:
        if "queues-1" not in self.asked:
            self.now -= 5
        return super()._scan(step)


@pytest.mark.parametrize("stamps", [{}, {"files": StepStamp(CaptureStep("files", 5, 6), FILE_SYSTEM)}])
def test_after_a_clock_was_set_back_the_rest_is_read_again(stamps: dict[str, StepStamp]) -> None:
    world = SetBack(stamps=stamps)
    captured = world.capture(quiet_attempts=2)
    assert captured.restless is None
    assert world.asked == ["settings", "files", *THE_REST, *THE_REST]
    assert order_fault(captured.snapshot.steps) is None


def test_a_clock_that_was_set_back_is_named_where_nothing_was_exported() -> None:
    world = SetBack()
    with pytest.raises(
        RefusedError, match=r"'queues-1' finished before it started.*\. Was the clock set back\?"
    ) as refused:
        world.capture()
    assert "xport" not in str(refused.value)
    assert refused.value.condition is Condition.SNAPSHOT_OUT_OF_ORDER
    assert world.finished is None


def test_saved_inputs_out_of_order_are_read_once() -> None:
    """To read them again changes nothing."""
    world = World(stamps={**BY_EDGE9, "queues-1": StepStamp(CaptureStep("queues-1", 1, 2), "edge9")})
    with pytest.raises(RefusedError, match="Saved inputs must be read by one run of the export script"):
        world.capture(quiet_attempts=3)
    assert (world.asked.count("queues-1"), world.slept) == (1, [])


def test_an_older_listing_keeps_its_own_times() -> None:
    world = World(stamps={"files": StepStamp(CaptureStep("files", 5, 6), None)})
    world.capture()
    assert world.finished is not None
    assert world.finished.files_step == CaptureStep("files", 5, 6)
    assert world.finished.clock_host == "edge", "of the steps that were read now"


RIGHT_TIMES = {name: CaptureStep(name, 10 * number, 10 * number + 5) for number, name in enumerate(CAPTURE_ORDER)}
BY_EDGE9 = {name: StepStamp(step, "edge9") for name, step in RIGHT_TIMES.items()}


def test_an_export_of_one_host_is_a_capture_by_its_clock() -> None:
    world = World(stamps=BY_EDGE9)
    world.capture()
    assert world.finished is not None
    assert world.finished.clock_host == "edge9"
    assert world.finished.steps == tuple(RIGHT_TIMES.values())


@pytest.mark.promise("one-clock")
@pytest.mark.parametrize("name", CAPTURE_ORDER)
@pytest.mark.parametrize("host", ["other", None])
def test_a_step_stamped_by_another_clock_than_the_rest_is_refused(name: str, host: str | None) -> None:
    """Its times look right, and a clock that is ahead makes any order look right."""
    world = World(stamps={**BY_EDGE9, name: StepStamp(RIGHT_TIMES[name], host)})
    words = "nobody says by which host's clock step" if host is None else "the clocks of two hosts"
    with pytest.raises(RefusedError, match=words) as refused:
        world.capture()
    assert refused.value.condition is Condition.SNAPSHOT_OUT_OF_ORDER
    assert world.finished is None


@pytest.mark.promise("one-clock")
@pytest.mark.parametrize("name", CAPTURE_ORDER)
def test_a_step_read_now_among_saved_ones_is_refused_whatever_this_clock_says(name: str) -> None:
    """It was read last; this host's clock is behind, so that its time fits all the same."""
    saved = {one: stamp for one, stamp in BY_EDGE9.items() if one != name}
    with pytest.raises(RefusedError, match="the clocks of two hosts"):
        World(stamps=saved, now=RIGHT_TIMES[name].started_at).capture()
    of_this_host = {one: StepStamp(stamp.step, "edge") for one, stamp in saved.items()}
    assert World(stamps=of_this_host, now=RIGHT_TIMES[name].started_at).capture().restless is None, "one clock"


@pytest.mark.promise("listing-may-have-its-own-clock")
@pytest.mark.parametrize("host", ["other", None, FILE_SYSTEM])
def test_a_saved_listing_is_read_before_all_that_is_read_now(host: str | None) -> None:
    """So its own clock has no say about the order."""
    assert World(stamps={"files": StepStamp(CaptureStep("files", 5, 6), host)}).capture().restless is None


@pytest.mark.promise("listing-may-have-its-own-clock")
def test_an_image_of_the_file_system_goes_with_an_export() -> None:
    image = StepStamp(CaptureStep("files", 5, 5), FILE_SYSTEM)
    assert World(stamps={**BY_EDGE9, "files": image}).capture().snapshot.clock_host == "edge9"
    later = StepStamp(CaptureStep("files", 11, 11), FILE_SYSTEM)
    with pytest.raises(RefusedError, match="'wal_directories' started at"):
        World(stamps={**BY_EDGE9, "files": later}).capture()
