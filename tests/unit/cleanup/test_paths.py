"""The guard on paths, and what a file system's refusals mean for a call about many files."""

import posixpath
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.cleanup.paths import check_paths, check_within, folders_above, parse_uri, refuse_outside
from pipelines.cleanup.stores.store_failures import NOT_TRIED, Failure, outcomes, parse_failure
from pipelines.cleanup.stores.wal_guard import WalGuard
from pipelines.common.errors import RefusedError, UnavailableError, UsageError
from pipelines.decide.spark.summary import EMPTY_OR_DOTS_OR_CONTROL

OLD, QUARANTINE = "hdfs://ns1/hbase/oldWALs", "hdfs://ns1/walsafe/quarantine"
WITHIN = (OLD, QUARANTINE)
SPEAKABLE = st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters="/")
NAMES = st.text(SPEAKABLE, min_size=1, max_size=12).filter(lambda name: name not in {".", ".."})
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
# what a path is made of when somebody tries to get out
PARTS = st.sampled_from(["", ".", "..", "hbase", "oldWALs", "oldWALs2", "walsafe", "quarantine", "a%2Cb", "x\ny", "é"])
URIS = st.builds(
    lambda scheme, authority, parts: f"{scheme}:{authority}/{'/'.join(parts)}",
    st.sampled_from(["hdfs", "HDFS", "file", "viewfs"]),
    st.sampled_from(["//ns1", "//ns2", "//ns1:8020", "//", ""]),
    st.lists(PARTS, max_size=7),
)


@given(directory=st.sampled_from(WITHIN), path=PATHS)
def test_whatever_lies_inside_passes(directory: str, path: str) -> None:
    refuse_outside(f"{directory}/{path}", WITHIN)
    refuse_outside(f"{directory}/{path}", [f"{directory}/"])


@pytest.mark.promise("nothing-else-is-touched")
@given(uri=URIS)
def test_nothing_else_passes(uri: str) -> None:
    path = uri.partition(":")[2].removeprefix("//ns1")
    inside = any(
        posixpath.normpath(path) == path and path.startswith(f"{folder.removeprefix('hdfs://ns1')}/")
        for folder in WITHIN
    )
    if uri.startswith("hdfs://ns1/") and inside and path.isprintable():
        refuse_outside(uri, WITHIN)
    else:
        with pytest.raises(RefusedError):
            refuse_outside(uri, WITHIN)


@pytest.mark.promise("nothing-else-is-touched")
@given(st.lists(st.one_of(st.builds("{}/{}".format, st.sampled_from(WITHIN), PARTS), URIS), max_size=6))
def test_of_many_paths_one_that_would_not_pass_alone_is_refused(uris: list[str]) -> None:
    def check(uri: str) -> None:
        refuse_outside(uri, WITHIN)

    alone = [_refusal(check, uri) for uri in uris]
    assert _refusal(lambda some: check_paths(some, check), uris) == next(filter(None, alone), None)


def test_each_directory_is_asked_about_once() -> None:
    asked: list[str] = []
    check_paths([f"{OLD}/a", f"{OLD}/b", f"{QUARANTINE}/a", f"{OLD}/c/a", f"{QUARANTINE}/b"], asked.append)
    assert asked == [f"{OLD}/a", f"{QUARANTINE}/a", f"{OLD}/c/a"]


def _refusal(check: Callable[[Any], None], argument: object) -> str | None:
    try:
        check(argument)
    except RefusedError as error:
        return str(error)
    return None


@pytest.mark.promise("nothing-else-is-touched")
@pytest.mark.parametrize(
    ("uri", "words"),
    [
        (OLD, "outside"),
        (f"{OLD}/", "element"),
        (f"{OLD}2/a", "outside"),
        (f"{OLD}/../data/a", "'..'"),
        (f"{OLD}/./a", "'..'"),
        (f"{OLD}//a", "empty"),
        (f"{OLD}/a/", "empty"),
        ("hdfs://ns2/hbase/oldWALs/a", "outside"),
        ("hdfs://ns1:8020/hbase/oldWALs/a", "outside"),
        ("viewfs://ns1/hbase/oldWALs/a", "outside"),
        ("/hbase/oldWALs/a", "full URI"),
        ("oldWALs/a", "full URI"),
        ("hdfs://ns1", "full URI"),
        (f"{OLD}/a\nb", "control"),
        (f"{OLD}/a\x7f", "control"),
        (f"{OLD}/a\u2028", "control"),
        (f"{OLD}/a\udc80", "control"),
    ],
)
def test_ways_out_are_refused(uri: str, words: str) -> None:
    with pytest.raises(RefusedError, match=words):
        refuse_outside(uri, WITHIN)


def test_the_gate_and_the_guard_refuse_the_same_characters() -> None:
    """Else a list could have a file that stops every job of its run after its intent was written."""
    java = re.sub(r"\\x\{(\w+)\}", lambda match: chr(int(match[1], 16)), EMPTY_OR_DOTS_OR_CONTROL)
    gate = re.compile(java.replace(r"\z", r"\Z"))
    differing = []
    for character in (chr(code) for code in range(0x10000) if not 0xD800 <= code <= 0xDFFF):
        path = f"oldWALs/a{character}b"
        try:
            parse_uri(f"hdfs://ns1/hbase/{path}")
        except RefusedError:
            passes = False
        else:
            passes = True
        if passes != (gate.search(path) is None):
            differing.append(character)
    assert differing == []


def test_without_directories_nothing_passes() -> None:
    with pytest.raises(RefusedError, match=r"\(nothing\)"):
        refuse_outside(f"{OLD}/a", ())


def test_names_are_not_decoded() -> None:
    assert parse_uri(f"{OLD}/a%2Cb%2F..") == ("hdfs", "ns1", "/hbase/oldWALs/a%2Cb%2F..")
    assert parse_uri("file:/data/x") == parse_uri("file:///data/x") == ("file", "", "/data/x")


@pytest.mark.parametrize("directory", ["hdfs://ns1/", "hdfs://ns2/a", "file:/hbase", "file:///"])
def test_directories_of_a_store_are_below_its_own_root(directory: str) -> None:
    with pytest.raises(UsageError):
        check_within([directory], "hdfs://ns1/hbase")


def test_a_slash_at_the_end_of_a_directory_makes_no_difference() -> None:
    assert check_within([f"{OLD}/", QUARANTINE], "hdfs://ns1/hbase/") == WITHIN


@given(path=PATHS, scheme=st.sampled_from(["hdfs://ns1", "file:", "file://"]))
def test_every_folder_above_is_named_once(path: str, scheme: str) -> None:
    parts = path.split("/")
    expected = [f"{scheme}/top/" + "/".join(parts[:count]) for count in range(1, len(parts))]
    uri = f"{scheme}/top/{path}"
    assert folders_above([uri, uri]) == sorted([f"{scheme}/top", *expected])


def test_a_remote_exception_counts_by_what_it_carries() -> None:
    text = "org.apache.hadoop.ipc.RemoteException(org.apache.x.SafeModeException): Name node is in safe mode.\nhint"
    failure = parse_failure(text)
    assert failure.text == "SafeModeException: Name node is in safe mode."
    assert failure.unavailable
    assert parse_failure("org.x.FSPermissionChecker$TraverseAccessControlException: no").denied
    assert parse_failure("java.nio.file.NoSuchFileException: /a").gone
    assert parse_failure("java.lang.StackOverflowError").text == "StackOverflowError"


SAFE, DENIED, EXISTS = Failure("SafeModeException", "x"), Failure("AccessControlException", "x"), Failure("E", "x")


def test_what_concerns_all_is_raised_when_nothing_succeeded() -> None:
    with pytest.raises(UnavailableError, match="moving: SafeModeException"):
        outcomes([parse_failure(NOT_TRIED), SAFE, EXISTS], "moving")
    with pytest.raises(UsageError, match="AccessControlException: x; check the user"):
        outcomes([DENIED, DENIED], "moving")


def test_one_success_makes_every_failure_its_own() -> None:
    assert outcomes([SAFE, None], "moving") == ["SafeModeException: x", None]
    assert outcomes([DENIED, None], "moving") == ["AccessControlException: x", None]
    assert outcomes([DENIED, EXISTS], "moving") == ["AccessControlException: x", "E: x"]
    assert outcomes([], "moving") == []


def test_a_folder_that_was_not_tried_any_more_is_not_the_reason() -> None:
    refused = parse_failure("java.net.ConnectException: refused")
    guard = WalGuard(
        "hdfs://n/hbase",
        ["hdfs://n/hbase/oldWALs"],
        lambda uris: [parse_failure(NOT_TRIED)] * (len(uris) - 1) + [refused],
    )
    with pytest.raises(UnavailableError, match="ConnectException"):
        guard.allow(["hdfs://n/hbase/oldWALs/a/b"])
