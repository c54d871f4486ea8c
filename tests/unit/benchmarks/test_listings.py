"""The texts that the capture benchmark reads are what walsafe takes for a listing, with the names they were made of."""

from zoneinfo import ZoneInfo

from benchmarks.capture_speed import image_lines, ls_lines
from pipelines.capture.sources.ls_text_files import LsText
from tests.models.large import Shape, file_batches

SHAPE = Shape("bench", 500, 5, 2, 2, 1, 1_790_000_000_000)
ROOT = "/hbase"
PATHS = [path for batch in file_batches(SHAPE) for path in batch.paths]


def test_a_listing_of_ls() -> None:
    lines = enumerate((line.rstrip("\n") for line in ls_lines(ROOT, file_batches(SHAPE))), start=1)
    listed = list(LsText(f"hdfs://ns1{ROOT}", ZoneInfo("UTC"), "ls", SHAPE.now).listed(lines))
    assert [file.path for file in listed if not file.is_directory] == PATHS
    assert [file.path for file in listed if file.is_directory] == ["oldWALs"]
    lengths = [length for batch in file_batches(SHAPE) for length in batch.lengths]
    assert [file.length for file in listed if not file.is_directory] == lengths


def test_an_image_has_the_columns_of_hdfs_oiv() -> None:
    head, *rows = (line.rstrip("\n").split("\t") for line in image_lines(ROOT, file_batches(SHAPE)))
    assert {len(row) for row in rows} == {len(head)}
    assert [row[head.index("Path")] for row in rows] == [f"{ROOT}/{path}" for path in PATHS]
    assert {row[head.index("Permission")][0] for row in rows} == {"-"}
