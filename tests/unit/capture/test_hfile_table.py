"""Edits of the queue table that wait for a region to open, below either root of HBase."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.capture.sources.hfile_table import HFileTable
from pipelines.hbase.offline_table import Region

REGION = Region("0123456789abcdef0123456789abcdef", 1, b"", b"")


class LocalFiles:
    """Hadoop's classes over directories of this machine."""

    conf = None

    def path(self, uri: str) -> Any:  # noqa: ANN401 - Java's
        return SimpleNamespace(getFileSystem=lambda _conf: self, file=Path(uri.removeprefix("file://")))

    def exists(self, path: Any) -> bool:  # noqa: ANN401 - Java's
        return bool(path.file.exists())

    def listStatus(self, path: Any) -> list[Any]:  # noqa: ANN401, N802 - Java's
        return [_status(file) for file in sorted(path.file.iterdir())]


def _status(file: Path) -> Any:  # noqa: ANN401 - Java's
    return SimpleNamespace(
        getPath=lambda: SimpleNamespace(getName=lambda: file.name),
        isDirectory=file.is_dir,
        getLen=lambda: file.stat().st_size,
        getModificationTime=lambda: 1,
    )


class Copied(HFileTable):
    """A table whose regions have been read."""

    _regions = (REGION,)  # type: ignore[assignment]


@pytest.mark.parametrize("roots", [("hbase", "wals"), ("hbase", "hbase")])
def test_edits_below_the_wal_root_are_found(roots: tuple[str, str], tmp_path: Path) -> None:
    root, wal_root = (f"file://{tmp_path / name}" for name in roots)
    below = f"data/hbase/replication/{REGION.name}/recovered.edits"
    place = tmp_path / roots[1] / below
    place.mkdir(parents=True)
    table = Copied(SimpleNamespace(hadoop=LocalFiles()), root, wal_root)  # type: ignore[arg-type]
    (place / "7.seqid").touch()
    assert table.recovered_edits() == ()
    (place / "0000000000000000007").touch()
    assert table.recovered_edits() == (f"{below}/0000000000000000007",)
    table.close()
