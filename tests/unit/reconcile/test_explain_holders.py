"""What `explain` says of files, their holders and servers, on odd data too: no JVM."""

from pathlib import Path

import pytest

from pipelines.common.errors import UsageError
from pipelines.common.instants import HOUR_MS
from pipelines.lake.run_summary import PinnedRow, table_row
from pipelines.reconcile.explain.explain import ExplainRequest, explain
from pipelines.reconcile.explain.runs import since_of
from schemas.findings import FINDINGS
from schemas.pinned_bytes import PINNED_BYTES
from schemas.queue_offsets import QUEUE_OFFSETS
from schemas.runs import RUNS
from schemas.wal_verdicts import WAL_VERDICTS
from tests.labs.explained_nights import GIB, H1, H2, ask, at, identity, key, verdict, write_night
from tests.labs.plain_lake import append, reader
from tests.labs.small_cluster import At


def test_a_server_whose_files_have_no_length_has_no_bytes(tmp_path: Path) -> None:
    """The only run was refused, for the listing lacked a length."""
    refused = {"job": "reconcile", "mode": "NIGHTLY", "status": "REFUSED", "reason": "a length is missing"}
    append(tmp_path, RUNS, [identity(0) | refused | {"files_started_at": at(0), "at": at(0) + 9}])
    file = verdict(0, "a.1", "SNAPSHOT_UNTRUSTED") | {"verdict": "HELD", "length": None}
    append(tmp_path, WAL_VERDICTS, [file])
    append(tmp_path, PINNED_BYTES, [])
    append(tmp_path, QUEUE_OFFSETS, [])
    result, text = ask(tmp_path, server=H1)
    (row,) = result["server"]["files"]
    assert (row["reason"], row["files"], row["bytes"]) == ("SNAPSHOT_UNTRUSTED", 1, 0)
    assert "0 B" in text
    assert row["way_out"].startswith("look at the run's reason")
    assert f"HELD SNAPSHOT_UNTRUSTED\n      What frees them: {row['way_out']}\n" in text


def test_a_holder_without_an_offset_has_no_date_but_a_remedy(tmp_path: Path) -> None:
    """Earlier nights have nothing of it to compare, so nobody knows since when it holds the file."""
    nobody = {"peer_id": "2", "owner": None, "source": H1, "wal": None, "offset": None}
    for night in range(2):
        file = verdict(night, "a.1", "PENDING") | {"reason": "QUEUE_MISSING", "wal_group": "g", "wal_timestamp": 9}
        write_night(tmp_path, night, [file | {"blocking": [nobody]}])
    pin = PinnedRow("queue", "2", "ENABLED", None, H1, None, 1, GIB, 0, 0, 1, GIB, remedy="wait")
    append(tmp_path, PINNED_BYTES, [table_row(key(1), pin)])
    result, text = ask(tmp_path, "a.1", now=at(1) + HOUR_MS)
    (holder,) = result["files"][0]["holders"]
    assert (holder["since"], holder["nights"], holder["remedy"]) == (None, None, "wait")
    assert "Held by peer 2, which has no queue for its server yet\n" in text
    assert "What frees it: wait\n" in text


def test_since_the_oldest_night_is_at_least_since(tmp_path: Path) -> None:
    """No night before it was read, so the queue may have needed the file there, too."""
    for night in range(17):
        file = verdict(night, "a.1", "PENDING") | {"wal_group": "g", "wal_timestamp": 9, "modification_time": at(-50)}
        write_night(tmp_path, night, [file, file | {"path": "oldWALs/b.1", "modification_time": at(3.5)}])
    result, text = ask(tmp_path, "a.1", "b.1", now=at(16) + HOUR_MS)
    (old,), (young,) = (file["holders"] for file in result["files"])
    assert (old["since_at_least"], old["nights"], old["since"][:10]) == (True, 17, "2024-10-04")
    assert (young["since_at_least"], young["nights"], young["since"][:10]) == (False, 13, "2024-10-08")
    assert f"queue of {H1}, at least since 2024-10-04 02:00 UTC (17 nights)" in text
    assert f"queue of {H1}, since 2024-10-08 02:00 UTC (13 nights)" in text


def test_a_night_without_a_row_of_the_group_proves_nothing(tmp_path: Path) -> None:
    """A queue that still begins, and needs everything, has a row without a group."""
    for night in range(4):
        file = verdict(night, "a.1", "PENDING") | {"wal_group": "g", "wal_timestamp": 9}
        write_night(tmp_path, night, [file | {"modification_time": at(-50)}], group="g" if night > 1 else None)
    (holder,) = ask(tmp_path, "a.1", now=at(3) + HOUR_MS)[0]["files"][0]["holders"]
    assert (holder["since_at_least"], holder["nights"]) == (True, 2)


def test_a_dead_server_without_a_queue_waits_for_no_peer(tmp_path: Path) -> None:
    """`pinned_bytes` has its files at level peer only; what this peer has to ship of others frees none of them."""
    nobody = {"peer_id": "2", "owner": None, "source": H2, "wal": None, "offset": None}
    file = verdict(0, "a.1", "PENDING") | {"reason": "CLUSTER_MOVED", "wal_group": "g", "wal_timestamp": 9}
    write_night(tmp_path, 0, [file | {"blocking": [nobody]}])
    append(
        tmp_path,
        PINNED_BYTES,
        [table_row(key(0), PinnedRow("peer", "2", "ENABLED", None, None, None, 9, GIB, 0, 0, 9, GIB))],
    )
    result, text = ask(tmp_path, "a.1", now=at(0) + HOUR_MS)
    (holder,) = result["files"][0]["holders"]
    assert holder["remedy"] == result["files"][0]["way_out"] != ""
    assert holder["peer_frees_files"] is None
    assert "has shipped everything" not in text


def test_a_position_that_cannot_be_read_is_told_as_such(tmp_path: Path) -> None:
    """A queue in ZooKeeper names its WALs, also where the position in one of them is no number."""
    unread = {"peer_id": "2", "owner": H1, "source": H1, "wal": "w.1", "offset": None}
    file = verdict(0, "a.1", "PENDING") | {"wal_group": "g", "wal_timestamp": 9, "blocking": [unread]}
    write_night(tmp_path, 0, [file])
    assert "stands at w.1, at a position that cannot be read" in ask(tmp_path, "a.1", now=at(0) + HOUR_MS)[1]


def test_a_name_that_many_clusters_have_hides_no_other_file(tmp_path: Path) -> None:
    """The question is ambiguous, and says so of that name; the file of the last cluster is there."""
    for number in range(20):
        of = {"cluster": f"prod-{number:02}"}
        run = {"job": "reconcile", "mode": "NIGHTLY", "status": "DONE", "files_started_at": at(0), "at": at(0) + 9}
        append(tmp_path, RUNS, [identity(0) | run | of])
        append(tmp_path, WAL_VERDICTS, [verdict(0, "b.1", "REPLICATED") | of])
    append(tmp_path, WAL_VERDICTS, [verdict(0, "a.1", "REPLICATED") | of])
    append(tmp_path, FINDINGS, [])
    with pytest.raises(UsageError, match=r"^b\.1 is ambiguous: oldWALs/b\.1 of prod-00, .* and more; give --cluster"):
        explain(ExplainRequest(None, ("a.1", "b.1")), reader(tmp_path), At(at(0) + HOUR_MS))


def test_a_full_uri_may_have_any_character(tmp_path: Path) -> None:
    write_night(tmp_path, 0, [verdict(0, "a?b#1", "PENDING")])
    for path in ("hdfs://ns1/hbase/oldWALs/a?b#1", "/hbase/oldWALs/a?b#1", "oldWALs/a?b#1"):
        assert [one["path"] for one in ask(tmp_path, path)[0]["files"]] == ["oldWALs/a?b#1"]


def test_an_ambiguous_name_hides_no_other_file_of_two_nights(tmp_path: Path) -> None:
    for night in range(2):
        folders = [f"{number:02}/b.1" for number in range(40)]
        write_night(tmp_path, night, [verdict(night, name, "REPLICATED") for name in (*folders, "z.1")])
    with pytest.raises(UsageError, match=r"^b\.1 is ambiguous: oldWALs/00/b\.1 of prod-a, "):
        ask(tmp_path, "z.1", "b.1", since=since_of("2024-10-04"), now=at(1) + HOUR_MS)
