"""How a WAL's bytes reach its reader, and that a stream which breaks off is never taken for a short file."""

from pathlib import Path

import pytest

from pipelines.hbase.wal_format.reader import WalEnd
from pipelines.queues.wals.inspected import WalAnswer, WalTask, inspect_wal
from pipelines.queues.wals.rows import GONE, UNREADABLE
from tests.labs.wal_files import Edit, ends, wal

EDITS = (Edit("t"), Edit("ns:u"))
CONF = "<?xml version='1.0'?><configuration><property><name>fs.defaultFS</name><value>file:///</value></property>"
CONF += "</configuration>"
NAME = "h1.example.org%2C16020%2C5.[17]*"
"""Percent signs are no escapes, and nothing else is a pattern."""


def ask(*uris: str) -> WalAnswer:
    return inspect_wal(WalTask(uris, frozenset({ends(*EDITS)[1]})), CONF)


@pytest.fixture
def there(tmp_path: Path) -> Path:
    file = tmp_path / NAME
    file.write_bytes(wal(*EDITS))
    return file


@pytest.mark.parametrize("scheme", ["file://", "file:", ""], ids=["local", "local, one slash", "Hadoop"])
def test_a_file_is_read_to_its_end(there: Path, scheme: str) -> None:
    answer = ask(f"{scheme}{there}")
    assert answer.problem is None
    assert answer.contents is not None
    assert (answer.contents.ending, answer.contents.length) == (WalEnd.CLOSED, len(wal(*EDITS)))
    assert answer.contents.boundaries == {ends(*EDITS)[1]}


@pytest.mark.parametrize("scheme", ["file://", ""], ids=["local", "Hadoop"])
def test_what_is_not_there_is_looked_for_elsewhere(there: Path, scheme: str) -> None:
    nowhere = f"{scheme}{there.parent}/nowhere/{NAME}"
    assert ask(nowhere, f"{scheme}{there}").contents is not None
    gone = ask(nowhere)
    assert (gone.contents, gone.fault) == (None, GONE)


@pytest.mark.parametrize("scheme", ["file://", ""], ids=["local", "Hadoop"])
def test_what_cannot_be_read_is_no_empty_wal(there: Path, scheme: str) -> None:
    answer = ask(f"{scheme}{there.parent}")
    assert (answer.contents, answer.fault) == (None, UNREADABLE)
    assert answer.problem is not None
    assert "irectory" in answer.problem


def test_an_executor_without_java_says_so(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(there.parent / "no-java"))
    answer = ask(str(there))
    assert answer.fault == UNREADABLE
    assert answer.problem is not None
    assert "java did not start" in answer.problem


def test_a_reader_that_stops_early_ends_the_stream(there: Path) -> None:
    there.write_bytes(b"no WAL" * 10_000_000)
    answer = ask(str(there))
    assert answer.contents is not None
    assert answer.contents.ending is WalEnd.CORRUPT
