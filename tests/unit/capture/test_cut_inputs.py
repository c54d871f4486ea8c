"""Every saved text of a capture, cut behind each of its lines: refused, or no file is free that was not."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from pipelines.capture.capture import CaptureSources, CaptureTarget, capture
from pipelines.capture.capture_zookeeper import ZooKeeperSources, capture_zookeeper
from pipelines.capture.ports import ClusterSettings
from pipelines.capture.sources.export_parts import ExportDirectory, ExportPart
from pipelines.capture.sources.exported_state import ExportedState
from pipelines.capture.sources.exported_znodes import ExportedZnodes
from pipelines.capture.sources.ls_text_files import LsFiles, LsText, SavedListing
from pipelines.capture.sources.saved_listings import WatchedListing
from pipelines.capture.sources.saved_scans import ExportedQueues, SavedCells
from pipelines.capture.timeline import RetryPolicy
from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, WalsafeError
from pipelines.decide.rule.cluster_view import ClusterView
from pipelines.decide.rule.settings import ReconcileSettings
from pipelines.decide.rule.table_queue_storage import table_view
from pipelines.decide.rule.verdict import ArchivedFile, Verdict, decide
from pipelines.decide.rule.zookeeper_queue_storage import zookeeper_view
from pipelines.files.file_batch import FileBatch
from pipelines.files.saved_text import LocalCopies, lines_of
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell, parse_queue_cells
from pipelines.hbase.server_names import ServerName
from pipelines.hbase.zookeeper.tree import Znode, parse_tree
from pipelines.snapshot.capture_clocks import FILE_SYSTEM, StepStamp
from pipelines.snapshot.model import CaptureStep, Snapshot
from tests.labs.exported_cluster import EDGE, Exported, closed, text_of, zookeeper_export
from tests.labs.small_cluster import D1, H1, H2, NOW, ROOT, At, group, row, small, wal, with_cells
from tests.models.capture.trust import distrust_reason, zookeeper_distrust_reason
from tests.strategies.zookeeper import znodes

UTC = ZoneInfo("UTC")
PATIENCE = RetryPolicy(1, 1, 0, lambda _: None)
MADE = with_cells(small("prod"), row(f"2-{H2}/{D1}", group(D1), wal(D1, 1), 0))
"""Peer 2 needs every WAL of the dead server but for the first, by the last row of the table."""


@dataclass
class Kept:
    """A sink in memory."""

    listing: list[ArchivedFile] = field(default_factory=list)
    scans: dict[str, tuple[Cell, ...]] = field(default_factory=dict)
    readings: dict[str, Sequence[Znode]] = field(default_factory=dict)
    snapshot: Snapshot | None = None

    def files(self, batches: Iterable[FileBatch]) -> int:
        for batch in batches:
            self.listing += map(ArchivedFile, batch.paths, batch.lengths, batch.modification_times)
        return len(self.listing)

    def cells(self, name: str, cells: Iterable[Cell]) -> int:
        self.scans[name] = tuple(cells)
        return len(self.scans[name])

    def znodes(self, name: str, found: Sequence[Znode]) -> int:
        self.readings[name] = found
        return len(found)

    def documents(self, _name: str, documents: Iterable[Mapping[str, object]]) -> int:
        return len(list(documents))

    def finish(self, snapshot: Snapshot) -> str:
        self.snapshot = snapshot
        return "memory"

    def freed(self) -> set[str]:
        """What the rule calls DELETABLE."""
        assert self.snapshot is not None
        view = self._view(self.snapshot)
        archived = (file for file in self.listing if file.path.startswith("oldWALs/"))
        return {file.path for file in archived if decide(file, view).verdict is Verdict.DELETABLE}

    def _view(self, snapshot: Snapshot) -> ClusterView:
        settings = ReconcileSettings()
        if self.readings:
            trees = [parse_tree(reading) for reading in self.readings.values()]
            untrusted = zookeeper_distrust_reason(snapshot, trees, settings.release)
            return zookeeper_view(snapshot, trees, settings, untrusted, unparsable=False)
        passes = [parse_queue_cells(cells) for cells in self.scans.values()]
        return table_view(
            snapshot, passes, settings, distrust_reason(snapshot, passes, settings.release), unparsable=False
        )


def cuts(text: str) -> Iterator[str]:
    """The text without its last line, without its last two, and so on."""
    lines = text.splitlines(keepends=True)
    return ("".join(lines[:kept]) for kept in range(len(lines)))


def captured(sources: CaptureSources, wal_root: str = ROOT) -> set[str]:
    sink = Kept()
    capture(CaptureTarget("prod", wal_root, "here"), sources, sink, clock=At(NOW), patience=PATIENCE)
    return sink.freed()


def exported_listing(part: ExportPart) -> LsFiles:
    stamp = part.stamp()
    return LsFiles(lambda: SavedListing(part.lines, LsText(ROOT, stamp.zone, part.name, NOW), stamp.taken))


def from_export(directory: Path) -> CaptureSources:
    """All of an export."""
    export = ExportDirectory(str(directory), LocalCopies())
    state = ExportedState(export, ROOT)
    listing = exported_listing(export.part("files"))
    return CaptureSources(listing, state, ExportedQueues(export), state)


def outcomes(texts: Iterable[str], freed: Callable[[str], set[str]]) -> list[set[str] | None]:
    """What each text frees; None = it is refused."""

    def outcome(text: str) -> set[str] | None:
        try:
            return freed(text)
        except WalsafeError:
            return None

    return [outcome(text) for text in texts]


WHOLE = {f"oldWALs/{wal(server, 1)}" for server in (H1, H2)} | {
    file.path for file in MADE.files if file.path.endswith(".meta")
}
"""The files that can be deleted."""


def test_what_the_whole_export_frees(tmp_path: Path) -> None:
    assert captured(from_export(Exported(MADE).write(tmp_path))) == WHOLE
    assert captured(from_export(Exported(small("prod")).write(tmp_path))) > WHOLE, "the last row holds something"


@pytest.mark.promise("cut-export-is-refused")
@pytest.mark.parametrize("name", Exported(MADE).parts)
def test_a_part_of_an_export_that_was_cut_is_refused(tmp_path: Path, name: str) -> None:
    exported = Exported(MADE)
    exported.write(tmp_path)

    def freed(text: str) -> set[str]:
        (tmp_path / f"{name}.txt").write_text(text)
        return captured(from_export(tmp_path))

    assert set(map(repr, outcomes(cuts(exported.text(name)), freed))) == {"None"}
    assert freed(exported.text(name)) == WHOLE


SESSION = Cell(b"session:b", b"session", b"context", b"not read")


@pytest.mark.promise("cut-export-is-refused")
@pytest.mark.parametrize("name", ["backup", "barriers"])
def test_neighbours_of_an_export_that_were_cut_are_refused(tmp_path: Path, name: str) -> None:
    exported = Exported(MADE)
    barrier = json.dumps(
        {"row": b64encode(b"t,,1.f00.").decode(), "timestamp": 7, "value": b64encode(bytes(8)).decode()}
    )
    exported.parts[name] = closed([SESSION]) if name == "backup" else [barrier, "1 row(s)"]
    exported.times[name] = exported.times["queues-1"]
    exported.write(tmp_path)

    def read(text: str) -> set[str]:
        (tmp_path / f"{name}.txt").write_text(text)
        state = ExportedState(ExportDirectory(str(tmp_path), LocalCopies()), ROOT)
        return {str(state.backups() if name == "backup" else state.barriers())}

    assert set(map(repr, outcomes(cuts(exported.text(name)), read))) == {"None"}
    assert read(exported.text(name)), "whole it is read"


def own_scans(directory: Path, *texts: str) -> CaptureSources:
    """The same with the queues from scans of one's own."""
    exported = Exported(MADE)
    passes = {}
    for step, text in zip(("queues-1", "queues-2"), texts, strict=True):
        (directory / f"{step}.jsonl").write_text(text)
        passes[step] = (str(directory / f"{step}.jsonl"), StepStamp(CaptureStep(step, *exported.times[step]), EDGE))
    return replace(from_export(exported.write(directory / "export")), queues=SavedCells(LocalCopies(), passes))


@pytest.mark.promise("cut-cells-are-refused")
def test_both_of_two_scans_must_be_whole(tmp_path: Path) -> None:
    whole = text_of(closed(MADE.pass_1))
    assert captured(own_scans(tmp_path, whole, whole)) == WHOLE
    for texts in (lambda cut: (cut, cut), lambda cut: (cut, whole), lambda cut: (whole, cut)):
        told = outcomes(cuts(whole), lambda cut, texts=texts: captured(own_scans(tmp_path, *texts(cut))))
        assert told == [None] * len(whole.splitlines())


def own_listing(directory: Path, text: str) -> LsFiles:
    """`ls` with times of one's own, which has no closing line."""
    path = directory / "ls.txt"
    path.write_text(text)
    stamp = StepStamp(CaptureStep("files", *Exported(MADE).times["files"]), EDGE)
    return LsFiles(lambda: SavedListing(lambda: lines_of(path, "ls.txt"), LsText(ROOT, UTC, "ls.txt", NOW), stamp))


@pytest.mark.promise("cut-listing-frees-nothing-more")
def test_a_listing_that_was_cut_frees_nothing_more(tmp_path: Path) -> None:
    exported = Exported(MADE)
    rest = from_export(exported.write(tmp_path / "export"))
    text = text_of(exported.parts["files"])

    def freed(cut: str) -> set[str]:
        return captured(replace(rest, files=own_listing(tmp_path, cut)))

    assert freed(text) == WHOLE
    found = outcomes(cuts(text), freed)
    assert all(one is None or one <= WHOLE for one in found)
    assert any(found), "cut or not, some files are free"


@dataclass
class ZooKeeper:
    """Queues of HBase 2 that stand still, and who is online."""

    queues: Mapping[tuple[str, str], Mapping[str, bytes]]
    alive: frozenset[ServerName]
    peer: Peer = field(default_factory=lambda: Peer("1", "ENABLED"))

    def stamp(self, _step: str) -> None:
        """Read now."""

    def znodes(self, _step: str) -> Sequence[Znode]:
        return znodes(self.queues)

    def cluster_id(self) -> str | None:
        return None

    def online(self, _step: str) -> frozenset[ServerName] | None:
        return self.alive

    def settings(self) -> ClusterSettings:
        kept = MADE.snapshot
        return ClusterSettings(None, "2.6.4", kept.retention, kept.log_cleaner_plugins, kept.backup)

    def peers(self) -> tuple[Peer, ...]:
        return (self.peer,)

    def backups(self) -> None:
        """There are none."""

    def barriers(self) -> None:
        """There are none."""


@dataclass
class Image:
    """An fsimage, in which `oldWALs` may stand before `WALs`: the rows that a cut has left."""

    files_left: Sequence[ArchivedFile]

    def stamp(self, step: str) -> StepStamp:
        return StepStamp(CaptureStep(step, NOW, NOW), FILE_SYSTEM)

    def files(self) -> Iterator[FileBatch]:
        if self.files_left:
            yield FileBatch(*(list(column) for column in zip(*map(_columns, self.files_left), strict=True)))


def _columns(file: ArchivedFile) -> tuple[str, int, int]:
    return file.path, file.length, file.modification_time


def captured_beside(zookeeper: ZooKeeper | ExportedZnodes, listing: Image | LsFiles) -> set[str]:
    sink = Kept()
    watched = WatchedListing(listing)
    sources = ZooKeeperSources(watched, watched, zookeeper, zookeeper)
    later = At(NOW + 60_000)
    capture_zookeeper(CaptureTarget("prod", ROOT, "here"), sources, sink, clock=later, patience=PATIENCE)
    return sink.freed()


OWN = {(str(H1), "1"): {wal(H1, 4): b""}}
OTHER = {("else.example.org,16020,1789000000000", "1"): {"x.1": b""}}


@pytest.mark.promise("peer-id-with-a-hyphen-is-refused")
def test_a_peer_with_a_hyphen_beside_zookeeper_is_refused(tmp_path: Path) -> None:
    zookeeper = ZooKeeper(OWN, frozenset({H1}), Peer("1-x", "ENABLED"))
    with pytest.raises(RefusedError, match="peer id '1-x' has a '-', which HBase forbids") as refused:
        captured_beside(zookeeper, own_listing(tmp_path, text_of(Exported(MADE).parts["files"])))
    assert refused.value.condition is Condition.PEER_ID_AMBIGUOUS


@pytest.mark.promise("cut-listing-beside-zookeeper")
@pytest.mark.parametrize("alive", [frozenset({H1, H2}), frozenset[ServerName]()], ids=["running", "stopped"])
@pytest.mark.parametrize("queues", [OWN, OTHER], ids=["own queues", "another cluster's"])
def test_a_cut_listing_beside_zookeeper_frees_nothing_more(
    tmp_path: Path, queues: Mapping[tuple[str, str], Mapping[str, bytes]], alive: frozenset[ServerName]
) -> None:
    """Its files below `WALs/` are all that tells whose files these are, and an image may have them last."""
    if queues is OTHER and alive:
        alive = frozenset({ServerName.parse(next(iter(OTHER))[0])})
    zookeeper = ZooKeeper(queues, alive)
    text = text_of(Exported(MADE).parts["files"])
    oldest_first = sorted(MADE.files, key=lambda file: file.path.startswith("WALs/"))
    images = [oldest_first[:kept] for kept in range(len(oldest_first) + 1)]
    listed = outcomes([*cuts(text), text], lambda cut: captured_beside(zookeeper, own_listing(tmp_path, cut)))
    shown = [
        one
        for image in images
        for one in outcomes([""], lambda _, image=image: captured_beside(zookeeper, Image(image)))
    ]
    for found in (listed, shown):
        whole = found[-1]
        assert (whole is None) == (queues is OTHER)
        assert all(one is None or (whole is not None and one <= whole) for one in found)


SAVED = zookeeper_export(MADE, znodes({(str(H1), "1"): {wal(H1, 1): b""}}))


def from_znodes(directory: Path) -> set[str]:
    """All of an export with queues of ZooKeeper."""
    export = ExportDirectory(str(directory), LocalCopies())
    listing = exported_listing(export.part("files"))
    return captured_beside(ExportedZnodes(export), listing)


@pytest.mark.promise("cut-export-is-refused")
@pytest.mark.parametrize("name", SAVED.parts)
def test_a_part_of_an_export_with_znodes_that_was_cut_is_refused(tmp_path: Path, name: str) -> None:
    SAVED.write(tmp_path)

    def freed(text: str) -> set[str]:
        (tmp_path / f"{name}.txt").write_text(text)
        return from_znodes(tmp_path)

    assert set(map(repr, outcomes(cuts(SAVED.text(name)), freed))) == {"None"}
    whole = freed(SAVED.text(name))
    assert f"oldWALs/{wal(H2, 1)}" in whole
    assert f"oldWALs/{wal(H1, 1)}" not in whole, "it is in a queue"


@pytest.mark.promise("one-clock")
@pytest.mark.parametrize("name", SAVED.parts)
def test_a_part_of_an_export_with_znodes_from_another_host_is_refused(tmp_path: Path, name: str) -> None:
    changed = zookeeper_export(MADE, znodes(OWN))
    changed.hosts[name] = "edge2"
    changed.write(tmp_path)
    with pytest.raises(WalsafeError, match="the clocks of two hosts"):
        from_znodes(tmp_path)
