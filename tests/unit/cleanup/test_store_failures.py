"""What a file system's refusal means: for its own file, and for a call about many."""

import re

import pytest

from pipelines.cleanup.stores.store_failures import (
    NOT_TRIED,
    UNAVAILABLE,
    Failure,
    denied,
    failed,
    outcomes,
    parse_failure,
    raise_common,
    to_blame,
)
from pipelines.common.errors import UnavailableError, UsageError

GONE, DENIED = Failure("FileNotFoundException", "no such file"), Failure("AccessControlException", "not you")
CONNECT, QUOTA = Failure("ConnectException", "refused"), Failure("NSQuotaExceededException", "full")
UNTRIED = parse_failure(NOT_TRIED)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("java.io.FileNotFoundException: no such file", "FileNotFoundException", "no such file"),
        ("java.io.IOException", "IOException", ""),
        ("java.io.IOException: ", "IOException", ""),
        (" java.io.IOException:  first\nsecond\n", "IOException", "first"),
        ("org.a.Outer$InnerException: words", "InnerException", "words"),
        (
            "org.apache.hadoop.ipc.RemoteException(org.apache.hadoop.hdfs.server.namenode.SafeModeException): on",
            "SafeModeException",
            "on",
        ),
        ("RemoteException(StandbyException): a: b", "StandbyException", "a: b"),
        ("these are words\nof nobody", "IOException", "these are words"),
        (" \n \n these are words", "IOException", "these are words"),
        ("", "IOException", ""),
    ],
)
def test_the_words_of_an_exception(text: str, kind: str, message: str) -> None:
    assert parse_failure(text) == Failure(kind, message)


def test_a_failure_is_one_line_of_a_length_that_fits_a_table() -> None:
    assert GONE.text == "FileNotFoundException: no such file"
    assert Failure("IOException", "").text == "IOException"
    assert Failure("IOException", "x" * 1_000).text == f"IOException: {'x' * 387}"


@pytest.mark.parametrize(
    ("failure", "holds"),
    [
        (GONE, {"gone"}),
        (Failure("NoSuchFileException", ""), {"gone"}),
        (Failure("ParentNotDirectoryException", ""), {"gone"}),
        # its message names its path, which may have any word
        (Failure("FileNotFoundException", "File does not exist: hdfs://ns1/hbase/oldWALs/Standby/a"), {"gone"}),
        (Failure("ParentNotDirectoryException", "/hbase/Broken pipe/SafeMode (is not a directory)"), {"gone"}),
        (Failure("FileAlreadyExistsException", "/hbase/oldWALs/Connect/a already exists"), {"exists"}),
        (Failure("IOException", "FileNotFoundException: EOFException"), {"unavailable", "perhaps_done"}),
        (Failure("FileAlreadyExistsException", ""), {"exists"}),
        (Failure("AlreadyBeingCreatedException", ""), {"exists"}),
        (Failure("RecoveryInProgressException", ""), {"exists"}),
        (DENIED, {"denied"}),
        (Failure("AccessDeniedException", ""), {"denied"}),
        (Failure("TraverseAccessControlException", ""), {"denied"}),
        (Failure("SecurityException", ""), {"denied"}),
        (QUOTA, set()),
        (CONNECT, {"unavailable", "perhaps_done"}),
        (Failure("IOException", "Filesystem closed"), {"unavailable", "perhaps_done"}),
        (Failure("StandbyException", ""), {"unavailable", "perhaps_done"}),
        (Failure("SafeModeException", ""), {"unavailable"}),
        (Failure("RetriableException", "SafeModeException: on"), {"unavailable"}),
        (UNTRIED, {"unavailable"}),
        (Failure("NotTried", "Connect"), {"unavailable"}),
        (Failure("IOException", "Broken pipe"), {"perhaps_done"}),
        (Failure("HdfsError", "an answer of a proxy"), {"perhaps_done"}),
    ],
)
def test_what_a_failure_says_of_its_file(failure: Failure, holds: set[str]) -> None:
    asked = ("gone", "exists", "denied", "unavailable", "perhaps_done")
    assert {name for name in asked if getattr(failure, name)} == holds
    assert all(isinstance(getattr(failure, name), bool) for name in asked)


@pytest.mark.parametrize(
    ("answer", "ends"),
    [
        ("-java.net.ConnectException: refused", True),
        ("-org.apache.hadoop.ipc.RemoteException(org.apache.hadoop.ipc.StandbyException): a", True),
        ("-org.apache.hadoop.ipc.RetriableException: java.io.FileNotFoundException: a", True),
        ("-java.io.FileNotFoundException: File does not exist: /hbase/Standby/a", False),
        ("-org.apache.hadoop.ipc.RemoteException(org.apache.hadoop.fs.ParentNotDirectoryException): /Standby", False),
        ("-org.apache.hadoop.fs.FileAlreadyExistsException: rename destination /Standby/a already exists.", False),
    ],
)
def test_what_ends_the_calls_of_the_jvm_is_what_counts_as_unavailable(answer: str, *, ends: bool) -> None:
    assert (re.search(UNAVAILABLE, answer) is not None) == ends
    assert parse_failure(answer.removeprefix("-")).unavailable == ends


def test_a_call_fails_as_a_whole_where_nothing_was_done() -> None:
    with pytest.raises(UnavailableError, match=r"^moving: ConnectException: refused; solve this and try again$"):
        raise_common([GONE, UNTRIED, CONNECT, QUOTA], 4, "moving")
    with pytest.raises(UnavailableError, match="NotTried"):
        raise_common([GONE, UNTRIED], 2, "moving")
    with pytest.raises(UsageError, match=r"^moving: AccessControlException: not you; check the user and"):
        raise_common([DENIED, Failure("SecurityException", "nor you")], 2, "moving")


@pytest.mark.parametrize(
    ("failures", "asked"), [([], 0), ([], 2), ([CONNECT], 2), ([DENIED], 2), ([GONE, QUOTA], 2), ([DENIED, GONE], 2)]
)
def test_else_each_failure_is_its_own(failures: list[Failure], asked: int) -> None:
    raise_common(failures, asked, "moving")


def test_each_file_has_its_answer() -> None:
    assert outcomes([None, CONNECT, GONE], "moving") == [None, CONNECT.text, GONE.text]
    assert outcomes([None], "moving") == [None]
    assert outcomes([], "moving") == []
    with pytest.raises(UnavailableError, match=r"^moving: "):
        outcomes([CONNECT], "moving")


def test_the_cause_is_told_before_what_was_not_tried_for_it() -> None:
    assert to_blame([UNTRIED, CONNECT, GONE]) is CONNECT
    assert to_blame([UNTRIED, UNTRIED]) is UNTRIED


def test_the_error_of_one_call_says_whether_the_right_is_missing() -> None:
    assert isinstance(failed(DENIED, "reading"), UsageError)
    assert str(failed(DENIED, "reading")) == str(denied(DENIED, "reading"))
    for one in (GONE, CONNECT, QUOTA):
        error = failed(one, "reading")
        assert isinstance(error, UnavailableError)
        assert str(error).startswith(f"reading: {one.text}")
