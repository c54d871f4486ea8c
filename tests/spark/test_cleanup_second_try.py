"""What a clean-up job leaves behind does not stand in the way of the next one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from pipelines.cleanup.holder import LeaseHolder
from pipelines.cleanup.quarantine import Quarantine
from pipelines.cleanup.request import CleanupPorts
from pipelines.common.errors import UnavailableError
from tests.labs.cleanup.on_disk import CLUSTER, RUN, Lab, NightOver
from tests.labs.small_cluster import D1, H1, archived, group, row, wal, with_cells

pytestmark = pytest.mark.long


@pytest.fixture
def lab(night_over: NightOver) -> Lab:
    """A night is over."""
    return night_over.lab(Lab)


@pytest.fixture
def cleaned(night_over: NightOver) -> Lab:
    """Its list was cleaned: the files rest."""
    return night_over.cleaned(Lab)


@pytest.mark.promise("purge-looks-once-more")
def test_what_purge_refused_is_purged_once_nobody_needs_it(cleaned: Lab) -> None:
    as_it_was, needed = cleaned.made, archived(D1, 1, 64).path
    cleaned.changes(with_cells(as_it_was, row(f"1-{H1}/{D1}", group(D1), wal(D1, 1), 0)))
    assert cleaned.purge(execute=True, before_grace="disk full").exit_code == 0
    assert set(cleaned.resting()) == {needed}
    cleaned.changes(as_it_was)
    (waiting,) = cleaned.purge(execute=True).result["runs"]  # type: ignore[misc]
    assert waiting["status"] == "WAITING", "the grace of what was left goes on"
    (done,) = cleaned.purge(execute=True, before_grace="disk full").result["runs"]  # type: ignore[misc]
    assert (done["done_files"], done["left_files"]) == (1, 0)
    assert cleaned.resting() == {}
    assert cleaned.outcomes()[needed] == "PURGED"


@dataclass
class Overtaken:
    """A store whose holder sleeps past its lease just before a call about files of `oldWALs`: another takes the run."""

    inner: Any
    quarantine: Quarantine
    at: str
    lease_expires: Callable[[], None]
    takes_over: bool = True

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the store has
        return getattr(self.inner, name)

    def make_directories(self, uris: list[str]) -> None:
        self._sleep("make_directories", uris)
        self.inner.make_directories(uris)

    def delete(self, uris: list[str]) -> list[str | None]:
        self._sleep("delete", uris)
        return self.inner.delete(uris)  # type: ignore[no-any-return]

    def _sleep(self, call: str, uris: list[str]) -> None:
        if call == self.at and self.takes_over and any("/oldWALs" in uri for uri in uris):
            self.takes_over = False
            self.lease_expires()
            other = LeaseHolder(self.inner, self.quarantine, "another job", 1)
            other.__enter__()
            assert other.take_run(RUN) is not None


def overtaken(lab: Lab, at: str) -> None:
    """From now on."""
    home = Quarantine(f"file://{lab.root}/quarantine", CLUSTER)

    def changed(ports: CleanupPorts) -> CleanupPorts:
        return replace(ports, store=Overtaken(ports.store, home, at, lab.lease_expires))  # type: ignore[arg-type]

    lab.changed = changed


@pytest.mark.promise("holder-that-overslept-does-nothing")
@pytest.mark.deep
def test_a_holder_that_slept_cannot_make_its_directory_anew_and_go_on(lab: Lab) -> None:
    before = lab.home()
    overtaken(lab, "make_directories")
    with pytest.raises(UnavailableError, match=r"lease \d+ expired and another job holds lease \d+"):
        lab.clean(execute=True)
    assert lab.home() == before
    lab.changed = lambda ports: ports
    lab.lease_expires()
    assert lab.clean(resume=True).result["done_files"] == 4
    assert lab.restore().result["done_files"] == 4
    assert lab.home() == before


@pytest.mark.deep
def test_a_purge_that_slept_does_not_say_that_it_deleted(cleaned: Lab) -> None:
    """What it finds gone lies in the directory of the next holder."""
    overtaken(cleaned, "delete")
    overslept = cleaned.purge(execute=True, before_grace="disk full")
    assert overslept.exit_code == 4
    assert "expired and another job holds lease" in overslept.text
    assert len(cleaned.resting()) == 4
    assert set(cleaned.outcomes().values()) == {"MOVED"}
    cleaned.changed = lambda ports: ports
    cleaned.lease_expires()
    (done,) = cleaned.purge(execute=True, before_grace="disk full").result["runs"]  # type: ignore[misc]
    assert (done["done_files"], done["left_files"]) == (4, 0)
