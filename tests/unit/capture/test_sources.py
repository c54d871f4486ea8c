"""Parsers of the capture's inputs: right answers, and never an exception that is not our own."""

import base64
import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipelines.capture.sources.export_parts import ExportDirectory, ExportPart
from pipelines.capture.sources.exported_cells import parse_cell, scanned_cells
from pipelines.capture.sources.exported_state import ExportedState
from pipelines.capture.sources.ls_text_files import LsText
from pipelines.capture.sources.minutes import end_of_minute
from pipelines.capture.sources.wal_tree import Entry, NoSuchDirectoryError, WalTree
from pipelines.common.errors import MalformedError, SnapshotError, UnavailableError, UsageError, WalsafeError
from pipelines.files.file_batch import FileBatch
from pipelines.files.saved_text import SavedFiles, lines_of
from pipelines.hbase.known_servers import Servers
from pipelines.hbase.procedures import ADD_PEER, MIGRATION, crashing, is_running, parse_procedures
from pipelines.hbase.replication_queues import Cell
from pipelines.hbase.server_names import ServerName

ROOT = "hdfs://ns1/hbase"
UTC = ZoneInfo("UTC")
VIENNA = ZoneInfo("Europe/Vienna")
H1 = ServerName("h1", 16020, 5)


def instant(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1000)


class TestMinutes:
    @pytest.mark.promise("ls-counts-to-the-end-of-the-minute")
    def test_the_end_of_the_minute_counts(self) -> None:
        assert end_of_minute("2026-11-21 03:00", VIENNA) == instant("2026-11-21T02:00:59.999")

    @pytest.mark.promise("ls-counts-to-the-end-of-the-minute")
    def test_of_an_hour_that_comes_twice_the_later_counts(self) -> None:
        assert end_of_minute("2026-10-25 02:30", VIENNA) == instant("2026-10-25T01:30:59.999")

    @given(st.text(max_size=20))
    def test_anything_else_is_our_error(self, text: str) -> None:
        try:
            end_of_minute(text, VIENNA)
        except MalformedError:
            return
        assert len(text.strip()) > 8


class TestLsText:
    text = LsText(ROOT, VIENNA, "ls.txt")

    def rows(self, *lines: str) -> list[tuple[str, int, int]]:
        return rows_of(self.text.batches(enumerate(lines, 1)))

    def test_full_uris_bare_paths_and_odd_owners(self) -> None:
        assert self.rows(
            "drwxr-xr-x   - hbase hbase          0 2026-11-21 03:00 /hbase/WALs/h1,16020,5",
            "-rw-r--r--   3 hbase domain users   90 2026-11-21 03:00 /hbase/WALs/h1,16020,5/h1%2C16020%2C5.7",
            "",
            "drwxr-xr-x+  - hbase hbase          0 2026-11-21 03:00 hdfs://ns1/hbase/oldWALs/sub",
            "-rw-r--r--+  3 hbase hbase 1099511627776 2026-11-21 03:01 hdfs://ns1/hbase/oldWALs/sub/a b ",
        ) == [
            ("oldWALs/sub/a b ", 1 << 40, instant("2026-11-21T02:01:59.999")),
            ("WALs/h1,16020,5/h1%2C16020%2C5.7", 90, instant("2026-11-21T02:00:59.999")),
        ]

    def test_a_file_that_moved_is_one_file_in_old_wals(self) -> None:
        assert [row[:2] for row in self.rows(
            "-rw-r--r--   3 hbase hbase  1 2026-11-21 03:00 /hbase/WALs/h1,16020,5/x.7",
            "-rw-r--r--   3 hbase hbase  2 2026-11-21 03:00 /hbase/oldWALs/x.7",
        )] == [("oldWALs/x.7", 2)]  # fmt: skip

    def test_a_copy_of_synchronous_replication_is_a_file_of_its_own(self) -> None:
        assert [row[:2] for row in self.rows(
            "-rw-r--r--   3 hbase hbase  1 2026-11-21 03:00 /hbase/remoteWALs/1/x.7",
            "-rw-r--r--   3 hbase hbase  2 2026-11-21 03:00 /hbase/oldWALs/x.7",
        )] == [("oldWALs/x.7", 2), ("remoteWALs/1/x.7", 1)]  # fmt: skip

    @pytest.mark.parametrize(
        ("lines", "words"),
        [
            (["Found 2 items"], "line 1: not a line of"),
            (["-rw-r--r--   3 hbase hbase  1.0 K 2026-11-21 03:00 /hbase/oldWALs/x.7"], "no -h"),
            (["-rw-r--r--   3 h h  1 2026-13-21 03:00 /hbase/oldWALs/x.7"], "line 1: not a time"),
            (["-rw-r--r--   3 h h  1 2026-11-21 03:00 /other/oldWALs/x.7"], "not below wal_root"),
            (["-rw-r--r--   3 h h  1 2026-11-21 03:00 /hbase/corrupt/x.7"], "below none of"),
            (
                [
                    "-rw-r--r--   3 h h  1 2026-11-21 03:00 /hbase/oldWALs/x.7",
                    "-rw-r--r--   3 h h  1 2026-11-21 03:00 /hbase/WALs/s/y.7",
                ],
                "WALs first, oldWALs last",
            ),
        ],
    )
    def test_other_text_is_refused_by_line(self, lines: list[str], words: str) -> None:
        with pytest.raises(UsageError, match=words):
            self.rows(*lines)

    @given(st.lists(st.text(alphabet="-drwx0123456789: /hbaseoldWALs,.%\t", max_size=90), max_size=4))
    def test_anything_else_is_our_error(self, lines: list[str]) -> None:
        try:
            self.rows(*lines)
        except WalsafeError:
            return
        assert all(line == "" or line[0] in "-dl" for line in lines)

    def test_directories_of_servers(self) -> None:
        lines = [
            "drwxr-xr-x   - h h          0 2026-11-21 03:00 /hbase/WALs/h1,16020,5-splitting",
            "-rw-r--r--   3 h h         90 2026-11-21 03:00 /hbase/WALs/h1,16020,5-splitting/x.7",
            "drwxr-xr-x   - h h          0 2026-11-21 03:00 /hbase/WALs/hbase-operator",
        ]
        (found,) = self.text.directories(enumerate(lines, 1))
        assert (found.server, found.entries, found.modification_time) == (H1, 1, instant("2026-11-21T02:00:59.999"))
        with pytest.raises(UsageError, match=r"files below WALs/h1,16020,5, but no line of that directory; list WALs"):
            self.text.directories(enumerate(lines[1:], 1))


class TestProcedures:
    @staticmethod
    def crash(kind: str = "ServerCrashProcedure", state: str = "RUNNABLE") -> dict[str, object]:
        server = {"hostName": "H1", "port": 16020, "startCode": "5"}
        name = f"org.apache.hadoop.hbase.master.procedure.{kind}"
        return {"className": name, "state": state, "stateMessage": [{}, {"serverName": server, "carryingMeta": False}]}

    @pytest.mark.promise("unfinished-crash-counts")
    @pytest.mark.parametrize("kind", ["ServerCrashProcedure", "HBCKServerCrashProcedure"])
    @pytest.mark.parametrize("state", ["INITIALIZING", "RUNNABLE", "WAITING_TIMEOUT", "ROLLEDBACK", "FAILED"])
    def test_every_state_but_success_is_unfinished(self, kind: str, state: str) -> None:
        text = json.dumps([self.crash(kind, state), self.crash(state="SUCCESS")])
        assert crashing(parse_procedures(text)) == {H1}

    def test_a_finished_crash_is_over(self) -> None:
        assert crashing(parse_procedures(json.dumps([self.crash(state="SUCCESS")]))) == frozenset()

    @pytest.mark.parametrize(
        ("state", "running"), [("RUNNABLE", True), ("FAILED", True), ("SUCCESS", False), ("ROLLEDBACK", False)]
    )
    def test_add_peer(self, state: str, running: bool) -> None:
        text = json.dumps([{"className": f"a.b.{ADD_PEER}", "state": state}])
        assert is_running(parse_procedures(text), ADD_PEER) is running

    UNREADABLE = (
        "org.apache.hbase.thirdparty.com.google.protobuf.InvalidProtocolBufferException: "
        "Cannot find type for url: type.googleapis.com/hbase.pb."
    )

    def test_what_only_hbase_3_has_does_not_hide_the_crash_it_belongs_to(self) -> None:
        text = json.dumps([self.crash(state="WAITING"), f"{self.UNREADABLE}AssignReplicationQueuesStateData"])
        procedures = parse_procedures(text)
        assert crashing(procedures) == {H1}
        assert not is_running(procedures, ADD_PEER)
        assert not is_running(procedures, MIGRATION)

    def test_a_migration_that_cannot_be_read_counts_as_running(self) -> None:
        text = json.dumps([f"{self.UNREADABLE}MigrateReplicationQueueFromZkToTableStateData"])
        assert is_running(parse_procedures(text), MIGRATION)

    @pytest.mark.parametrize("state", ["ServerCrashStateData", "AddPeerStateData", "SomethingOfTomorrow", ""])
    def test_any_other_unreadable_procedure_is_no_answer(self, state: str) -> None:
        with pytest.raises(MalformedError, match="cannot read"):
            parse_procedures(json.dumps([f"{self.UNREADABLE}{state}"]))

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{}",
            "[1]",
            "[{}]",
            '[{"className": "a.ServerCrashProcedure", "state": 5}]',
            '[{"className": "a.ServerCrashProcedure", "state": "RUNNABLE"}]',
            '[{"className": "a.ServerCrashProcedure", "state": "RUNNABLE", "stateMessage": [{"serverName": "h"}]}]',
            '[{"className": "a.ServerCrashProcedure", "state": "RUNNABLE", "stateMessage": [{"serverName": {}}]}]',
        ],
    )
    def test_what_could_hide_a_crash_is_no_answer(self, text: str) -> None:
        with pytest.raises(MalformedError):
            crashing(parse_procedures(text))

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda x: (
                st.lists(x)
                | st.dictionaries(
                    st.sampled_from(["className", "state", "stateMessage", "serverName", "hostName", "port"]), x
                )
            ),
        )
    )
    def test_anything_else_is_our_error(self, document: object) -> None:  # fmt: skip
        try:
            found = crashing(parse_procedures(json.dumps(document)))
        except MalformedError:
            return
        assert isinstance(document, list)
        assert isinstance(found, frozenset)


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
            (["0 row(s)", cell_line("1")], "something follows"),
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
        assert part.form().texts("servers") == ["h1,16020,5"]

    @pytest.mark.parametrize(
        ("lines", "words"),
        [
            ([BEGIN, "{}"], "cut off"),
            (["{}", END], "not a part 'online'"),
            ([BEGIN.replace("online", "peers"), END], "not a part 'online'"),
            ([BEGIN, "{}", END.replace("status 0", "status 1")], "did not end well"),
            ([BEGIN, "{}", END, "more"], "something follows"),
            ([BEGIN, "# walsafe-export 1 online started", END], "did not end well"),
            ([BEGIN.replace("UTC", "Nowhere/Land"), "{}", END], "a stamp that"),
            ([BEGIN.replace(":00.000Z", ""), "{}", END], "a stamp that"),
            ([BEGIN, "{", END], "one line of JSON"),
            ([BEGIN, END], "one line of JSON"),
            ([BEGIN, "[]", END], "expected a JSON object"),
        ],
    )
    def test_what_the_script_does_not_write_is_refused(self, tmp_path: Path, lines: list[str], words: str) -> None:
        def read() -> None:
            part = self.part(tmp_path, *lines)
            part.stamp()
            part.form()

        with pytest.raises(SnapshotError, match=words):
            read()

    def test_a_line_cut_in_the_middle_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="line 2: cut off"):
            self.part(tmp_path, self.BEGIN, '{"servers": ["h1,16020,', end="").stamp()

    def test_a_missing_part_is_named(self, tmp_path: Path) -> None:
        export = ExportDirectory(str(tmp_path), SavedFiles())
        with pytest.raises(UsageError, match=r"crashing\.txt; export\.path must be"):
            ExportedState(export, ROOT).crashing("crashing")

    def test_dead_and_online_servers(self, tmp_path: Path) -> None:
        self.part(tmp_path, self.BEGIN, '{"dead": ["h2,16020,6"], "servers": ["h1,16020,5"]}', self.END)
        state = ExportedState(ExportDirectory(str(tmp_path), SavedFiles()), ROOT)
        assert state.servers("online") == Servers(frozenset({H1}), frozenset({ServerName("h2", 16020, 6)}))

    def test_an_export_of_an_older_script_is_refused(self, tmp_path: Path) -> None:
        """It does not say who died, so a row may have been moved past both passes unseen."""
        self.part(tmp_path, self.BEGIN, '{"servers": ["h1,16020,5"]}', self.END)
        with pytest.raises(UsageError, match=r"online\.txt has no list of dead servers: .* export again"):
            ExportedState(ExportDirectory(str(tmp_path), SavedFiles()), ROOT).servers("online")

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
        state = ExportedState(ExportDirectory(str(directory), SavedFiles()), ROOT)
        with pytest.raises(WalsafeError):
            state.servers("online")


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"good\n\xff\n")
    with pytest.raises(UsageError, match="line 2: not UTF-8"):
        list(lines_of(file, "f"))


def rows_of(batches: Iterator[FileBatch]) -> list[tuple[str, int, int]]:
    return [row for batch in batches for row in zip(batch.paths, batch.lengths, batch.modification_times, strict=True)]


class Tree:
    """A file system whose directories are renamed while they are listed."""

    def __init__(self, directories: dict[str, list[Entry]], moves: Sequence[tuple[str, str]] = ()) -> None:
        self.directories = directories
        self.moves = list(moves)

    def pages(self, directory: str) -> Iterator[Sequence[Entry]]:
        if directory not in self.directories:
            raise NoSuchDirectoryError(directory)
        for entry in list(self.directories[directory]):
            yield [entry]
        for source, target in self.moves:
            if source in self.directories:
                self.directories[target] = self.directories.pop(source)
                parent, _, name = source.rpartition("/")
                kept = [entry for entry in self.directories[parent] if entry.name != name]
                self.directories[parent] = [*kept, Entry(target.rpartition("/")[2], True, 0, 9)]


def directory(name: str) -> Entry:
    return Entry(name, True, 0, 9)


class TestWalTree:
    @pytest.mark.promise("live-before-archived")
    def test_live_first_archived_last_and_each_once(self) -> None:
        tree = Tree(
            {
                "WALs": [directory("h1,16020,5")],
                "WALs/h1,16020,5": [Entry("a.1", False, 1, 1), Entry("b.2", False, 2, 2)],
                "oldWALs": [Entry("c.0", False, 3, 3), directory("h1,16020,5")],
                "oldWALs/h1,16020,5": [Entry("a.1", False, 4, 4)],
            }
        )
        assert rows_of(WalTree(tree, ROOT).files()) == [
            ("oldWALs/c.0", 3, 3),
            ("oldWALs/h1,16020,5/a.1", 4, 4),
            ("WALs/h1,16020,5/b.2", 2, 2),
        ]

    @pytest.mark.promise("live-before-archived")
    def test_a_directory_renamed_meanwhile_is_read_under_its_new_name(self) -> None:
        tree = Tree(
            {
                "WALs": [directory("h1,16020,5")],
                "WALs/h1,16020,5": [Entry("a.1", False, 1, 1)],
                "oldWALs": [],
            },
            moves=[("WALs/h1,16020,5", "WALs/h1,16020,5-splitting")],
        )
        assert [row[0] for row in rows_of(WalTree(tree, ROOT).files())] == ["WALs/h1,16020,5-splitting/a.1"]

    def test_a_directory_that_vanishes_is_not_called_empty(self) -> None:
        tree = Tree(
            {"WALs": [directory("h1,16020,5")], "WALs/h1,16020,5": []},
            moves=[("WALs/h1,16020,5", "WALs/h1,16020,5-splitting")],
        )
        (found,) = WalTree(tree, ROOT).wal_directories()
        assert (found.server, found.entries) == (H1, 1)

    def test_both_names_of_a_server_are_one_directory(self) -> None:
        tree = Tree(
            {
                "WALs": [directory("h1,16020,5"), directory("H1,16020,5-splitting"), directory("operator")],
                "WALs/h1,16020,5": [Entry("a.1", False, 1, 1)],
                "WALs/H1,16020,5-splitting": [Entry("b.1", False, 1, 1)],
            }
        )
        (found,) = WalTree(tree, ROOT).wal_directories()
        assert (found.server, found.entries) == (H1, 2)

    @pytest.mark.parametrize("present", ["WALs", "oldWALs"])
    def test_a_root_without_its_directories_is_the_wrong_root(self, present: str) -> None:
        tree = WalTree(Tree({present: []}), ROOT)

        def read() -> None:
            list(tree.files())
            tree.wal_directories()

        with pytest.raises(UsageError, match="check wal_root"):
            read()

    def test_directories_that_never_rest_end_the_capture(self) -> None:
        class Restless(Tree):
            def pages(self, directory: str) -> Iterator[Sequence[Entry]]:
                if directory.startswith("WALs/"):
                    raise NoSuchDirectoryError(directory)
                return super().pages(directory)

        with pytest.raises(UnavailableError, match="kept changing"):
            list(WalTree(Restless({"WALs": [directory("h1,16020,5")], "oldWALs": []}), ROOT).files())
