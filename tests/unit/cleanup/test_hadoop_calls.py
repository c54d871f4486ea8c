"""Errors of py4j while a directory is listed; HDFS itself is real: tests/integration/test_wal_store.py."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError, Py4JNetworkError

from pipelines.cleanup.stores.file_calls import FileCallError
from pipelines.cleanup.stores.hadoop_calls import HadoopCalls
from pipelines.common.errors import UnavailableError

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
    with pytest.raises(UnavailableError, match="did not answer"):
        list(listing(Py4JNetworkError("Answer from Java side is empty")).pages(URI))


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
