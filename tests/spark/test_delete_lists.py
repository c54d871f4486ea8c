"""Delete-safe lists on a file system: written whole or not at all, and read only as they were written."""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrameWriter, SparkSession

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError, UsageError
from pipelines.common.spark import few_rows
from pipelines.reconcile import list_parts, list_writer
from pipelines.reconcile.delete_list import (
    MANIFEST,
    ListPart,
    ListRequest,
    Manifest,
    StagedLines,
    StagedLists,
    manifest_json,
    part_name,
)
from pipelines.reconcile.list_reader import DeleteListReader
from pipelines.reconcile.list_writer import DeleteListWriter

RUN, ROOT = "n1", "hdfs://ns1/hbase"
SNAPSHOT = "5" * 64
DECIDED, UNTIL = 1_790_000_000_000, 1_790_086_400_000


def request(cluster: str, files: int, **more: object) -> ListRequest:
    asked = ListRequest(cluster, f"id-{cluster}", RUN, ROOT, SNAPSHOT, DECIDED, UNTIL, files, 10 * files)
    return replace(asked, **more)  # type: ignore[arg-type]


def paths(count: int) -> list[str]:
    """In no order, with what a name may hold."""
    return [f"oldWALs/h%2C1 é/wal.{number * 7919 % 10_007:05d}" for number in range(count)]


class Lab:
    """Lists below one folder of this machine."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.lists = DeleteListWriter(spark, f"file:{folder}/")
        self.reader = DeleteListReader(spark, f"file:{folder}/")

    def write(self, *requests: ListRequest, lines: dict[str, Sequence[str]] | None = None) -> dict[str, Manifest]:
        lines = {one.cluster: paths(one.files) for one in requests} if lines is None else lines
        rows = [(cluster, path) for cluster, own in lines.items() for path in own]
        frame = self.spark.createDataFrame(rows, "cluster string, path string").repartition(3)
        return dict(self.lists.publish(self.lists.stage(frame, requests)))

    def put(self) -> Manifest:
        """A list of two files in the place where one is written, without Spark."""
        part = ListPart(part_name(0), 2, hashlib.sha256(lines_of(2).encode()).hexdigest())
        manifest = Manifest("a", "id-a", RUN, SNAPSHOT, DECIDED, UNTIL, 2, 20, (part,))
        self.of("a").mkdir(parents=True)
        (self.of("a") / part.name).write_text(lines_of(2))
        (self.of("a") / MANIFEST).write_text(manifest_json(manifest))
        return manifest

    def of(self, cluster: str) -> Path:
        return self.folder / cluster / RUN

    def shown(self, cluster: str) -> list[str]:
        return sorted(file.name for file in self.of(cluster).iterdir() if not file.name.startswith("."))

    def text(self, manifest: Manifest) -> str:
        return "".join((self.of(manifest.cluster) / part.name).read_text() for part in manifest.parts)


@pytest.fixture
def lab(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.chdir(tmp_path)  # a mutant may write to a relative path
    return Lab(spark, tmp_path)


@pytest.fixture(params=[few_rows.FEW, 0], ids=["few", "many"])
def few_or_many(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver writes few lines, Spark writes many."""
    monkeypatch.setattr(few_rows, "FEW", request.param)


def lines_of(files: int) -> str:
    return "".join(f"{line}\n" for line in sorted((f"{ROOT}/{path}" for path in paths(files)), key=str.encode))


# writing


@pytest.mark.usefixtures("few_or_many")
def test_the_lists_of_a_fleet_are_written_and_read_back(lab: Lab) -> None:
    written = lab.write(request("a", 5), request("b", 0), request("c", 1))
    assert list(written) == ["a", "b", "c"]
    for cluster, files in (("a", 5), ("b", 0), ("c", 1)):
        manifest = written[cluster]
        digest = hashlib.sha256(lines_of(files).encode()).hexdigest()
        parts = (ListPart("part-00000.txt", files, digest),) if files else ()
        assert manifest == Manifest(cluster, f"id-{cluster}", RUN, SNAPSHOT, DECIDED, UNTIL, files, 10 * files, parts)
        assert lab.shown(cluster) == [MANIFEST, *(part.name for part in parts)]
        assert (lab.of(cluster) / MANIFEST).read_text() == manifest_json(manifest)
        assert lab.text(manifest) == lines_of(files)
        assert lab.lists.existing(cluster, RUN) == manifest == lab.reader.manifest(cluster, RUN)
        read = lab.reader.lines(manifest)
        assert read.columns == ["line"]
        assert sorted(row["line"] for row in read.collect()) == sorted(lines_of(files).splitlines())


@pytest.mark.usefixtures("few_or_many")
def test_a_list_is_read_where_it_was_written(spark: SparkSession, tmp_path: Path) -> None:
    lab = Lab(spark, tmp_path / "a%20b#1")
    manifest = lab.write(request("a", 4))["a"]
    assert lab.text(manifest) == lines_of(4)
    assert lab.reader.manifest("a", RUN) == manifest
    assert lab.reader.lines(manifest).count() == 4


@pytest.mark.parametrize("lists", ["a:b:c", "file:lists", "nosuch://host/lists", "hdfs://no-such-service/lists"])
def test_lists_that_no_file_system_has_are_the_users_mistake(spark: SparkSession, lists: str) -> None:
    for ask in (DeleteListWriter(spark, lists).existing, DeleteListReader(spark, lists).manifest):
        with pytest.raises(UsageError, match=r"check the name|needs an absolute path"):
            ask("a", RUN)


@pytest.mark.usefixtures("few_or_many")
def test_the_list_of_one_cluster_is_written_beside_it(lab: Lab) -> None:
    manifest = lab.write(request("a", 4))["a"]
    assert [file.name for file in lab.folder.iterdir()] == ["a"]
    assert [file.name for file in (lab.folder / "a").iterdir()] == [RUN]
    assert lab.text(manifest) == lines_of(4)


@pytest.mark.parametrize("lines_of_a_task", [10, 40])
def test_short_lists_of_many_lines_together_have_the_same_text(
    lab: Lab, lines_of_a_task: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then Spark sorts and joins the lines of each, in one task or in several."""
    monkeypatch.setattr(few_rows, "FEW", 20)
    monkeypatch.setattr(list_writer, "LINES_PER_PART", lines_of_a_task)
    written = lab.write(request("a", 20), request("b", 19), request("c", 0))
    assert [lab.text(written[cluster]) for cluster in "abc"] == [lines_of(20), lines_of(19), ""]
    assert all(lab.reader.manifest(cluster, RUN) == written[cluster] for cluster in "abc")


def test_a_long_list_is_cut_beside_one_of_a_single_part(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_parts, "LINES_PER_PART", 20)
    monkeypatch.setattr(few_rows, "FEW", 2)
    written = lab.write(request("a", 90), request("b", 3))
    assert len(written["a"].parts) > 2
    assert len(written["b"].parts) == 1
    assert [lab.text(written[cluster]) for cluster in "ab"] == [lines_of(90), lines_of(3)]


def test_long_lists_are_cut_into_parts_in_the_same_places(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_parts, "LINES_PER_PART", 20)
    monkeypatch.setattr(few_rows, "FEW", 20)
    written = lab.write(request("a", 90), request("b", 3), request("c", 70))
    assert lab.text(written["b"]) == lines_of(3)
    for cluster, files in (("a", 90), ("c", 70)):
        parts = written[cluster].parts
        assert [part.name for part in parts] == [part_name(number) for number in range(len(parts))]
        assert len(parts) > 2
        assert sum(part.lines for part in parts) == files
        assert all(0 < part.lines < 60 for part in parts)
        assert lab.text(written[cluster]) == lines_of(files)
    alone = Lab(lab.spark, lab.folder / "again").write(request("a", 90))
    assert alone["a"] == written["a"]
    assert len(lab.reader.lines(written["a"]).collect()) == 90


def test_lines_are_sorted_once_by_cluster_and_then_by_path(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else Spark sorts them once more by cluster, and a sort that needs the disk may change the order of the paths."""
    monkeypatch.setattr(few_rows, "FEW", 2)
    orders: list[str] = []
    write = DataFrameWriter.text

    def text(writer: DataFrameWriter, path: str, **options: str) -> None:
        orders.append(writer._df._jdf.queryExecution().optimizedPlan().outputOrdering().toString())  # type: ignore[attr-defined]
        write(writer, path, **options)

    monkeypatch.setattr(DataFrameWriter, "text", text)
    lab.write(request("a", 5), request("b", 3))
    (order,) = orders
    assert re.findall(r"(\w+)#\d+ ASC", order) == ["cluster", "value"]


@pytest.mark.usefixtures("as_many")
def test_a_list_a_little_too_long_for_one_part_has_two(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_parts, "LINES_PER_PART", 20)
    manifest = lab.write(request("a", 30))["a"]
    assert [part.name for part in manifest.parts] == [part_name(0), part_name(1)]
    assert lab.text(manifest) == lines_of(30)


@pytest.mark.promise("list-is-whole")
@pytest.mark.usefixtures("few_or_many")
def test_nothing_is_listed_before_it_is_published(lab: Lab) -> None:
    frame = lab.spark.createDataFrame([("a", "oldWALs/x")], "cluster string, path string")
    lab.lists.stage(frame, [request("a", 1)])
    assert lab.lists.existing("a", RUN) is None
    assert [name for name in lab.folder.rglob("*") if name.name == MANIFEST] == []
    assert not lab.of("a").exists()
    assert all(file.name.startswith(".staging-") for file in (lab.folder / "a").iterdir())


@pytest.mark.promise("list-has-the-lines-that-the-gate-saw")
@pytest.mark.parametrize("others", [(), (request("b", 1),)], ids=["alone", "in a fleet"])
@pytest.mark.parametrize("lines", [0, 1, 3])
@pytest.mark.usefixtures("few_or_many")
def test_a_list_of_another_length_than_was_decided_is_not_published(
    lab: Lab, lines: int, others: Sequence[ListRequest]
) -> None:
    decided = {other.cluster: paths(other.files) for other in others}
    with pytest.raises(
        UnavailableError, match=f"{lines} lines written, but the gate passed 2; no manifest was written"
    ):
        lab.write(request("a", 2), *others, lines={"a": paths(lines)} | decided)
    assert lab.lists.existing("a", RUN) is None
    assert not lab.of("a").exists()


def test_a_list_stands_as_it_is_if_the_same_is_written_again(lab: Lab) -> None:
    written = lab.write(request("a", 2))
    again = lab.write(request("a", 2, decided_at=DECIDED + 1), lines={"a": ["oldWALs/x", "oldWALs/y"]})
    assert again == written
    assert lab.text(written["a"]) == lines_of(2)


@pytest.mark.parametrize("more", [{"bytes": 19}, {"bytes": 21}, {"snapshot_sha256": "6" * 64}])
def test_another_list_is_never_put_in_its_place(lab: Lab, more: dict[str, object]) -> None:
    written = lab.write(request("a", 2))
    asked = request("a", 2, **more)
    with pytest.raises(RefusedError, match=r"/a/n1 already holds another list of 2 files, which is never replaced"):
        lab.write(asked)
    assert lab.reader.manifest("a", RUN) == written["a"]
    assert lab.text(written["a"]) == lines_of(2)


def test_what_a_dead_run_left_without_a_manifest_is_moved_aside(lab: Lab) -> None:
    lab.of("a").mkdir(parents=True)
    (lab.of("a") / "part-00000.txt").write_text("hdfs://ns1/hbase/oldWALs/needed\n")
    written = lab.write(request("a", 2))
    assert lab.text(written["a"]) == lines_of(2)
    (aside,) = (file for file in (lab.folder / "a").iterdir() if file.name.startswith(f".unfinished-{RUN}-"))
    assert (aside / "part-00000.txt").read_text() == "hdfs://ns1/hbase/oldWALs/needed\n"


@pytest.mark.usefixtures("few_or_many")
def test_a_list_that_cannot_be_written_says_so(lab: Lab) -> None:
    (lab.folder / "a").write_text("a file in its place")
    why = r"\((\[Errno 20\] Not a directory|org\.apache\.hadoop\.fs\.ParentNotDirectoryException): "
    with pytest.raises(UnavailableError, match="the list cannot be read or written " + why) as raised:
        lab.write(request("a", 2))
    assert raised.value.condition is Condition.UNAVAILABLE


def test_the_end_of_spark_is_told_as_such(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(_: str) -> str:
        raise UnavailableError("the JVM ended", condition=Condition.SPARK_ENDED)

    monkeypatch.setattr(lab.lists._files, "read", ended)
    with pytest.raises(UnavailableError, match="the JVM ended") as raised:
        lab.lists.existing("c", "r1")
    assert raised.value.condition is Condition.SPARK_ENDED


def test_lists_without_files_leave_nothing_beside_them(lab: Lab) -> None:
    lab.write(request("a", 0), request("b", 0))
    assert sorted(str(file.relative_to(lab.folder)) for file in lab.folder.rglob("*") if file.is_dir()) == [
        *("a", f"a/{RUN}", "b", f"b/{RUN}"),
    ]


def test_a_file_of_spark_without_lines_is_no_part(lab: Lab) -> None:
    """Spark's first task writes a file even where the sample left it no line."""
    staging = lab.folder / "a" / ".staging-x"
    staging.mkdir(parents=True)
    for name, text in (("part-00000-x", ""), ("part-00001-x", lines_of(2)), ("_SUCCESS", "")):
        (staging / name).write_text(text)
    parts = lab.lists._numbered(f"file:{staging}", {"part-00001-x": 2})
    staged = StagedLists((request("a", 2),), {"a": StagedLines(f"file:{staging}", parts)})
    manifest = lab.lists.publish(staged)["a"]
    assert [(part.name, part.lines) for part in manifest.parts] == [(part_name(0), 2)]
    assert lab.text(manifest) == lines_of(2)
    assert lab.shown("a") == ["_SUCCESS", MANIFEST, part_name(0)]
    assert (lab.of("a") / ".empty-part-00000-x").read_text() == ""


def test_a_list_that_cannot_be_published_says_so(lab: Lab) -> None:
    staged = lab.lists.stage(lab.spark.createDataFrame([], "cluster string, path string"), [request("a", 0)])
    (lab.folder / "a").write_text("a file in its place")
    with pytest.raises(UnavailableError, match=rf"^file:{lab.folder}: the list cannot be read or written"):
        lab.lists.publish(staged)
    assert (lab.folder / "a").read_text() == "a file in its place"


def test_a_manifest_that_cannot_be_read_is_no_missing_one(lab: Lab) -> None:
    (lab.of("a") / MANIFEST).mkdir(parents=True)
    with pytest.raises(
        UnavailableError, match=rf"/a/{RUN}/{MANIFEST}: the list cannot be read or written \(\[Errno 21\]"
    ):
        lab.lists.existing("a", RUN)


def test_no_file_stays_open(lab: Lab) -> None:
    """A fleet has thousands of lists, and a process may open only so many files."""
    lab.write(request("a", 2))
    lab.lists.existing("a", RUN)
    jvm = lab.spark._jvm
    assert jvm is not None
    descriptors = Path(f"/proc/{jvm.java.lang.ProcessHandle.current().pid()}/fd")
    assert [name for name in map(read_link, descriptors.iterdir()) if name.startswith(f"{lab.of('a')}/")] == []


def read_link(link: Path) -> str:
    """Where it leads; nowhere, once it is closed."""
    try:
        return str(link.readlink())
    except FileNotFoundError:
        return ""


def test_a_manifest_that_is_none_is_refused_before_anything_is_written(lab: Lab) -> None:
    lab.of("a").mkdir(parents=True)
    (lab.of("a") / MANIFEST).write_text("{}")
    with pytest.raises(RefusedError, match=r"/a/n1/manifest\.json"):
        lab.write(request("a", 2))
    assert lab.shown("a") == [MANIFEST]


# reading


def replaced(old: str, new: str) -> Callable[[Path], object]:
    return lambda folder: (folder / MANIFEST).write_text((folder / MANIFEST).read_text().replace(old, new))


def twice(folder: Path) -> None:
    """Names the part twice, with a number of files that fits."""
    text = (folder / MANIFEST).read_text().replace('"files": 2', '"files": 4')
    part = text[text.index("  {") : text.index("  }") + 3]
    (folder / MANIFEST).write_text(text.replace(part, f"{part},\n{part}"))


@pytest.mark.promise("list-is-held-to-the-audit")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda folder: (folder / MANIFEST).unlink(), r"a/n1 has no manifest\.json: that run wrote no list"),
        (lambda folder: (folder / "part-00000.txt").unlink(), "is not the part that was written"),
        (
            lambda folder: (folder / "part-00000.txt").write_text(lines_of(2) + "x\n"),
            "is not the part that was written",
        ),
        (lambda folder: (folder / "part-00000.txt").write_text(""), "is not the part that was written"),
        (
            lambda folder: (folder / "part-00001.txt").write_text("x\n"),
            r"part-00001\.txt is not a part that the manifest",
        ),
        (lambda folder: (folder / "README").write_text(""), "n1/README is not a part that the manifest names once"),
        (twice, r"n1/part-00000\.txt is not a part that the manifest names once"),
        (replaced('"files": 2', '"files": 3'), "its parts have not as many lines as it has files"),
        (replaced('"lines": 2', '"lines": 1'), "its parts have not as many lines as it has files"),
        (lambda folder: (folder / MANIFEST).write_bytes(b"\xff{}"), r"manifest\.json.*; reconcile again"),
        (replaced('"format": 1', '"format": 2'), "only format 1 is known"),
    ],
)
def test_a_list_that_somebody_changed_is_not_read(lab: Lab, change: Callable[[Path], object], words: str) -> None:
    assert lab.put() == lab.reader.manifest("a", RUN)
    change(lab.of("a"))
    with pytest.raises(RefusedError, match=words):
        lab.reader.manifest("a", RUN)


def test_hidden_files_beside_the_parts_are_no_change(lab: Lab) -> None:
    written = lab.put()
    (lab.of("a") / ".part-00000.txt.crc").write_text("")
    assert lab.reader.manifest("a", RUN) == written


def test_a_list_that_is_not_there_is_named_with_its_folder(lab: Lab) -> None:
    lab.put()
    for cluster, run_id in (("b", RUN), ("a", "n2")):
        with pytest.raises(RefusedError, match=rf"/{cluster}/{run_id} has no manifest\.json"):
            lab.reader.manifest(cluster, run_id)


def test_the_lines_are_those_of_all_parts_that_the_manifest_names(lab: Lab) -> None:
    manifest = lab.put()
    (lab.of("a") / "part-00001.txt").write_text("x\n")
    read = lab.reader.lines(manifest)
    assert read.columns == ["line"]
    assert sorted(row["line"] for row in read.collect()) == sorted(lines_of(2).splitlines())
    second = ListPart("part-00001.txt", 1, "")
    more = lab.reader.lines(replace(manifest, parts=(*manifest.parts, second)))
    assert sorted(row["line"] for row in more.collect()) == sorted([*lines_of(2).splitlines(), "x"])


def test_a_carriage_return_is_a_part_of_a_name(lab: Lab) -> None:
    manifest = lab.put()
    (lab.of("a") / "part-00000.txt").write_bytes(b"a\rb\nc\r\n")
    assert [row["line"] for row in lab.reader.lines(manifest).collect()] == ["a\rb", "c\r"]


def test_a_list_without_parts_has_no_lines(lab: Lab) -> None:
    read = lab.reader.lines(replace(lab.put(), parts=(), files=0))
    assert (read.columns, read.collect()) == (["line"], [])
