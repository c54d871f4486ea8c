"""The text of `hdfs dfs -ls`: right answers, and never an exception that is not our own."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.capture.sources.ls_text_files import LsText
from pipelines.capture.sources.saved_listings import end_of_minute
from pipelines.common.errors import MalformedError, UsageError, WalsafeError
from tests.labs.listed_files import H1, ROOT, rows_of

VIENNA = ZoneInfo("Europe/Vienna")


def instant(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


LATER = instant("2026-11-21T05:00")


class TestMinutes:
    @pytest.mark.promise("ls-counts-to-the-end-of-the-minute")
    def test_the_end_of_the_minute_counts(self) -> None:
        assert end_of_minute("2026-11-21 03:00", VIENNA, LATER) == instant("2026-11-21T02:00:59.999")

    @pytest.mark.promise("ls-counts-to-the-end-of-the-minute")
    def test_of_an_hour_that_comes_twice_the_later_counts(self) -> None:
        assert end_of_minute("2026-10-25 02:30", VIENNA, LATER) == instant("2026-10-25T01:30:59.999")

    @pytest.mark.parametrize(
        ("listed_at", "counts"),
        [
            ("2026-11-21T02:00:59.999", "2026-11-21T02:00:59.999"),
            ("2026-11-21T02:00:20", "2026-11-21T02:00:20"),
            ("2026-11-21T02:00:00", "2026-11-21T02:00:00"),
            ("2026-11-21T01:59:59.999", "2026-11-21T02:00:59.999"),
        ],
    )
    @pytest.mark.promise("ls-counts-to-the-end-of-the-minute")
    def test_of_the_minute_in_which_the_listing_ended_that_end_counts(self, listed_at: str, counts: str) -> None:
        """A minute that began after it is the future, which only clocks that differ can print."""
        assert end_of_minute("2026-11-21 03:00", VIENNA, instant(listed_at)) == instant(counts)

    @given(st.text(max_size=20))
    def test_anything_else_is_our_error(self, text: str) -> None:
        try:
            end_of_minute(text, VIENNA, LATER)
        except MalformedError:
            return
        assert len(text.strip()) > 8


class TestLsText:
    text = LsText(ROOT, VIENNA, "ls.txt", LATER)

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
        with pytest.raises(UsageError, match=r"files below WALs/h1,16020,5, but no line for that directory; list WALs"):
            self.text.directories(enumerate(lines[1:], 1))
