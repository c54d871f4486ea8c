"""Neither the quarantine nor the archive may lie where HBase's own cleaners look, whatever names they go by."""

import pytest

from pipelines.cleanup.overlap import overlap
from pipelines.cleanup.quarantine import check_hbase_root, check_quarantine
from pipelines.common.errors import UsageError

WALS, ROOT = "hdfs://ns1/wals", "hdfs://ns1/hbase"
QUARANTINE = "hdfs://ns1/walsafe/quarantine"

SAME_OR_INSIDE = {
    "the same": ROOT,
    "inside": f"{ROOT}/archive/walsafe",
    "another nameservice, maybe another name": "hdfs://nn1.example.org:8020/hbase/archive/walsafe",
    "no authority": "hdfs:///hbase/x",
    "no scheme": "/hbase/x",
    "over HTTP": "webhdfs://nn1.example.org:9870/hbase/x",
    "a scheme that may stand for any": "viewfs://fleet/hbase/x",
    "slashes and dots": "hdfs://ns1//hbase/./x/",
    "a dot before it": "hdfs://ns1/./hbase/x",
    "scheme in capitals": "HDFS://ns1/hbase/x",
    "above": "hdfs://other",
}
BESIDE = {
    "another directory": QUARANTINE,
    "its name is longer": f"{ROOT}2/x",
    "its name is shorter": "hdfs://ns1/hbas",
    "elsewhere by another name": "hdfs://cold/walsafe/hbase",
    "another kind of store": "s3a://cold/hbase/x",
    "this machine": "file:/hbase/x",
}


@pytest.mark.parametrize("uri", SAME_OR_INSIDE.values(), ids=SAME_OR_INSIDE)
def test_what_may_be_the_same_place_overlaps(uri: str) -> None:
    assert overlap(uri, ROOT)
    assert overlap(ROOT, uri)


@pytest.mark.parametrize("uri", BESIDE.values(), ids=BESIDE)
def test_what_cannot_be_the_same_place_does_not(uri: str) -> None:
    assert not overlap(uri, ROOT)
    assert not overlap(ROOT, uri)


def test_a_bucket_is_a_store_of_its_own() -> None:
    """`hbase.rootdir` in an object store, maybe the whole bucket, is the usual reason for an `hbase.wal.dir`."""
    assert not overlap("s3a://cold/walsafe", "s3a://hbase/")
    assert overlap("s3n://hbase/walsafe", "s3a://hbase")
    assert not overlap("gs://cold/x", "s3a://cold/x")
    assert not overlap("gs://cold/x", "gs://hbase/x")
    assert overlap("gs://hbase/x", "gs://hbase/x")
    for anywhere in ("/x", "s3a:/x", "s3a:///x", "viewfs://fleet/x"):
        assert overlap("s3a://cold/x", anywhere), "without a bucket it may be in any"
        assert overlap(anywhere, "s3a://cold/x")
    assert not overlap(QUARANTINE, "s3a://hbase/")


@pytest.mark.parametrize("uri", ["hdfs://ns1/walsafe/../hbase", "hbase", "hdfs:", "hdfs:hbase", ""])
def test_what_cannot_be_compared_is_refused(uri: str) -> None:
    with pytest.raises(
        UsageError, match=r"clean\.archive and hbase\.rootdir cannot be compared: .* is not a full path"
    ):
        check_hbase_root(QUARANTINE, uri, ROOT)
    with pytest.raises(UsageError, match=r"clean\.quarantine and hbase\.rootdir cannot be compared"):
        check_hbase_root(QUARANTINE, None, uri)


ARCHIVE = "hdfs://cold/walsafe/archive"


def test_places_beside_each_other_are_taken() -> None:
    check_quarantine(QUARANTINE, ARCHIVE, WALS)
    check_quarantine(QUARANTINE, None, WALS)
    check_hbase_root(QUARANTINE, ARCHIVE, ROOT)
    check_hbase_root(QUARANTINE, None, ROOT)


@pytest.mark.promise("quarantine-is-out-of-hbases-reach")
@pytest.mark.parametrize(
    ("quarantine", "archive", "words"),
    [
        ("hdfs://ns2/walsafe/quarantine", None, "is not on the file system of wal_root"),
        ("webhdfs://ns1/walsafe/quarantine", None, "is not on the file system of wal_root"),
        (f"{WALS}/q", None, r"clean\.quarantine .*/wals/q and wal_root .*/wals overlap: one contains the other"),
        ("hdfs://ns1/", None, r"clean\.quarantine .* and wal_root .* overlap: one contains the other"),
        (QUARANTINE, f"{WALS}/oldWALs/a", r"clean\.archive .* and wal_root .* overlap: one contains the other"),
        (QUARANTINE, "/wals", r"clean\.archive .* and wal_root .* overlap: one contains the other"),
        (QUARANTINE, QUARANTINE, r"clean\.archive .* and clean\.quarantine .* overlap: one contains the other"),
        (QUARANTINE, f"{QUARANTINE}/a", r"clean\.archive .* and clean\.quarantine .* overlap: one contains the other"),
        (
            QUARANTINE,
            "hdfs://ns1/walsafe",
            r"clean\.archive .* and clean\.quarantine .* overlap: one contains the other",
        ),
    ],
)
def test_places_that_a_cleaner_may_reach_are_refused(quarantine: str, archive: str | None, words: str) -> None:
    with pytest.raises(UsageError, match=words) as refused:
        check_quarantine(quarantine, archive, WALS)
    assert "run restore" not in str(refused.value), "it makes the same check"
    assert "and wal_root" not in words or str(refused.value).endswith(f"Choose a directory outside {WALS}.")


@pytest.mark.promise("quarantine-is-out-of-hbases-reach")
@pytest.mark.parametrize(
    ("quarantine", "archive", "key"),
    [
        (f"{ROOT}/archive/walsafe", None, "quarantine"),
        ("hdfs://ns1/", None, "quarantine"),
        (QUARANTINE, f"{ROOT}/archive/walsafe", "archive"),
        (QUARANTINE, "hdfs://nn1:8020/hbase/.tmp/walsafe", "archive"),
    ],
)
def test_places_in_the_root_of_hbase_are_refused(quarantine: str, archive: str | None, key: str) -> None:
    with pytest.raises(
        UsageError, match=rf"clean\.{key} .* and hbase\.rootdir .*/hbase overlap: one contains the other"
    ) as refused:
        check_hbase_root(quarantine, archive, ROOT)
    way_out = " If it has files already, run restore first: restore does not check hbase.rootdir"
    assert str(refused.value).endswith(f"outside {ROOT}.{way_out if key == 'quarantine' else ''}")
