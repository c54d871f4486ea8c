"""What a real HDFS seldom answers; the rest is in tests/integration/test_wal_store.py."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError, Py4JNetworkError

from pipelines.cleanup.ports import Move
from pipelines.cleanup.stores.file_calls import FileCallError
from pipelines.cleanup.stores.hadoop_calls import HadoopCalls
from pipelines.cleanup.stores.store_failures import Failure
from pipelines.common.conditions import Condition
from pipelines.common.errors import UnavailableError
from pipelines.files.file_status import FileStatus

URI = "hdfs://ns1/hbase/oldWALs"


@dataclass
class JavaException:
    """What py4j keeps of an exception of the JVM."""

    text: str
    cause: Any = None
    _target_id: str = "o1"
    _gateway_client: Any = None

    def toString(self) -> str:  # noqa: N802 - Java's name
        return self.text

    def getCause(self) -> Any:  # noqa: N802, ANN401 - Java's name
        return self.cause


def listing(error: Exception) -> HadoopCalls:
    """Calls on a file system whose listing ends with the error after its first page."""

    class Broken:
        def pages(self, _uri: str, _page: int) -> Iterator[list[object]]:
            yield []
            raise error

    calls = object.__new__(HadoopCalls)
    calls._listing = Broken()  # type: ignore[assignment]
    return calls


def test_a_jvm_that_is_gone_is_unavailable() -> None:
    with pytest.raises(UnavailableError, match="did not answer") as raised:
        list(listing(Py4JNetworkError("Answer from Java side is empty")).pages(URI))
    assert raised.value.condition is Condition.SPARK_ENDED


def test_a_key_file_that_is_missing_here_does_not_end_a_listing_as_complete() -> None:
    cause = JavaException("java.io.FileNotFoundException: /etc/walsafe.keytab")
    wrapped = JavaException("java.io.IOException: Failed on local exception: /etc/walsafe.keytab", cause)
    with pytest.raises(FileCallError) as refused:
        list(listing(Py4JJavaError("hasNext", wrapped)).pages(URI))
    assert not refused.value.failure.gone
    vanished = JavaException("java.io.FileNotFoundException: File /hbase/oldWALs does not exist")
    with pytest.raises(FileCallError) as refused:
        list(listing(Py4JJavaError("hasNext", vanished)).pages(URI))
    assert refused.value.failure.gone


@dataclass
class Java:
    """The Java side of the calls: each path is a file and each call succeeds, if `answers` says nothing else.

    After an answer which says that nobody answers, no more are given.
    """

    answers: Mapping[str, str]
    asked: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    def statuses(self, _files: object, paths: str, unavailable: str) -> str:
        self.asked += paths.split("\0")
        return self._texts(paths.split("\0"), unavailable, "+f,1,1")

    def renames(self, _context: object, ends: str, unavailable: str) -> str:
        sources = ends.split("\0")[::2]
        self.changed += sources
        return self._texts([f"rename {source}" for source in sources], unavailable)

    def deleteFiles(self, _files: object, paths: str, _other: str, unavailable: str) -> str:  # noqa: N802 - Java's name
        self.changed += paths.split("\0")
        return self._texts([f"delete {path}" for path in paths.split("\0")], unavailable)

    def _texts(self, calls: Sequence[str], unavailable: str, usual: str = "+") -> str:
        texts = ""
        for call in calls:
            text = self.answers.get(call, usual)
            texts += f"{text}\0"
            if text.startswith("-") and re.search(unavailable, text):
                break
        return texts


def answering(**answers: str) -> tuple[HadoopCalls, Java]:
    calls, java = object.__new__(HadoopCalls), Java(answers)
    calls._root, calls._java, calls._files, calls._context = URI, java, None, None  # type: ignore[assignment]
    return calls, java


def moves(*sources: str) -> list[Move]:
    return [Move(source, f"to/{source}") for source in sources]


def kinds(answers: Sequence[Failure | None]) -> list[str | None]:
    return [answer and answer.kind for answer in answers]


def test_nothing_is_renamed_if_a_source_could_not_be_looked_at() -> None:
    calls, java = answering(b="-java.net.ConnectException: refused")
    assert kinds(calls.rename_files(moves("a", "b", "c"))) == ["NotTried", "ConnectException", "NotTried"]
    assert java.changed == []


def test_what_is_no_file_stays_and_each_answer_is_of_its_move() -> None:
    calls, java = answering(a="+d,0,1", **{"rename c": "-java.io.FileNotFoundException: c"})
    assert kinds(calls.rename_files(moves("a", "b", "c"))) == ["NotAFile", None, "FileNotFoundException"]
    assert java.changed == ["b", "c"]


def test_a_missing_file_does_not_end_the_calls_whatever_its_path_is() -> None:
    calls, java = answering(b="-java.io.FileNotFoundException: File does not exist: /hbase/oldWALs/Standby/b")
    assert kinds(calls.rename_files(moves("a", "b", "c"))) == [None, "FileNotFoundException", None]
    assert java.changed == ["a", "c"]


def test_after_a_rename_that_nobody_answers_no_other_is_tried() -> None:
    calls, _ = answering(**{"rename b": "-java.net.ConnectException: refused"})
    assert kinds(calls.rename_files(moves("a", "b", "c"))) == [None, "ConnectException", "NotTried"]


def test_each_answer_is_of_the_file_that_is_deleted() -> None:
    calls, java = answering(**{"delete b": "-java.io.FileNotFoundException: b"})
    assert kinds(calls.delete_files(["a", "b", "c"])) == [None, "FileNotFoundException", None]
    assert java.changed == ["a", "b", "c"]
    with pytest.raises(FileCallError, match="FileNotFoundException"):
        calls.delete_file("b")
    with pytest.raises(FileCallError, match="NotAFile"):
        answering(a="+d,0,1")[0].rename_file("a", "to/a")


@pytest.mark.parametrize(("files", "is_listed"), [(49, False), (50, True)])
def test_a_listing_answers_for_many_files_of_one_directory(files: int, is_listed: bool) -> None:
    class Listing:
        def look(self, directory: str, names: Sequence[str]) -> list[FileStatus | None] | None:
            return None if directory == "far-apart" else [None, *(FileStatus("", True, False, 2, 2) for _ in names[1:])]

    calls, java = answering()
    calls._listing = Listing()  # type: ignore[assignment]
    gone, *others = calls.statuses([f"near/w{number}" for number in range(files)])
    assert (isinstance(gone, Failure) and gone.gone) == is_listed
    assert {other.length for other in others if isinstance(other, FileStatus)} == {2 if is_listed else 1}
    assert len(java.asked) == (0 if is_listed else files)
    found = calls.statuses([f"far-apart/w{number}" for number in range(files)])
    assert [one.length for one in found if isinstance(one, FileStatus)] == [1] * files
