"""Text of `hdfs oiv -p Delimited`, read by Spark."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from pipelines.capture.sources import fsimage_files
from pipelines.capture.sources.fsimage_files import FsimageFiles
from pipelines.common.errors import UnavailableError, UsageError, WalsafeError
from pipelines.hbase.server_names import MAX_LONG
from pipelines.snapshot.capture_clocks import FILE_SYSTEM, StepStamp
from pipelines.snapshot.model import CaptureStep
from tests.labs.places import TESTS
from tests.strategies.garbage import edited
from tests.suite.sizes import examples

HEADER = "\t".join(
    (
        *("Path", "Replication", "ModificationTime", "AccessTime", "PreferredBlockSize", "BlocksCount", "FileSize"),
        *("NSQUOTA", "DSQUOTA", "Permission", "UserName", "GroupName"),
    )
)
MINUTE = 1_795_226_400_000
TIME = MINUTE + 3_600_000
CORPUS = TESTS / "corpus" / "fsimage.json"


def row(path: str, size: str = "7", permission: str = "-rw-r--r--", modified: str = "2026-11-21 03:00") -> str:
    return "\t".join([path, "3", modified, modified, "1", "1", size, "0", "0", permission, "o", "g"])


def source(spark: SparkSession, tmp_path: Path, *lines: str, delimiter: str = "\t") -> FsimageFiles:
    text = tmp_path / "image.tsv"
    text.write_text("\n".join(lines) + "\n")
    return of(spark, text, delimiter)


def of(spark: SparkSession, text: Path, delimiter: str = "\t") -> FsimageFiles:
    zone = ZoneInfo("Europe/Vienna")
    return FsimageFiles(spark, str(text), "hdfs://ns1/hbase", delimiter=delimiter, zone=zone, transaction_time=TIME)


def test_files_below_the_root_with_quoted_paths(spark: SparkSession, tmp_path: Path) -> None:
    image = source(
        spark,
        tmp_path,
        HEADER,
        row("/", permission="drwxr-xr-x"),
        row("/hbase/oldWALs", permission="drwxr-xr-x"),
        row("/hbase/oldWALs/h1%2C16020%2C5.7", size="0"),
        row('"/hbase/WALs/h1,16020,5/h1%2C16020%2C5.8"'),
        row('"/hbase/oldWALs/a ""quoted"", name"'),
        row("/hbase/oldWALs/just.1", modified="2026-11-21 04:00"),
        row("/hbase/corrupt/x.1"),
        row("/hbase2/oldWALs/x.1"),
    )
    (batch,) = image.files()
    # 03:00 in Vienna is 02:00 UTC; the end of that minute counts, or the image's own time if it is in that minute
    assert list(zip(batch.paths, batch.lengths, batch.modification_times, strict=True)) == [
        ("oldWALs/h1%2C16020%2C5.7", 0, MINUTE + 59_999),
        ("WALs/h1,16020,5/h1%2C16020%2C5.8", 7, MINUTE + 59_999),
        ('oldWALs/a "quoted", name', 7, MINUTE + 59_999),
        ("oldWALs/just.1", 7, TIME),
    ]
    assert image.stamp("files") == StepStamp(CaptureStep("files", TIME, TIME), FILE_SYSTEM)


@pytest.mark.promise("cut-fsimage-shows-fewer-files")
def test_a_text_that_was_cut_shows_fewer_files_and_no_other(spark: SparkSession, tmp_path: Path) -> None:
    """It has no closing mark; what a shorter listing can free is nothing (tests/unit/capture/test_cut_inputs.py)."""
    names = ("oldWALs/h1%2C16020%2C5.7", "WALs/h1,16020,5/h1%2C16020%2C5.8", "oldWALs/h1%2C16020%2C5.6")
    lines = [HEADER, *(row(f"/hbase/{name}") for name in names)]
    whole = outcome(source(spark, tmp_path, *lines))
    assert isinstance(whole, list)
    assert len(whole) == 3
    for kept in range(1, len(lines)):
        assert outcome(source(spark, tmp_path, *lines[:kept])) == whole[: kept - 1]
    assert isinstance(outcome(source(spark, tmp_path, "")), str), "without its first line it is refused"
    last, inside = lines[-1], len("/hbase/oldWALs/")
    permission = last.index("-rw")
    assert "no Permission; the text is cut off" in str(outcome(source(spark, tmp_path, *lines[:-1], last[:permission])))
    # every cut inside a row is a text of its own, and Spark reads all of them at once
    cuts = tmp_path / "cuts"
    cuts.mkdir()
    for end in range(1, len(last)):
        (cuts / f"{end}.tsv").write_text(f"{HEADER}\n{last[:end]}")
    rows = [tuple(row) for row in of(spark, cuts)._rows().collect()]
    read = [row for row in rows if not row[3]]
    assert len(rows) == len(last) - inside, "cut before it shows that it lies in the root, a row is left out"
    assert read == [(names[-1], "7", "2026-11-21 03:00", False)] * (len(last) - 1 - permission), (
        "the others are refused"
    )


@pytest.mark.parametrize(
    "suffix", ["", pytest.param(".gz", marks=pytest.mark.long), pytest.param(".zst", marks=pytest.mark.long)]
)
def test_a_text_is_read_in_pieces(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    """What cannot be split is shared out by path; all rows at once would fill the driver."""
    monkeypatch.setattr(fsimage_files, "_PIECE_BYTES", 1 << 20)
    monkeypatch.setattr(fsimage_files, "_PIECES_OF_ONE", 20)
    names = [f"oldWALs/h1%2C16020%2C5.{number}" for number in range(30_000)]
    text = tmp_path / f"image.tsv{suffix}"
    with pa.output_stream(text, compression={".gz": "gzip", ".zst": "zstd"}.get(suffix)) as out:
        out.write("\n".join([HEADER, *(row(f"/hbase/{name}") for name in names), ""]).encode())
    image = of(spark, text)
    pieces = image._rows().rdd.getNumPartitions()
    assert pieces == 20 if suffix else 2 <= pieces <= 4
    assert sorted(path for batch in image.files() for path in batch.paths) == sorted(names)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([HEADER.replace("FileSize", "Size")], "no column 'FileSize'"),
        ([HEADER, row("/hbase/oldWALs/x.1", size="1.0K")], "FileSize '1.0K' is not a number"),
        ([HEADER, row("/hbase/oldWALs/x.1", size="9" * 19)], "FileSize '9999999999999999999' is not a number"),
        ([HEADER, row("/hbase/oldWALs/x.1", size="9" * 5000)], "FileSize '9999.*' is not a number"),
        ([HEADER, "/hbase/oldWALs/x.1\t3"], "FileSize None is not a number"),
        ([HEADER, row("/hbase/oldWALs/x.1", modified="21.11.2026")], "not a time like"),
    ],
)
def test_other_text_is_refused(spark: SparkSession, tmp_path: Path, lines: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        list(source(spark, tmp_path, *lines).files())


def test_any_text_is_read_or_refused(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = "\n".join((HEADER, row("/hbase/oldWALs/x.1"), row('"/hbase/WALs/h1,1,1/x.2"'), ""))
    lengths: list[list[int]] = []

    def read(text: str) -> None:
        batches = list(source(spark, tmp_path_factory.mktemp("image"), text).files())
        lengths.append([length for batch in batches for length in batch.lengths])

    @given(edited(st.just(text)))
    @settings(
        max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
    )
    def read_or_refused(text: str) -> None:
        with suppress(WalsafeError):
            read(text)

    read(text)
    assert lengths == [[7, 7]]
    read_or_refused()
    assert all(0 <= length <= MAX_LONG for one in lengths for length in one)
    assert len([one for one in lengths if one]) > 1, "all edited texts were refused or empty"


@pytest.mark.parametrize("entry", [pytest.param(one, id=one["why"]) for one in json.loads(CORPUS.read_text("utf-8"))])
def test_the_corpus(spark: SparkSession, tmp_path: Path, entry: dict[str, Any]) -> None:
    assert outcome(source(spark, tmp_path, entry["text"])) == entry["outcome"]


def outcome(image: FsimageFiles) -> list[list[Any]] | str:
    """Path, length and time of every file, or the words of the refusal behind the name of the text."""
    try:
        return [
            list(file)
            for one in image.files()
            for file in zip(one.paths, one.lengths, one.modification_times, strict=True)
        ]
    except WalsafeError as error:
        return f"{type(error).__name__}: {str(error).partition('image.tsv')[2]}"


def test_another_delimiter_is_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"check files\.delimiter"):
        list(source(spark, tmp_path, HEADER, delimiter=",").files())


@pytest.mark.parametrize(
    ("kind", "words", "error"),
    [
        ("java.net.ConnectException", "refused", UnavailableError),
        ("java.io.IOException", "Could not obtain block", UnavailableError),
        ("java.io.FileNotFoundException", "gone", UsageError),
        ("java.util.zip.ZipException", "incorrect header check", UsageError),
        ("org.apache.hadoop.security.AccessControlException", "Permission denied", UsageError),
    ],
)
def test_only_what_stays_so_is_the_users_to_mend(
    kind: str,
    words: str,
    error: type[WalsafeError],
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(_rows: object) -> None:
        jvm: Any = spark._jvm
        raise Py4JJavaError("", getattr(jvm, kind)(words))

    monkeypatch.setattr(fsimage_files, "local_rows", fails)
    with pytest.raises(error, match=rf"image\.tsv.*{words}"):
        list(source(spark, tmp_path, HEADER).files())


def test_a_missing_text_is_named(spark: SparkSession, tmp_path: Path) -> None:
    image = source(spark, tmp_path, HEADER)
    (tmp_path / "image.tsv").unlink()
    with pytest.raises(UsageError, match=r"image\.tsv cannot be read"):
        list(image.files())
