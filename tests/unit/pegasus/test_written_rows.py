"""Rows that walsafe wrote are read only if every file of their manifest is there, whole, and nothing else is."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError, UsageError
from pipelines.pegasus.domain.offline.model import MANIFEST, PartitionResult
from pipelines.pegasus.sinks.part_files import PartitionFiles
from pipelines.pegasus.sinks.split_output import SplitOutput, StagedParts
from pipelines.pegasus.sources.parquet_rows import _batches, _dataset, check_rows, opened_rows
from pipelines.pegasus.sources.written_rows import check_written_rows
from tests.labs.pegasus.replicas import keys, stored

COUNT = 2


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    output = SplitOutput(str(tmp_path), "onebox", "temp", "inputs")
    output.begin()
    parts, folders = [], {}
    for partition in range(COUNT):
        folder = output.part(str(partition))
        folders[str(partition)] = folder.name
        files = PartitionFiles(folder, partition, 1 << 20, parquet=True)
        files.put(partition, [(key, stored(b"v")) for key in sorted(keys(partition, COUNT, 9))])
        parts.append(PartitionResult(partition, files.close()))
    output.publish(2, "temp", COUNT, StagedParts(parts, folders), parquet=True)
    return output.final


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


WRONG: list[tuple[str, Callable[[Path], object], str]] = [
    ("1/1-0.parquet", Path.unlink, rf"/1/1-0.parquet is missing, {MANIFEST} has it\. Copy the folder again"),
    ("0", shutil.rmtree, "/0/0-0.parquet is missing"),
    ("0/0-0.parquet", cut, r"/0/0-0.parquet has \d+ bytes, .* says \d+\. Copy the folder again"),
    ("0/9-0.parquet", Path.touch, "/0/9-0.parquet is not in .* of an earlier copy"),
    (MANIFEST, cut, f"/{MANIFEST}: .*Copy the folder again"),
]


@pytest.mark.parametrize(("name", "change", "said"), WRONG, ids=[name for name, _, _ in WRONG])
@pytest.mark.parametrize("above", [False, True])
def test_a_folder_with_other_files_than_its_manifest_is_refused(
    exported: Path, name: str, change: Callable[[Path], object], said: str, above: bool
) -> None:
    given = str(exported.parent if above else exported)
    assert check_written_rows(given) == check_rows(given, COUNT) == 1
    change(exported / name)
    with pytest.raises(RefusedError, match=said) as refused:
        check_rows(given, COUNT)
    assert refused.value.condition is Condition.ROWS_INCOMPLETE


def test_all_files_that_differ_are_counted(exported: Path) -> None:
    for path in exported.rglob("*.parquet"):
        cut(path)
    with pytest.raises(RefusedError, match=r"/0/0-0.parquet has .* \(2 files differ in all\)"):
        check_written_rows(str(exported))


@pytest.mark.parametrize("known", [0, 1])
def test_rows_of_another_program_need_their_data_version(exported: Path, known: int) -> None:
    (exported / MANIFEST).unlink()
    with pytest.raises(UsageError, match=f"no {MANIFEST} says which data version .* give --data-version"):
        check_rows(str(exported), COUNT)
    assert check_rows(str(exported), COUNT, known) == known


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ttl": pa.array([1])}, "unknown column 'ttl'"),
        ({"key": pa.array(["k"])}, "column 'key' must be binary, found string"),
    ],
)
def test_the_columns_of_every_file_are_checked(tmp_path: Path, change: dict[str, pa.Array], said: str) -> None:
    columns = {"partition_index": pa.array([1], pa.int32()), "key": pa.array([b"k"]), "value": pa.array([b"v"])}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    assert check_rows(str(tmp_path), COUNT, 1) == 1
    pq.write_table(pa.table({**columns, **change}), tmp_path / "b.parquet")
    with pytest.raises(UsageError, match=f"/b.parquet: {said}"):
        check_rows(str(tmp_path), COUNT, 1)


def test_a_manifest_of_another_version_is_refused(exported: Path) -> None:
    manifest = exported / MANIFEST
    said = manifest.read_text()
    for version in ("0", "2"):
        manifest.write_text(said.replace('"data_version": 1', f'"data_version": {version}'))
        with pytest.raises(RefusedError, match="data_version"):
            check_rows(str(exported), COUNT)


@pytest.mark.parametrize("above", [False, True])
def test_another_number_of_partitions_than_that_of_the_manifest_is_refused(exported: Path, above: bool) -> None:
    given = str(exported.parent if above else exported)
    said = rf"^{given}: walsafe has written these rows as those of 2 partitions \({MANIFEST}\), but 4 is given; give 2$"
    with pytest.raises(UsageError, match=said):
        check_rows(given, 2 * COUNT)
    manifest = exported / MANIFEST
    manifest.write_text(manifest.read_text().replace('"partition_count": 2, ', ""))
    assert check_rows(given, 2 * COUNT) == 1, "a manifest without the number says nothing about it"


def test_the_manifest_of_a_split_has_the_new_number_of_partitions(tmp_path: Path) -> None:
    output = SplitOutput(str(tmp_path), "onebox", "temp", "inputs")
    output.begin()
    folder = output.part("0")
    files = PartitionFiles(folder, 0, 1 << 20, parquet=True)
    files.put(0, [(key, stored(b"v")) for key in sorted(keys(0, 4, 9))])
    output.publish(2, "temp", 4, StagedParts([PartitionResult(0, files.close())], {"0": folder.name}), parquet=True)
    assert check_rows(str(output.final), 4) == 1, "partitions 1 to 3 have no row"
    with pytest.raises(UsageError, match="give 4"):
        check_rows(str(output.final), 1)


def test_the_exports_of_two_tables_are_not_read_as_one(exported: Path) -> None:
    shutil.copytree(exported, exported.with_name("temp16"))
    with pytest.raises(UsageError, match=f"^{exported.parent}: there are 2 exports below it: temp, temp16; give the "):
        check_written_rows(str(exported.parent))
    assert check_rows(str(exported), COUNT) == 1


def test_hidden_files_are_nobodys_rows(exported: Path) -> None:
    shutil.copytree(exported, exported.with_name(".temp.staging") / "part-0")
    shutil.copytree(exported / "1", exported / "1" / "_temporary")
    (exported / "1" / ".1-0.parquet.part.parquet").touch()
    with opened_rows(str(exported.parent), 1) as found:
        assert len(next(found.batches(100))) == 9
    assert check_rows(str(exported.parent), COUNT) == 1
    shutil.rmtree(exported)
    with pytest.raises(UsageError, match="contains no Parquet files"):
        check_rows(str(exported.parent), COUNT, 1)
    with pytest.raises(UsageError, match=f"^{exported}: no such directory; give a directory of Parquet files"):
        check_rows(str(exported), COUNT, 1)


def test_links_to_folders_are_followed(exported: Path, tmp_path: Path) -> None:
    (exported / "1").rename(tmp_path / "other-disk")
    (exported / "1").symlink_to(tmp_path / "other-disk")
    assert check_rows(str(exported), COUNT) == 1
    with opened_rows(str(exported), 1) as found:
        assert len(next(found.batches(100))) == 9
    cut(tmp_path / "other-disk" / "1-0.parquet")
    with pytest.raises(RefusedError, match=r"/1/1-0.parquet has \d+ bytes"):
        check_rows(str(exported), COUNT)
    (exported / MANIFEST).unlink()
    with pytest.raises(UsageError, match=r"/1/1-0\.parquet is not a whole Parquet file"):
        check_rows(str(exported), COUNT, 1)


def test_large_rows_of_parquet_are_read_a_few_at_a_time(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.pegasus.sources.parquet_rows.BATCH_BYTES", 200)
    sizes = [batch.num_rows for batch in _batches(_dataset(str(exported)), ["key"])]
    assert sum(sizes) == 2 * 9
    assert max(sizes) < 9


def test_a_folder_that_cannot_be_read_is_not_passed_over(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, closed = os.scandir, str(exported / "1")

    def scandir(path: str) -> "os._ScandirIterator[str]":
        if str(path) == closed:  # root, who runs the tests, may read every folder
            raise PermissionError(errno.EACCES, "Permission denied", closed)
        return whole(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(UnavailableError, match=f"^{closed} cannot be read: Permission denied"):
        check_rows(str(exported), COUNT)
    assert check_written_rows(f"{exported}-none") is None
    assert check_written_rows(str(exported / MANIFEST)) is None


def test_rows_of_another_program_beside_those_of_walsafe_need_it_too(exported: Path) -> None:
    shutil.copytree(exported / "1", exported.parent / "other" / "1")
    with pytest.raises(UsageError, match="give --data-version"):
        check_rows(str(exported.parent), COUNT)
