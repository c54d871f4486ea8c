"""The directories of live servers, as a saved listing tells them."""

from collections.abc import Iterator

from pipelines.capture.sources.saved_listings import WatchedListing
from pipelines.files.file_batch import FileBatch
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.capture_clocks import StepStamp
from pipelines.snapshot.model import CaptureStep, WalDirectory

H1, H2 = "h1,16020,1", "h2,16020,2"


class Listing:
    """A saved listing in two batches."""

    def stamp(self, step: str) -> StepStamp | None:
        return StepStamp(CaptureStep(step, 1, 2), "edge")

    def files(self) -> Iterator[FileBatch]:
        yield FileBatch([f"oldWALs/{H1}.1", f"WALs/{H1}/w.1", f"WALs/{H2}-splitting/w.2"], [1, 2, 3], [10, 30, 20])
        yield FileBatch([f"WALs/{H1}/w.2", "WALs/stray", f"remoteWALs/{H2}/w"], [4, 5, 6], [20, 40, 50])


def test_servers_with_a_file_below_wals_are_told_and_nothing_is_left_out() -> None:
    watched = WatchedListing(Listing())
    assert watched.wal_directories() == ()
    assert watched.stamp("files") == StepStamp(CaptureStep("files", 1, 2), "edge")
    for _ in range(2):  # a step may be tried again
        assert list(watched.files()) == list(Listing().files())
        assert watched.wal_directories() == (
            WalDirectory(ServerName.parse(H1), 2, 30),
            WalDirectory(ServerName.parse(H2), 1, 20),
        )
