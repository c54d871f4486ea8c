"""How a WAL's bytes reach its reader, and that a stream which breaks off is never taken for a short file."""

import gc
import io
import os
import shutil
import signal
import struct
import zlib
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import py4j.java_gateway
import py4j.protocol
import pyspark
import pytest

from pipelines.files import executor_streams
from pipelines.files.executor_streams import NotReadError, open_file, open_in_jvm, task_jvm
from pipelines.files.hadoop_jvm import HadoopJvm
from pipelines.hbase.wal_format.reader import WalEnd
from pipelines.hbase.wal_names import parse_wal_name
from pipelines.queues.wals.executors import inspect_wal, possible_uris
from pipelines.queues.wals.rows import GONE, UNREADABLE, InspectedFile
from tests.labs.wal_files import Edit, ends, wal

EDITS = (Edit("t"), Edit("ns:u"))
CONF = "<?xml version='1.0'?><configuration><property><name>fs.defaultFS</name><value>file:///</value></property>"
CONF += "</configuration>"
NAME = "h1.example.org%2C16020%2C5.[17]*"
"""Percent signs are no escapes, and nothing else is a pattern."""


def ask(*uris: str, conf: str = CONF) -> InspectedFile:
    return inspect_wal(listed("oldWALs"), uris, frozenset({ends(*EDITS)[1]}), conf)


def listed(directory: str) -> InspectedFile:
    name = parse_wal_name("h1%2C16020%2C5.17")
    assert name is not None
    return InspectedFile(f"{directory}/{name.name}", name, 1)


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


@pytest.mark.parametrize(
    ("directory", "places"),
    [
        ("WALs/h1,16020,5", ["WALs/h1,16020,5", "WALs/h1,16020,5-splitting", "oldWALs", "oldWALs/h1,16020,5"]),
        ("WALs/h1,16020,5-splitting", ["WALs/h1,16020,5-splitting", "oldWALs", "oldWALs/h1,16020,5"]),
        ("oldWALs", ["oldWALs"]),
    ],
)
def test_where_hbase_may_have_moved_a_wal_since(directory: str, places: list[str]) -> None:
    file = listed(directory)
    uris = possible_uris("hdfs://ns1/hbase", file)
    assert list(uris) == [f"hdfs://ns1/hbase/{place}/{file.name.name}" for place in places]


@pytest.mark.parametrize("scheme", ["file://", ""], ids=["local", "Hadoop"])
def test_what_cannot_be_read_is_no_empty_wal(there: Path, scheme: str) -> None:
    answer = ask(f"{scheme}{there.parent}")
    assert (answer.contents, answer.fault) == (None, UNREADABLE)
    assert answer.problem is not None
    assert "irectory" in answer.problem


@pytest.fixture(autouse=True)
def as_on_an_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the driver, PySpark asks Spark's JVM about the exceptions of every JVM."""
    monkeypatch.setattr(py4j.java_gateway, "get_return_value", py4j.protocol.get_return_value)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("program", ["nothing", "true"], ids=["no program", "it ends at once"])
def test_an_executor_without_java_says_so(there: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    home = there.parent / "home"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").symlink_to(shutil.which(program) or "nothing")
    monkeypatch.setenv("JAVA_HOME", str(home))
    answer = ask(str(there), conf=f"{CONF}<!-- a JVM of its own, {program} -->")
    gc.collect()  # py4j does not close the pipes of such a process
    assert answer.fault == UNREADABLE
    assert answer.problem is not None
    assert "java did not start" in answer.problem


def test_a_spark_without_hadoop_says_so(there: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
    (tmp_path / "jars" / jar.name).symlink_to(jar)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setattr(executor_streams, "find_spec", lambda _: None)
    answer = ask(str(there), conf=f"{CONF}<!-- without Hadoop -->")
    assert answer.fault == UNREADABLE
    assert answer.problem is not None
    assert "did not start with Hadoop's client" in answer.problem


class Refusing:
    """A JVM that answers until one of its calls, and from then on refuses every connection."""

    conf = None

    def __init__(self, refused: str | None = None) -> None:
        self._refused = refused
        self.kept: io.FileIO | None = None
        hadoop = SimpleNamespace(io=SimpleNamespace(IOUtils=self))
        self.view = SimpleNamespace(
            java=SimpleNamespace(io=self), org=SimpleNamespace(apache=SimpleNamespace(hadoop=hadoop))
        )

    def _answers(self, call: str) -> None:
        if call == self._refused:
            raise py4j.protocol.Py4JNetworkError("connection refused")

    def path(self, _uri: str) -> Any:  # noqa: ANN401 - Java's
        return SimpleNamespace(getFileSystem=lambda _conf: self)

    def open(self, _path: object) -> io.BytesIO:
        self._answers("open")
        return io.BytesIO(b"12345" * 100_000)

    def FileOutputStream(self, pipe: str) -> io.FileIO:  # noqa: N802 - Java's
        self._answers("FileOutputStream")
        self.kept = io.FileIO(pipe, "w")
        return self.kept

    def copyBytes(self, source: io.BytesIO, target: io.FileIO, piece: int, close: bool) -> None:  # noqa: N802 - Java's
        self._answers("copyBytes")
        assert close
        with target, suppress(BrokenPipeError):
            while block := source.read(piece):
                while block:
                    block = block[target.write(block) :]


@pytest.mark.parametrize("refused", ["open", "FileOutputStream", "copyBytes"])
def test_a_jvm_that_refuses_at_once_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, refused: str) -> None:
    monkeypatch.setattr(executor_streams, "_LOOK_EVERY_MS", 10)
    for _ in range(20):
        jvm = Refusing(refused)
        with (
            pytest.raises(NotReadError, match=r"Hadoop's client did not answer \(connection refused"),
            open_in_jvm("hdfs://ns1/x", cast("HadoopJvm", jvm)) as read,
        ):
            read(1)
        if jvm.kept is not None:
            jvm.kept.close()


@pytest.mark.parametrize("wanted", [0, 1, 499_999, 500_000])
def test_a_reader_may_leave_a_stream_where_it_likes(wanted: int) -> None:
    for _ in range(20):
        with open_in_jvm("hdfs://ns1/x", cast("HadoopJvm", Refusing())) as read:
            left = wanted
            while left:
                left -= len(read(left))
    with open_in_jvm("hdfs://ns1/x", cast("HadoopJvm", Refusing())) as read:
        assert b"".join(iter(lambda: read(1 << 16), b"")) == b"12345" * 100_000


def test_a_damage_in_the_middle_is_no_end(there: Path) -> None:
    """Hadoop finds it by the checksums that it keeps beside a local file, 512 bytes each."""
    content = there.read_bytes() + wal(*[Edit("t")] * 20_000)
    there.write_bytes(content)
    sums = [zlib.crc32(content[at : at + 512]) for at in range(0, len(content), 512)]
    beside = there.with_name(f".{NAME}.crc")
    beside.write_bytes(struct.pack(f">4sI{len(sums)}I", b"crc\0", 512, *sums))
    assert ask(str(there)).contents is not None
    sums[len(sums) // 2] ^= 1
    beside.write_bytes(struct.pack(f">4sI{len(sums)}I", b"crc\0", 512, *sums))
    answer = ask(str(there))
    assert (answer.contents, answer.fault) == (None, UNREADABLE)
    assert answer.problem is not None
    assert "Checksum error" in answer.problem


def test_a_jvm_that_is_killed_loses_one_file(there: Path) -> None:
    conf = f"{CONF}<!-- killed -->"
    there.write_bytes(b"1" * 50_000_000)
    with open_file(str(there), conf) as read:
        assert read(10)
        os.kill(task_jvm(conf).view.java.lang.ProcessHandle.current().pid(), signal.SIGKILL)
        with pytest.raises(NotReadError, match="did not answer"):
            list(iter(lambda: read(1 << 20), b""))
    there.write_bytes(wal(*EDITS))
    assert ask(str(there), conf=conf).contents is not None


def test_a_reader_that_stops_early_ends_the_stream(there: Path) -> None:
    there.write_bytes(b"no WAL" * 10_000_000)
    answer = ask(str(there))
    assert answer.contents is not None
    assert answer.contents.ending is WalEnd.CORRUPT
