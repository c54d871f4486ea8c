"""The archive of the clean-up: a file has its final name there only if every byte is there; nothing is overwritten."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.cleanup.wiring import _archive
from jobs.cli.config.capture_section import CaptureSection
from jobs.cli.config.sections import CleanSection
from pipelines.cleanup.archive import HadoopArchive
from pipelines.files.hadoop_jvm import HadoopJvm

DATA = b"0123456789" * 100


@pytest.fixture
def archive(spark: SparkSession, tmp_path: Path) -> HadoopArchive:
    return HadoopArchive(HadoopJvm.of(spark), f"file:{tmp_path}/archive/")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "quarantine" / "w.1"
    file.parent.mkdir()
    file.write_bytes(DATA)
    return file


def there(tmp_path: Path) -> dict[str, bytes]:
    """The files of the archive, without the checksums that Hadoop writes beside them."""
    files = (tmp_path / "archive").rglob("*")
    return {file.name: file.read_bytes() for file in files if file.is_file() and file.suffix != ".crc"}


@pytest.mark.promise("archive-is-compared")
def test_files_are_copied_into_directories_that_are_made_for_them(
    archive: HadoopArchive, source: Path, tmp_path: Path
) -> None:
    other = source.with_name("w.2")
    other.write_bytes(b"")
    names = ["c/run/oldWALs/w.1", "c/run/oldWALs/w.2"]
    places = [f"file:{tmp_path}/archive/{name}" for name in names]
    assert [archive.place(name) for name in names] == places
    assert archive.keep([f"file:{source}", f"file:{other}"], names) == [(place, None) for place in places]
    assert there(tmp_path) == {"w.1": DATA, "w.2": b""}
    assert source.read_bytes() == DATA


@pytest.mark.promise("archive-is-compared")
def test_files_are_read_with_the_properties_of_the_configuration(
    spark: SparkSession, source: Path, tmp_path: Path
) -> None:
    """As for a nameservice that Spark's own configuration does not know; other file systems are opened as ever."""
    properties = {"fs.viewfs.mounttable.ns1.link./quarantine": f"file:{source.parent}"}
    simulated = {"source": "simulated", "path": "a.json"}
    capture = CaptureSection.model_validate(
        {"files": {"source": "hadoop", "properties": properties}, "queues": simulated, "state": simulated}
    )
    clean = CleanSection(quarantine="viewfs://ns1/quarantine", archive=f"file:{tmp_path}/archive")
    known = _archive(HadoopJvm.of(spark), capture, clean)
    assert known is not None
    assert known.keep(["viewfs://ns1/quarantine/w.1"], ["w.1"]) == [(f"file:{tmp_path}/archive/w.1", None)]
    assert there(tmp_path) == {"w.1": DATA}
    known.close()
    unknown = HadoopArchive(HadoopJvm.of(spark), f"file:{tmp_path}/archive")
    ((_, problem),) = unknown.keep(["viewfs://ns1/quarantine/w.1"], ["w.2"])
    assert problem is not None
    assert there(tmp_path) == {"w.1": DATA}


@pytest.mark.promise("archive-is-compared")
@pytest.mark.parametrize("found", [b"shorter", DATA[::-1], DATA], ids=["shorter", "same length", "same"])
def test_what_the_archive_has_is_compared_and_stays(
    archive: HadoopArchive, source: Path, tmp_path: Path, found: bytes
) -> None:
    place = tmp_path / "archive" / "w.1"
    place.parent.mkdir()
    place.write_bytes(found)
    written = place.stat().st_mtime_ns
    problem = None if found == DATA else "the archive holds another file of that name"
    assert archive.keep([f"file:{source}"], ["w.1"]) == [(f"file:{place}", problem)]
    assert there(tmp_path) == {"w.1": found}
    assert place.stat().st_mtime_ns == written


@pytest.mark.promise("archive-is-compared")
def test_the_half_copy_of_a_dead_job_is_written_again(archive: HadoopArchive, source: Path, tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / ".w.1.copying").write_bytes(DATA[:7])
    assert archive.keep([f"file:{source}"], ["w.1"]) == [(f"file:{tmp_path}/archive/w.1", None)]
    assert there(tmp_path) == {"w.1": DATA}


@pytest.mark.promise("archive-is-compared")
def test_a_copy_that_is_not_the_file_gets_no_name(
    archive: HadoopArchive, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the disk below the archive had lost a bit, which no checksum of Hadoop has seen."""
    true_sum = HadoopArchive._sha256
    monkeypatch.setattr(
        HadoopArchive, "_sha256", lambda self, uri: true_sum(self, uri) + ("x" if "copying" in uri else "")
    )
    ((_, problem),) = archive.keep([f"file:{source}"], ["w.1"])
    assert problem == "the copy differs from the file in length or checksum"
    assert there(tmp_path) == {".w.1.copying": DATA}


def test_what_cannot_be_read_is_told_and_the_others_are_kept(
    archive: HadoopArchive, source: Path, tmp_path: Path
) -> None:
    (gone, why), kept = archive.keep([f"file:{source}x", f"file:{source}"], ["x", "w.1"])
    assert gone == f"file:{tmp_path}/archive/x"
    assert why is not None
    assert "does not exist" in why
    assert kept == (f"file:{tmp_path}/archive/w.1", None)
    assert there(tmp_path) == {"w.1": DATA}
