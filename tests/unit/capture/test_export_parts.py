"""Parts that the export script writes: whole and stamped, or refused in our own words."""

import base64
import json
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipelines.capture.sources.export_parts import ExportDirectory, ExportPart
from pipelines.capture.sources.exported_state import ExportedState, ServersForm
from pipelines.capture.sources.saved_scans import parse_cell, scanned_cells
from pipelines.common.errors import SnapshotError, UsageError, WalsafeError
from pipelines.files.saved_text import LocalCopies, lines_of
from pipelines.hbase.known_servers import KnownServers
from pipelines.hbase.peers import Peer
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.server_names import ServerName
from tests.labs.listed_files import H1, ROOT

UTC = ZoneInfo("UTC")


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def cell_line(row: str, value: str = "v") -> str:
    return json.dumps({"row": b64(row), "family": b64("queue"), "qualifier": b64("g"), "value": b64(value)})


class TestExportedCells:
    def test_rows_are_counted_not_cells(self) -> None:
        lines = [cell_line("1"), cell_line("1"), cell_line("2"), "2 row(s)"]
        cells = list(scanned_cells(enumerate(lines, 1), "q"))
        assert cells == [Cell(row, b"queue", b"g", b"v") for row in (b"1", b"1", b"2")]

    @pytest.mark.parametrize(
        ("lines", "words"),
        [
            ([cell_line("1")], "closing `N row"),
            ([], "closing `N row"),
            ([cell_line("1"), "2 row(s)"], "1 rows, but its closing line says 2"),
            (["0 row(s)", cell_line("1")], "text follows|there is text after"),
        ],
    )
    def test_a_scan_that_is_not_whole_is_refused(self, lines: list[str], words: str) -> None:
        with pytest.raises(SnapshotError, match=words):
            list(scanned_cells(enumerate(lines, 1), "q"))

    @given(st.text())
    @example('{"row":"AA==","family":"AA==","qualifier":"AA==","value":"A"}')
    @example('{"row":"AA==","family":"AA==","qualifier":"AA==","value":"AA==","more":1}')
    @example("[" * 100_000)
    def test_anything_else_is_our_error(self, line: str) -> None:
        with pytest.raises(UsageError, match="q, line 7"):
            parse_cell(line, "q, line 7")


class TestExportParts:
    BEGIN = "# walsafe-export 1 online started 2026-11-21T02:00:00.000Z host edge1 zone UTC"
    END = "# walsafe-export end online finished 2026-11-21T02:00:01.500Z status 0"

    @staticmethod
    def part(tmp_path: Path, *lines: str, end: str = "\n") -> ExportPart:
        file = tmp_path / "online.txt"
        file.write_text("\n".join(lines) + end)
        return ExportPart(file, "online", "online.txt")

    def test_stamps_and_content(self, tmp_path: Path) -> None:
        part = self.part(tmp_path, self.BEGIN, '{"servers": ["h1,16020,5"]}', self.END)
        stamp = part.stamp()
        assert (stamp.step.step, stamp.step.finished_at - stamp.step.started_at) == ("online", 1500)
        assert (stamp.host, stamp.zone.key) == ("edge1", "UTC")
        assert part.value(ServersForm).servers == ("h1,16020,5",)

    @pytest.mark.parametrize(
        ("lines", "words"),
        [
            ([BEGIN, "{}"], "cut off"),
            (["{}", END], "not a part 'online'"),
            ([BEGIN.replace("online", "peers"), END], "not a part 'online'"),
            ([BEGIN, "{}", END.replace("status 0", "status 1")], "should close step"),
            ([BEGIN, "{}", END, "more"], "text follows|there is text after"),
            ([BEGIN, "# walsafe-export 1 online started", END], "should close step"),
            ([BEGIN.replace("UTC", "Nowhere/Land"), "{}", END], "not write such a stamp"),
            ([BEGIN.replace(":00.000Z", ""), "{}", END], "not write such a stamp"),
            ([BEGIN, "{", END], "one line of JSON"),
            ([BEGIN, END], "one line of JSON"),
            ([BEGIN, "[]", END], "must be an object of keys and values"),
        ],
    )
    def test_what_the_script_does_not_write_is_refused(self, tmp_path: Path, lines: list[str], words: str) -> None:
        def read() -> None:
            part = self.part(tmp_path, *lines)
            part.stamp()
            part.value(ServersForm)

        with pytest.raises(SnapshotError, match=words):
            read()

    def test_a_line_cut_in_the_middle_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="line 2: cut off"):
            self.part(tmp_path, self.BEGIN, '{"servers": ["h1,16020,', end="").stamp()

    def test_a_missing_part_is_named(self, tmp_path: Path) -> None:
        export = ExportDirectory(str(tmp_path), LocalCopies())
        with pytest.raises(UsageError, match=r"crashing\.txt; export\.path must be"):
            ExportedState(export, ROOT).crashing("crashing")

    def test_dead_and_online_servers(self, tmp_path: Path) -> None:
        self.part(tmp_path, self.BEGIN, '{"dead": ["h2,16020,6"], "servers": ["h1,16020,5"]}', self.END)
        state = ExportedState(ExportDirectory(str(tmp_path), LocalCopies()), ROOT)
        assert state.servers("online") == KnownServers(frozenset({H1}), frozenset({ServerName("h2", 16020, 6)}))

    def test_a_peer_may_have_an_empty_cluster_key(self, tmp_path: Path) -> None:
        peer = {"peer_id": "1", "state": "ENABLED", "cluster_key": "", "endpoint": "com.acme.Sink"}
        lines = (
            self.BEGIN.replace("online", "peers"),
            json.dumps({"peers": [peer]}),
            self.END.replace("online", "peers"),
        )
        (tmp_path / "peers.txt").write_text("\n".join((*lines, "")))
        assert ExportedState(ExportDirectory(str(tmp_path), LocalCopies()), ROOT).peers() == (Peer(**peer),)

    def test_an_export_of_an_older_script_is_refused(self, tmp_path: Path) -> None:
        """It does not say who died, so a row may have been moved past both passes unseen."""
        self.part(tmp_path, self.BEGIN, '{"servers": ["h1,16020,5"]}', self.END)
        with pytest.raises(UsageError, match=r"online\.txt has no list of dead servers: .* export again"):
            ExportedState(ExportDirectory(str(tmp_path), LocalCopies()), ROOT).servers("online")

    @pytest.mark.promise("loading-master-is-no-answer")
    @pytest.mark.parametrize("step", ["crashing", "crashing-2"])
    def test_an_export_that_may_have_taken_the_proof_of_another_master_is_refused(
        self, tmp_path: Path, step: str
    ) -> None:
        """An older script asked for the proof first; another master could take over before it asked for the name."""

        def master(**said: object) -> str:
            document = json.dumps({"active_master": "m1,16000,5", "procedures": "[]", **said})
            lines = (self.BEGIN.replace("online", step), document, self.END.replace("online", step), "")
            (tmp_path / f"{step}.txt").write_text("\n".join(lines))
            return ExportedState(ExportDirectory(str(tmp_path), LocalCopies()), ROOT).active_master(step)

        refusal = rf"{step}\.txt does not say that the master was named before its proof: .* export again"
        for said in ({}, {"named_first": None}, {"named_first": False}):
            with pytest.raises(UsageError, match=refusal):
                master(**said)
        assert master(named_first=True) == "m1,16000,5"

    @given(
        st.lists(
            st.sampled_from(
                [BEGIN, END, "{}", "", '{"servers": 5}', '{"dead": [], "servers": ["h"]}', "# walsafe-export end x"]
            )
            | st.text(),
            max_size=5,
        )
    )
    def test_anything_else_is_our_error(self, tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
        directory = tmp_path_factory.mktemp("export")
        (directory / "online.txt").write_text("\n".join(lines) + "\n", encoding="utf-8", errors="replace")
        state = ExportedState(ExportDirectory(str(directory), LocalCopies()), ROOT)
        with pytest.raises(WalsafeError):
            state.servers("online")


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"good\n\xff\n")
    with pytest.raises(UsageError, match="line 2: not UTF-8"):
        list(lines_of(file, "f"))
