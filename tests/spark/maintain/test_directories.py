"""Directories of lists and snapshots, and what killed jobs leave: what expires, and what stays."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from jobs.cli.entry import main
from jobs.demo.cluster.on_disk import write_snapshot
from pipelines.common.errors import RefusedError, UnavailableError, UsageError
from pipelines.files.hadoop_jvm import HadoopJvm
from pipelines.lake.retention import LIST, SNAPSHOT
from pipelines.maintain.expiry import HadoopDirectories
from pipelines.maintain.found_directories import ExpiringFolder
from pipelines.maintain.pages import HadoopPages
from tests.labs.maintained_lake import Place, add_list, aged, with_folders
from tests.labs.small_cluster import NOW, At, small


def add_snapshot(place: Place, name: str, cluster: str, ago: int) -> Path:
    there = place.root / "snapshots" / name
    there.parent.mkdir(parents=True, exist_ok=True)
    write_snapshot(small(cluster, -ago), there)
    return there


@pytest.mark.long
@pytest.mark.promise("maintain-keeps-in-bounds")
def test_directories_expire_by_the_time_written_in_them(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    hexes = "0123456789abcdef" * 2
    lists, snapshots = place.root / "lists", place.root / "snapshots"
    goes = [
        add_list(place, "a", "run-150", 31),
        add_snapshot(place, "a/2026-01-01", "a", 31),
        add_snapshot(place, "2026-01-01", "a", 31),
        add_snapshot(place, "fleet-1/a", "a", 40),
        aged(lists / f".staging-{hexes}", 8),
        aged(lists / "a" / f".staging-{hexes}", 8),
        aged(lists / "a" / f".unfinished-run-9-{hexes}", 8),
        aged(snapshots / "a" / f".2026-11-20.{hexes}.making", 8),
        aged(snapshots / f".expired-{hexes}", 8),
        aged(place.lake / ".second-looks" / hexes, 8),  # a killed clean-up's
    ]
    stays = [
        add_list(place, "a", "run-100", 29),
        add_list(place, "a", "run-0", 31),  # among the newest nights of the cluster
        add_list(place, "a", "run-1", 31, folder="copy"),
        add_snapshot(place, "a/young", "a", 29),
        aged(lists / "a" / f".staging-{hexes[::-1]}", 6),
        aged(lists / "a" / "no-manifest", 99),
        aged(lists / "a" / ".mine", 99),
        aged(snapshots / "a" / "other" / "deeper", 99),
        aged(place.root / "elsewhere", 99),
        aged(place.lake / ".second-looks" / hexes[::-1], 6),
        aged(place.lake / ".second-looks" / "mine", 99),
    ]
    broken = add_list(place, "a", "run-95", 99)
    (broken / "manifest.json").write_text('{"format": 1}')
    crowded = add_snapshot(place, "a/crowded", "a", 99)
    (crowded / "files" / "notes.txt").write_text("mine")
    target = add_snapshot(place, "../real/old", "a", 99)
    link, link_above = snapshots / "a" / "link", snapshots / "b"
    link.symlink_to(target)
    link_above.symlink_to(target.parent)
    config = place.root / "c.yaml"
    config.write_text(with_folders(place))

    def job(*more: str) -> dict[str, Any]:
        context = JobContext("maintain", At(NOW), place.spark)
        arguments = ["maintain", "--lake", str(place.lake), "--config", str(config), "--output", "json", *more]
        assert main(arguments, context=context) == 0
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        return answer

    before = place.tree()
    rehearsal = job()
    assert place.tree() == before
    result = job("--execute")
    assert {one["uri"] for one in result["expired"]} == {f"file:{path}" for path in goes}
    assert rehearsal["expired"] == result["expired"]
    assert result["freed_bytes"] == sum(one["bytes"] for one in result["expired"]) > 0
    assert [path for path in goes if path.exists()] == []
    assert [path for path in (*stays, broken, crowded, target, link, link_above) if not path.exists()] == []
    assert not (snapshots / "fleet-1").exists(), "the folder of a fleet's night goes with its last snapshot"
    why = {one["uri"].removeprefix(f"file:{place.root}/"): one["why"] for one in result["left_alone"]}
    assert why["snapshots/a/link"] == why["snapshots/b"] == "a symbolic link"
    assert why["lists/a/no-manifest"] == "it has no manifest.json"
    assert why["lake/.second-looks/mine"] == "walsafe does not give such a name"
    assert why["lists/a/copy"] == "its manifest.json belongs to a/run-1"
    assert "files/notes.txt" in why["snapshots/a/crowded"]
    assert "lists/a/run-95" in why
    assert not list(place.root.rglob(".expired-*"))


@pytest.mark.long
def test_the_places_of_a_night_expire_and_need_not_exist_yet(place: Place) -> None:
    config = f"lists: file:{place.root}/own-lists\nsnapshots: file:{place.root}/none-yet\n"
    (place.root / "lists").mkdir(exist_ok=True)
    gone = add_list(place, "a", "run-150", 31)
    (place.root / "lists").rename(place.root / "own-lists")
    assert place.maintain(config=config).result["freed_bytes"] > 0
    assert not (place.root / "own-lists" / gone.relative_to(place.root / "lists")).exists()
    with pytest.raises(UsageError, match="none-yet: no such folder"):
        HadoopDirectories(HadoopJvm.of(place.spark), f"file:{place.root}/none-yet", "snapshot").find()


def test_a_directory_elsewhere_is_never_removed(place: Place) -> None:
    with_folders(place)
    outside = aged(place.root / "elsewhere" / "x", 99)
    hadoop = HadoopJvm.of(place.spark)
    directories = HadoopDirectories(hadoop, f"file:{place.root}/lists", "list")
    add_list(place, "a", "run-1", 99)
    (stored,) = directories.find().stored
    for uri in (outside, place.root / "lists", place.root / "lists" / ".." / "elsewhere" / "x"):
        with pytest.raises(RefusedError, match=r"is not below .*/lists; nothing was removed"):
            directories.remove(replace(stored, uri=f"file:{uri}"))
    assert outside.exists()
    directories.remove(stored)
    assert list((place.root / "lists" / "a").iterdir()) == []


class OddFiles:
    """Hadoop's file system with a folder that the user may not list, and one that goes after it was listed.

    It deletes nothing, as on a local disk where the user may not.
    """

    def __init__(self, files: Any, hadoop: HadoopJvm, goes: Path) -> None:  # noqa: ANN401 - Java's
        self._files, self._hadoop, self._goes = files, hadoop, goes

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - Java's
        return getattr(self._files, name)

    def delete(self, _path: Any, _recursive: bool) -> bool:  # noqa: ANN401 - Java's
        return False

    def listStatus(self, path: Any) -> Any:  # noqa: ANN401, N802 - Java's
        if path.getName() == "lost+found":
            denied = self._hadoop.view.org.apache.hadoop.security.AccessControlException("Permission denied")
            raise Py4JJavaError("", denied)
        found = self._files.listStatus(path)
        shutil.rmtree(self._goes, ignore_errors=True)
        return found


@pytest.mark.parametrize(
    "opened",
    [
        lambda hadoop, uri: HadoopDirectories(hadoop, uri, LIST),
        lambda hadoop, uri: HadoopDirectories(hadoop, uri, SNAPSHOT),
        HadoopPages,
    ],
    ids=["lists", "snapshots", "pages"],
)
def test_what_cannot_be_read_or_deleted_is_told_and_stops_no_other_entry(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    opened: Callable[[HadoopJvm, str], ExpiringFolder],
) -> None:
    place = Place(spark, tmp_path)
    add_list(place, "z", "run-1", 99)
    write_snapshot(small("z", -99), tmp_path / "lists" / "z" / "young")
    (tmp_path / "lists" / "z" / f".page.html.{'0123456789abcdef' * 2}").touch()
    for name in ("gone", "lost+found"):
        (tmp_path / "lists" / name).mkdir()
    hadoop = HadoopJvm.of(spark)
    folder = opened(hadoop, f"file:{tmp_path}/lists")
    monkeypatch.setattr(folder, "_files", OddFiles(folder._files, hadoop, tmp_path / "lists" / "gone"))  # type: ignore[attr-defined]
    found = folder.find()
    (denied,) = [one for one in found.left_alone if one.uri.endswith("lost+found")]
    assert "Permission denied" in denied.why
    assert not [one for one in found.left_alone if "gone" in one.uri]
    (stored,) = found.stored
    assert folder.measure(stored) is not None
    assert folder.measure(replace(stored, uri=f"{stored.uri}-gone")) is None
    with pytest.raises(UnavailableError, match="could not be deleted"):
        folder.remove(stored)
