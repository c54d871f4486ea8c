"""What the store makes of calls that end in an unexpected way; the file systems themselves are real in other tests."""

import time
from threading import Event

import pytest

from pipelines.cleanup.stores.wal_store import FileSystemWalStore
from pipelines.files.file_status import FileStatus

ROOT = "hdfs://ns1/hbase"
OLD = f"{ROOT}/oldWALs"
FILES = [f"{OLD}/{number}" for number in range(100)]


class Interrupted:
    """A file system on which the first deletion is interrupted while another is under way."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.under_way, self.interrupted = Event(), Event()

    def status(self, _uri: str) -> FileStatus:
        return FileStatus("", False, True, 0, 0)

    def delete_file(self, uri: str) -> None:
        self.begun.append(uri)
        if uri == FILES[0]:
            self.under_way.wait(60)
            self.interrupted.set()
            raise KeyboardInterrupt
        self.under_way.set()
        self.interrupted.wait(60)
        time.sleep(0.2)
        self.ended.append(uri)

    def close(self) -> None:
        pass


@pytest.mark.promise("nothing-else-is-touched")
def test_after_an_interruption_no_call_is_under_way_and_none_begins() -> None:
    calls = Interrupted()
    store = FileSystemWalStore(calls, ROOT, [OLD], threads=2)
    with pytest.raises(KeyboardInterrupt):
        store.delete(FILES)
    assert set(calls.ended) == set(calls.begun) - {FILES[0]}
    assert len(calls.begun) < 10
    store.close()
    assert len(calls.begun) < 10
