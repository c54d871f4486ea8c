"""What changed since a day or an instant, from lakes that deltalake wrote: no JVM."""

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from pipelines.common.errors import UsageError
from pipelines.common.instants import DAY_MS, HOUR_MS
from pipelines.lake.run_summary import QueueOffsetRow, table_row
from pipelines.reconcile.explain.runs import since_of
from pipelines.reconcile.peer_states import PeerRow
from schemas.peers import PEERS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.queue_offsets import QUEUE_OFFSETS
from schemas.runs import RUNS
from schemas.verdict_changes import VERDICT_CHANGES
from schemas.verdict_totals import VERDICT_TOTALS
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.explained_nights import (
    FIRST,
    GIB,
    H1,
    H2,
    H3,
    ask,
    at,
    changes,
    four_nights,
    identity,
    key,
    verdict,
    write_night,
)
from tests.labs.plain_lake import append


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """See `four_nights`."""
    return four_nights(tmp_path_factory.mktemp("nights"))


@pytest.mark.promise("explain-since")
def test_what_changed_in_the_cluster_since_a_day(lake: Path) -> None:
    result, text = ask(lake, since=since_of("2024-10-05"))
    (change,) = result["changes"]
    assert change["since_run_id"] == "night-1"
    assert [(one["was"], one["became"], one["files"], one["bytes"]) for one in change["verdicts"]] == [
        (None, "HELD PENDING", 2, 10 * GIB),
        ("DELETABLE REPLICATED", None, 1, 5 * GIB),
        ("HELD PENDING", "DELETABLE REPLICATED", 1, GIB),
    ]
    assert "Verdicts, added up over 2 nights; a file that changed twice counts twice:" in text
    assert (change["new_servers"], change["gone_servers"]) == ([H3], [H2])
    assert (change["new_peers"], change["gone_peers"]) == (["1"], [])
    assert [one["owner"] for one in change["new_queues"]] == [H3]
    assert [(one["action"], one["files"], one["status"]) for one in change["cleanup"]] == [("CLEAN", 1, "DONE")]
    assert "compared with 2024-10-05 02:00 UTC (run night-1)" in text
    assert "  clean of run night-2 at 2024-10-06 03:00 UTC: 1 file, 5.0 GiB (DONE)" in text
    assert "HELD PENDING -> DELETABLE REPLICATED" in text


def test_a_file_that_changes_twice_counts_on_both_nights_and_a_night_decided_again_once(tmp_path: Path) -> None:
    nights = [[verdict(night, "a.1", reason)] for night, reason in enumerate(("PENDING", "REPLICATED", "PENDING"))]
    for night, files in enumerate(nights):
        write_night(tmp_path, night, files, before=nights[night - 1])
    again = {"run_id": "decided-again", "status": "DONE", "job": "reconcile", "files_started_at": FIRST + DAY_MS}
    append(tmp_path, RUNS, [identity(1) | again | {"at": FIRST + DAY_MS + 99}])
    append(tmp_path, VERDICT_CHANGES, [one | {"run_id": "decided-again"} for one in changes(1, nights[0], nights[1])])
    (change,) = ask(tmp_path, since=since_of("2024-10-04"))[0]["changes"]
    assert [(one["was"], one["became"], one["files"]) for one in change["verdicts"]] == [
        ("DELETABLE REPLICATED", "HELD PENDING", 1),
        ("HELD PENDING", "DELETABLE REPLICATED", 1),
    ]
    assert change["nights"] == 2


@pytest.mark.parametrize("lacking", ["table", "night"])
def test_verdicts_that_do_not_add_up_are_not_told(tmp_path: Path, lacking: str) -> None:
    nights = [[verdict(night, f"{one}.1", "PENDING") for one in range(1 + night)] for night in range(3)]
    for night, files in enumerate(nights):
        write_night(tmp_path, night, files, before=nights[night - 1])
    there = DeltaTable(tmp_path / VERDICT_CHANGES.name)
    if lacking == "night":
        there.delete("run_id = 'night-1'")
    else:
        shutil.rmtree(tmp_path / VERDICT_CHANGES.name)
    result, text = ask(tmp_path, since=since_of("2024-10-04"))
    assert result["changes"][0]["verdicts"] is None
    assert "  Verdicts: not known, because the table verdict_changes does not have every night since then." in text
    if lacking == "night":
        assert ask(tmp_path, since=since_of("2024-10-05"))[0]["changes"][0]["verdicts"]


@pytest.mark.promise("explain-since")
def test_what_changed_for_a_target(lake: Path) -> None:
    (change,) = ask(lake, peer="2", since=since_of("2024-10-06"))[0]["changes"]
    assert (change["was_state"], change["state"], change["bytes"]) == ("ENABLED", "DISABLED", 8 * GIB)
    assert [(one["was"], one["became"], one["files"], one["bytes"]) for one in change["verdicts"]] == [
        (None, "HELD", 1, 9 * GIB),
        ("HELD", None, 1, GIB),
    ]
    (change,) = ask(lake, server=H1, since=since_of("2024-10-06"))[0]["changes"]
    assert [(one["was"], one["became"]) for one in change["verdicts"]] == [("HELD PENDING", "DELETABLE REPLICATED")]
    assert (change["new_queues"], change["new_findings"], change["bytes"]) == ([], [], 0)
    result, text = ask(lake, "gone.1", "a.1", since=since_of("2024-10-06"))
    gone, free = result["changes"]
    assert (gone["was"], gone["became"], free["became"]) == ("DELETABLE REPLICATED", None, "DELETABLE REPLICATED")
    assert "  MOVED at 2024-10-06 03:00 UTC, by the list of run night-2" in text
    _, text = ask(lake, server=H3, since=since_of("2024-10-06"))
    assert f"  + error ORPHAN_QUEUE: {H3} left a queue" in text


@pytest.mark.parametrize(
    ("since", "run_id", "note"),
    [
        ("2024-10-06", "night-2", False),
        ("20241006", "night-2", False),
        ("2024-10-06T01:59z", "night-1", False),
        ("2024-10-06T01:59Z", "night-1", False),
        ("2024-10-06T04:00:00+02:00", "night-2", False),
        ("2024-10-06T02:00", "night-2", False),
        ("2024-10-01", "night-0", True),
    ],
)
def test_which_night_is_compared(lake: Path, since: str, run_id: str, note: bool) -> None:
    (change,) = ask(lake, since=since_of(since))[0]["changes"]
    assert change["since_run_id"] == run_id
    said = "explain looks back 40 days, and they have no DONE run of prod-a before 2024-10-01T00:00:00.000Z"
    assert (change["since_note"] or "").startswith(said) == note


@pytest.mark.parametrize("text", ["yesterday", "2024-13-01", "", "2024-10-06T25:00"])
def test_a_since_that_is_no_time_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="neither a day like"):
        since_of(text)


def test_a_since_after_the_newest_run_compares_nothing(lake: Path) -> None:
    with pytest.raises(UsageError, match="newest run, night-3"):
        ask(lake, since=since_of("2024-10-08"))


def test_what_only_removed_verdicts_could_tell_is_not_known(tmp_path: Path) -> None:
    """`maintain` removes the verdicts of old nights, and keeps their runs and small tables."""
    files = [verdict(0, "a.1", "PENDING"), verdict(0, "b.1", "REPLICATED", H2)]
    write_night(tmp_path, 0, files)
    write_night(tmp_path, 1, [one | identity(1) for one in files], before=files)
    DeltaTable(tmp_path / WAL_VERDICTS.name).delete("run_id = 'night-0'")
    since, now = since_of("2024-10-04"), at(1) + HOUR_MS
    (file,), text = (ask(tmp_path, "a.1", since=since, now=now)[0]["changes"], ask(tmp_path, "a.1", since=since)[1])
    assert (file["was"], file["became"], file["since_verdicts_known"]) == (None, "HELD PENDING", False)
    assert "! the lake no longer has the verdicts of run night-0 (maintain.keep.wal_verdicts)" in text
    assert "  not known -> HELD PENDING\n" in text
    for target in ({"peer": "2"}, {"server": H1}):
        result, text = ask(tmp_path, since=since, now=now, **target)
        assert result["changes"][0]["verdicts"] is None
        assert "  Verdicts: not known.\n" in text
        assert "not held ->" not in text
    (server,) = result["changes"]
    assert (server["files"], server["bytes"]) == (None, None)
    result, text = ask(tmp_path, since=since, now=now)
    (cluster,) = result["changes"]
    assert (cluster["new_servers"], cluster["gone_servers"], cluster["verdicts"]) == (None, None, [])
    assert "+ server" not in text


def test_sizes_of_a_night_whose_totals_are_gone_are_not_known(tmp_path: Path) -> None:
    for night in range(2):
        write_night(tmp_path, night, [verdict(night, "a.1", "PENDING")])
    for table in (VERDICT_TOTALS, PINNED_BYTES):
        DeltaTable(tmp_path / table.name).delete("run_id = 'night-0'")
    since, now = since_of("2024-10-04"), at(1) + HOUR_MS
    for target in ({}, {"peer": "2"}):
        result, text = ask(tmp_path, since=since, now=now, **target)
        assert (result["changes"][0]["files"], result["changes"][0]["bytes"]) == (None, None)
        assert "  Sizes: not known, because the lake does not have those of both nights.\n" in text
    result, text = ask(tmp_path, now=now)
    assert result["state"]["changes"]["bytes"] is None
    assert "  Sizes: not known" in text


def test_what_only_removed_verdicts_had_is_perhaps_unknown(tmp_path: Path) -> None:
    write_night(tmp_path, 0, [verdict(0, "a.1", "REPLICATED", H2)])
    write_night(tmp_path, 1, [verdict(1, "b.1", "PENDING")])
    DeltaTable(tmp_path / WAL_VERDICTS.name).delete("run_id = 'night-0'")
    since, now = since_of("2024-10-04"), at(1) + HOUR_MS
    with pytest.raises(
        UsageError, match=r": not among the files .*; the lake no longer has the verdicts of run night-0"
    ):
        ask(tmp_path, "a.1", since=since, now=now)
    with pytest.raises(UsageError, match=r": no queue and no file .*startcode; the lake no longer has the verdicts of"):
        ask(tmp_path, server=H2, since=since, now=now)


def test_a_target_of_either_night_is_known_and_any_other_is_an_error(lake: Path) -> None:
    since = since_of("2024-10-06")
    (gone,) = ask(lake, server=H2, since=since)[0]["changes"]
    assert [(one["was"], one["became"]) for one in gone["verdicts"]] == [("DELETABLE REPLICATED", None)]
    with pytest.raises(UsageError, match=r"server h9: no queue .* newest run of prod-a and in run night-2; write"):
        ask(lake, server="h9", since=since)
    with pytest.raises(
        UsageError, match=r"peer 9 neither exists .* in the runs night-2 and night-3; their peers: 1, 2$"
    ):
        ask(lake, peer="9", since=since)


def test_of_two_servers_that_a_name_fits_equally_the_one_of_the_newest_run_is_meant(tmp_path: Path) -> None:
    """It was started again between the nights."""
    again = H1.replace(",5", ",9")
    write_night(tmp_path, 0, [verdict(0, "a.1", "PENDING", H1)])
    write_night(tmp_path, 1, [verdict(1, "b.1", "PENDING", again)])
    assert ask(tmp_path, server="h1", since=since_of("2024-10-04"))[0]["changes"][0]["server"] == again


def test_a_night_of_which_nobody_knows_what_a_peer_held_is_not_one_with_nothing(tmp_path: Path) -> None:
    """`maintain` has removed `pinned_bytes` of the first two nights; on the second, no file waited for a peer."""
    for night, reason in enumerate(("PENDING", "REPLICATED", "PENDING", "PENDING")):
        write_night(tmp_path, night, [verdict(night, "a.1", reason)])
    DeltaTable(tmp_path / PINNED_BYTES.name).delete("run_id IN ('night-0', 'night-1')")
    trend = ask(tmp_path, peer="2")[0]["peer"]["trend"]
    assert [(one["listed_at"][:10], one["bytes"]) for one in trend] == [
        ("2024-10-05", 0),
        ("2024-10-06", GIB),
        ("2024-10-07", GIB),
    ]


def test_the_state_of_a_peer_that_holds_nothing_is_known(tmp_path: Path) -> None:
    """A peer that holds no archived file has no row in `pinned_bytes`."""
    for night, state in enumerate(("ENABLED", "DISABLED")):
        write_night(tmp_path, night, [verdict(night, "a.1", "PENDING")])
        queue = QueueOffsetRow("1", True, H1, H1, False, "g", "w", 3, 5, 0, 0)
        append(tmp_path, QUEUE_OFFSETS, [table_row(key(night), queue)])
        row = PeerRow("1", state, at(night), 1, None, *([None] * 5))
        append(tmp_path, PEERS, [table_row(key(night), row)])
    now = at(1) + HOUR_MS
    result, text = ask(tmp_path, peer="1", now=now)
    assert (result["peer"]["peer_state"], result["peer"]["files"]) == ("DISABLED", 0)
    assert text.startswith("peer 1 (DISABLED)\n")
    assert "  Disabled at least since 2024-10-05 02:00 UTC (1 night)\n" in text
    assert [one["bytes"] for one in result["peer"]["trend"]] == [0, 0], "a night on which it held nothing is a night"
    result, text = ask(tmp_path, peer="1", since=since_of("2024-10-04"), now=now)
    assert "  was ENABLED, is DISABLED\n" in text
    removed = identity(1) | {"run_id": "removed"}
    run = {"job": "reconcile", "status": "DONE", "files_started_at": at(1) + 9, "at": at(1) + 99, "peer_ids": ["2"]}
    append(tmp_path, RUNS, [removed | run])
    assert "  was ENABLED, is not there\n" in ask(tmp_path, peer="1", since=since_of("2024-10-04"), now=now)[1]
