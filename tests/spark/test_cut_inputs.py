"""Saved texts that lie about their end or about the clock, from the command line to the list."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from jobs.cli.entry import main
from jobs.demo.cluster.on_disk import write_cluster_files
from pipelines.common.instants import format_instant
from tests.labs.exported_cluster import EDGE, Exported, cell_lines, closed, text_of, zookeeper_export
from tests.labs.small_cluster import D1, DECIDED_AFTER_MS, H2, NOW, ROOT, At, group, row, small, wal, with_cells
from tests.strategies.zookeeper import znodes

NEEDED = f"{ROOT}/oldWALs/{wal(D1, 1)}"
"""Peer 1 has it; peer 2 needs it, by the last row of the table."""
LAST_ROW = row(f"2-{H2}/{D1}", group(D1), wal(D1, 1), 0)
MADE = with_cells(small("prod"), LAST_ROW)


@dataclass
class Night:
    """One night from the command line: capture of saved texts, then reconcile."""

    spark: SparkSession
    root: Path

    def run(self, capture: Mapping[str, Any], name: str = "night", wal_root: str = ROOT, out: str | None = None) -> int:
        """Capture alone; its exit code."""
        config = self.root / f"{name}.yaml"
        config.write_text(json.dumps({"cluster": "prod", "wal_root": wal_root, "capture": {"pause": "1s", **capture}}))
        return self._main("capture", "--config", str(config), "--out", out or f"file:{self.out(name)}")

    def out(self, name: str = "night") -> Path:
        return self.root / name

    def listed(self, name: str = "night") -> list[str]:
        """Reconcile what was captured; the lines of the list."""
        lists = self.root / "lists"
        code = self._main(
            *("reconcile", "--snapshot", f"file:{self.out(name)}", "--lake", f"file:{self.root}/lake"),
            *("--lists", f"file:{lists}", "--run-id", name),
        )
        assert code == 0
        return [line for part in (lists / "prod" / name).glob("part-*") for line in part.read_text().splitlines()]

    def _main(self, job: str, *options: str) -> int:
        clock = At(NOW + DECIDED_AFTER_MS)
        return main([job, *options], context=JobContext(job, clock, self.spark))


@pytest.fixture
def night(spark: SparkSession, tmp_path: Path) -> Night:
    return Night(spark, tmp_path)


def exported(directory: Path) -> dict[str, Any]:
    """A capture of nothing but an export."""
    return {
        "files": {"source": "ls"},
        "queues": {"source": "export"},
        "state": {"source": "export"},
        "export": {"path": f"file:{directory}"},
    }


def of_cells(night: Night, *texts: str, clock_host: str | None = EDGE) -> dict[str, Any]:
    """The same with the queues from two scans of one's own."""
    passes = []
    for step, text in zip(("queues-1", "queues-2"), texts, strict=True):
        path = night.root / f"{step}.jsonl"
        path.write_text(text)
        started, finished = (format_instant(at) for at in Exported(MADE).times[step])
        passes.append({"path": f"file:{path}", "started_at": started, "finished_at": finished})
    directory = Exported(MADE).write(night.root / "export")
    return {**exported(directory), "queues": {"source": "cells", "passes": passes, "clock_host": clock_host}}


@pytest.mark.long
def test_whole_scans_hold_what_a_peer_needs(night: Night) -> None:
    whole = text_of(closed(MADE.pass_1))
    assert night.run(of_cells(night, whole, whole)) == 0
    listed = night.listed()
    assert listed
    assert NEEDED not in listed


@pytest.mark.promise("cut-cells-are-refused")
def test_a_scan_that_was_cut_between_two_lines_is_refused(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    """Both passes lack the same row, so the capture would be quiet, and the file is in no queue that is left."""
    cut = text_of(cell_lines(MADE.pass_1)[:-1])
    assert night.run(of_cells(night, cut, cut)) == 3
    assert not night.out().exists()
    told = capsys.readouterr().err
    assert "queues-1.jsonl" in told
    assert "N row(s)" in told


@pytest.mark.promise("cut-simulated-queues-are-refused")
def test_queues_of_a_simulated_cluster_that_were_cut_are_refused(
    night: Night, capsys: pytest.CaptureFixture[str]
) -> None:
    write_cluster_files(MADE, night.root / "live")
    played = {"source": "simulated", "path": str(night.root / "live")}
    section = {"files": {"source": "hadoop"}, "queues": played, "state": played}
    root = f"file://{night.root}/live/hbase"
    assert night.run(section, "whole", root) == 0
    queues = night.root / "live" / "queues.jsonl"
    queues.write_text(text_of(queues.read_text().splitlines()[:-2]))
    assert night.run(section, "cut", root) == 3
    assert not night.out("cut").exists()
    assert "queues.jsonl: no closing `N row(s)`" in capsys.readouterr().err


@pytest.mark.promise("exit-2")
@pytest.mark.parametrize("out", ["file:/sys/walsafe/night", "file:/dev/null/night"])
def test_a_place_that_cannot_be_written_is_told_before_the_cluster_is_read(
    night: Night, capsys: pytest.CaptureFixture[str], out: str
) -> None:
    """Nobody may write below `/sys`, not even root."""
    write_cluster_files(MADE, night.root / "live")
    played = {"source": "simulated", "path": str(night.root / "live")}
    section = {"files": {"source": "hadoop"}, "queues": played, "state": played}
    assert night.run(section, wal_root=f"file://{night.root}/live/hbase", out=out) == 2
    told = capsys.readouterr().err
    assert f"{out.removeprefix('file:')} cannot be written" in told
    assert "check the path and its permissions" in told
    assert "Step files" not in told, "it was told before the listing"


STEPS = tuple(Exported(MADE).times)


@pytest.mark.long
@pytest.mark.promise("capture-says-whether-quiet")
def test_an_export_of_one_host_is_listed(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    assert night.run(exported(Exported(MADE).write(night.root / "export"))) == 0
    assert "the cluster was quiet.\n" in capsys.readouterr().out
    listed = night.listed()
    assert listed
    assert NEEDED not in listed


def test_a_capture_counts_what_holds_the_queues(night: Night, capsys: pytest.CaptureFixture[str]) -> None:
    assert night.run(exported(Exported(MADE).write(night.root / "table"))) == 0
    assert f" {len(MADE.pass_2)} queue cells, " in capsys.readouterr().out
    directory = zookeeper_export(MADE, znodes({})).write(night.root / "zookeeper")
    section = exported(directory)
    assert night.run({**section, "queues": {"source": "export", "storage": "zookeeper"}}, "of zk") == 0
    told = capsys.readouterr().out
    assert " 2 znodes, 1 peer; " in told
    assert f"{night.out('of zk')}' --config '" in told, "the next command survives pasting"


@pytest.mark.promise("one-clock")
@pytest.mark.parametrize("name", STEPS)
def test_a_part_that_another_host_has_stamped_is_refused(
    night: Night, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A host whose clock is ahead can stamp an order that loses data as the right one."""
    directory = Exported(MADE, hosts={name: "edge2"}).write(night.root / "export")
    assert night.run(exported(directory)) == 3
    assert not night.out().exists()
    assert "the clocks of two hosts do not show which was first" in capsys.readouterr().err


@pytest.mark.promise("one-clock")
@pytest.mark.parametrize("host", ["edge2", None])
def test_scans_beside_an_export_must_be_stamped_by_its_host(
    night: Night, host: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = text_of(closed(MADE.pass_1))
    assert night.run(of_cells(night, whole, whole, clock_host=host)) == 3
    assert not night.out().exists()
    told = capsys.readouterr().err
    assert ("two hosts" if host else "capture.queues.clock_host") in told


@pytest.mark.promise("listing-may-have-its-own-clock")
def test_a_listing_of_another_host_beside_an_export_is_refused(
    night: Night, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = Exported(MADE).write(night.root / "export")
    other = Exported(MADE, hosts={"files": "edge2"}).write(night.root / "other")
    section = {**exported(directory), "files": {"source": "ls", "path": f"file:{other}/files.txt"}}
    assert night.run(section) == 3
    assert not night.out().exists()
    assert "step 'files' was stamped by the clock of edge2" in capsys.readouterr().err
