"""Provides a fleet in which every snapshot but a few is broken in its own way."""

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.demo.cluster.model import GeneratedCapture
from pipelines.common.instants import HOUR_MS
from pipelines.decide.rule.verdict import ArchivedFile
from pipelines.hbase.peers import Peer
from pipelines.hbase.server_names import ServerName
from pipelines.snapshot.model import MasterFlags, WalDirectory
from tests.labs.small_cluster import (
    D1,
    H1,
    NOW,
    archived,
    edited,
    replaced_content,
    timestamp,
    wal,
    with_cells,
    with_files,
    with_snapshot,
)
from tests.models.oddities import MALFORMED_CELLS

PART = "files/part-00000.parquet"


@dataclass(frozen=True)
class Broken:
    """One broken snapshot.

    Attributes:
        words: a regular expression that matches the message.
        make: makes the cluster that is captured.
        damage: damages the written directory.
        listed: whether its files can be read, so that they are in `wal_verdicts`.
    """

    words: str
    make: Callable[[GeneratedCapture], GeneratedCapture] = lambda made: made
    damage: Callable[[Path], None] = lambda _: None
    listed: bool = True


def void(_: object) -> None:
    """Returns None, for expressions whose value nobody needs."""


def document(words: str, change: Callable[[dict[str, Any]], object], *, listed: bool = True) -> Broken:
    def damage(directory: Path) -> None:
        def edit(whole: dict[str, Any]) -> None:
            change(whole)

        edited(directory, edit)

    return Broken(words, damage=damage, listed=listed)


def content(words: str, name: str, raw: bytes, *, listed: bool) -> Broken:
    return Broken(words, damage=lambda directory: replaced_content(directory, name, raw), listed=listed)


def extra_files(words: str, *files: ArchivedFile) -> Broken:
    return Broken(words, lambda made: replace(made, files=made.files + files))


def steps(whole: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {step["step"]: step for step in whole["steps"]}


def swap_steps(whole: dict[str, Any]) -> None:
    names = [step["step"] for step in whole["steps"]]
    one, other = names.index("peers"), names.index("queues-1")
    whole["steps"][one]["step"], whole["steps"][other]["step"] = "queues-1", "peers"


def without_step(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda whole: whole.update(steps=[step for step in whole["steps"] if step["step"] != name])


def no_queue_table(made: GeneratedCapture) -> GeneratedCapture:
    flags = MasterFlags(queue_table_exists=False, add_peer_running=False, migration_pending=False, zk_queue_data=False)
    return with_snapshot(replace(made, pass_1=(), pass_2=()), flags=flags, flags_2=flags)


ELSE = ServerName.parse("else.example.org,16020,1789000000000")


def peer_with_a_hyphen(made: GeneratedCapture) -> GeneratedCapture:
    """Returns a cluster in which all rows of peer 1-x read as rows of peer 1 on a host called x-h1."""
    renamed = (replace(cell, row=cell.row.replace(b"2-", b"1-x-", 1)) for cell in made.pass_1 if cell.row[:2] == b"2-")
    rows = (*(cell for cell in made.pass_1 if cell.row[:2] != b"2-"), *renamed)
    made = replace(made, pass_1=rows, pass_2=rows)
    return with_snapshot(made, peers=(Peer("1", "ENABLED"), Peer("1-x", "ENABLED")))


def with_directories(made: GeneratedCapture, *servers: ServerName) -> GeneratedCapture:
    first = made.snapshot.membership
    assert first is not None
    directories = tuple(WalDirectory(server, 1, NOW) for server in servers)
    return with_snapshot(made, membership=replace(first, wal_directories=directories))


def queues_of_another(made: GeneratedCapture) -> GeneratedCapture:
    rows = tuple(replace(cell, row=f"{peer}-{ELSE}".encode()) for peer, cell in zip("12", made.pass_1, strict=False))
    return replace(made, pass_1=rows, pass_2=rows)


def listing_of_another(made: GeneratedCapture) -> GeneratedCapture:
    """Returns a cluster whose files belong to another cluster, while servers, directories and queues agree."""
    archived_ = tuple(file for file in made.files if file.path.startswith("oldWALs/"))
    return replace(made, files=(*archived_, ArchivedFile(f"WALs/{ELSE}/{wal(ELSE, 600)}", 0, timestamp(600))))


def cut_json(directory: Path) -> None:
    path = directory / "snapshot.json"
    path.write_bytes(path.read_bytes()[:700])


def append(name: str) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        with (directory / name).open("ab") as out:
            out.write(b"\n")

    return damage


def with_a_path_that_is_not_utf8(directory: Path) -> None:
    rows = pq.read_table(directory / PART)
    first, *others = (path.encode() for path in rows["path"].to_pylist())
    paths = pa.array([b"oldWALs/\xff" + first.removeprefix(b"oldWALs/"), *others]).view(pa.string())
    out = io.BytesIO()
    pq.write_table(rows.set_column(0, rows.schema.field(0), paths), out)
    replaced_content(directory, PART, out.getvalue())


def without(name: str) -> Callable[[Path], None]:
    """Returns a damage: the first file of the listing has no value in this column."""

    def damage(directory: Path) -> None:
        rows = pq.read_table(directory / PART)
        field = rows.schema.field(name)
        values = pa.array([None, *rows[name].to_pylist()[1:]], field.type)
        out = io.BytesIO()
        pq.write_table(rows.set_column(rows.schema.get_field_index(name), field, values), out)
        replaced_content(directory, PART, out.getvalue())

    return damage


ONE_LINE = b'{"row":"***","family":"cXVldWU=","qualifier":"Zw==","value":"Zw=="}\n' * 5
BROKEN: Mapping[str, Broken] = {
    # the form of the snapshot
    "truncated": Broken("truncated or not JSON", damage=cut_json, listed=False),
    "unfinished": Broken(
        "no snapshot.json: the capture, or a copy of the snapshot, did not finish",
        damage=lambda directory: (directory / "snapshot.json").unlink(),
        listed=False,
    ),
    "no-object": Broken(
        "snapshot.json: must be an object of keys and values",
        damage=lambda directory: void((directory / "snapshot.json").write_text("[]")),
        listed=False,
    ),
    "unknown-version": document("format 2 is not known", lambda whole: whole.update(format=2), listed=False),
    "unknown-key": document("unknown key 'retenton'", lambda whole: whole.update(retenton={}), listed=False),
    "unknown-flag": document(
        "unknown key 'flags.add_peer_runing'", lambda whole: whole["flags"].update(add_peer_runing=False), listed=False
    ),
    "missing-key": document("'peers'", lambda whole: whole.pop("peers"), listed=False),
    "peer-twice": document(
        "a peer is listed twice", lambda whole: whole["peers"].append(whole["peers"][0]), listed=False
    ),
    "wal-root": document("'wal_root' must be a full URI", lambda whole: whole.update(wal_root="/hbase"), listed=False),
    "no-instant": document(
        "not an instant.*02:00",
        lambda whole: whole["steps"][0].update(started_at="2026-11-21 02:00:00"),
        listed=False,
    ),
    "unknown-extra": document("extra 'scopes' is not known", lambda whole: whole.update(extras=["scopes"])),
    "zookeeper": document(
        "queues-1.jsonl, line 1: key 'path' is missing", lambda whole: whole.update(queue_storage="zookeeper")
    ),
    # digests and counts
    "queue-digest": Broken("queues-1.jsonl: SHA-256 differs", damage=append("queues-1.jsonl"), listed=False),
    "listing-digest": Broken("part-00000.parquet: SHA-256 differs", damage=append(PART), listed=False),
    "listing-rows": document(
        "12 rows, but snapshot.json says 13", lambda whole: whole["contents"][PART].update(rows=13)
    ),
    "queue-rows": document(
        "5 rows, but snapshot.json says 4", lambda whole: whole["contents"]["queues-2.jsonl"].update(rows=4)
    ),
    "file-missing": Broken(
        "queues-2.jsonl is missing", damage=lambda directory: (directory / "queues-2.jsonl").unlink(), listed=False
    ),
    "file-unnamed": Broken(
        "files/part-00001.parquet is not named in snapshot.json",
        damage=lambda directory: void((directory / "files" / "part-00001.parquet").write_bytes(b"")),
        listed=False,
    ),
    "pass-unnamed": Broken(
        "does not name queues-1.jsonl",
        damage=lambda directory: (
            edited(directory, lambda whole: void(whole["contents"].pop("queues-1.jsonl"))),
            (directory / "queues-1.jsonl").unlink(),
        )[1],
        listed=False,
    ),
    "not-parquet": content("a part is not a readable Parquet file", PART, b"PAR1 and nothing more", listed=False),
    "not-base64": content("queues-1.jsonl, line 1: 'row': not base64", "queues-1.jsonl", ONE_LINE, listed=True),
    "not-utf8": content("queues-1.jsonl, line 1: truncated or not JSON", "queues-1.jsonl", b"\xff\n" * 5, listed=True),
    # the order
    "step-missing": document("step 'online-2' is missing", without_step("online-2")),
    "files-missing": document("no step 'files'", without_step("files"), listed=False),
    "steps-swapped": document("taken in the order .*queues-1, peers.*must be .*peers, queues-1", swap_steps),
    "steps-overlap": document(
        "step 'peers' started at .*, before 'crashing' had finished",
        lambda whole: steps(whole)["peers"].update(started_at=steps(whole)["crashing"]["started_at"]),
    ),
    "step-backwards": document(
        "step 'peers' finished before it started",
        lambda whole: steps(whole)["peers"].update(finished_at=steps(whole)["files"]["started_at"]),
    ),
    "from-the-future": Broken(
        "one of the two clocks is wrong",
        lambda made: with_snapshot(
            made,
            steps=tuple(
                replace(step, started_at=step.started_at + HOUR_MS, finished_at=step.finished_at + HOUR_MS)
                for step in made.snapshot.steps
            ),
        ),
    ),
    # the state of the cluster
    "master-changed": document(
        "active master changed from m1.*to m2", lambda whole: whole["membership_2"].update(active_master="m2,16000,5")
    ),
    "master-unproven": document(
        "nothing proves that the active master was initialized",
        lambda whole: whole["membership"].update(active_master=None),
    ),
    "migration": document("migration .*is pending", lambda whole: whole["flags_2"].update(migration_pending=True)),
    "migration-unknown": document(
        r"migration .*may be pending \(unknown\)", lambda whole: whole["flags"].update(migration_pending=None)
    ),
    "half-migrated": document(
        "replication queue data is still in ZooKeeper", lambda whole: whole["flags"].update(zk_queue_data=True)
    ),
    "no-queue-table": Broken("hbase:replication does not exist although peers do", no_queue_table),
    "rows-without-peers": Broken("5 queue rows but no peer", lambda made: with_snapshot(made, peers=())),
    "peers-without-rows": Broken("no row of any of these peers", lambda made: replace(made, pass_1=(), pass_2=())),
    # files and queues of two clusters, as another program may put them into one snapshot
    "hyphen": Broken("peer id '1-x' has a '-', which HBase forbids.*count as queues of peer '1'", peer_with_a_hyphen),
    "no-directories": Broken("no server has a directory below WALs/, although h1.example.org", with_directories),
    "other-directories": Broken(
        "no online server .* has a directory below WALs/ .*there is else.example.org",
        lambda made: with_directories(made, ELSE),
    ),
    "other-queues": Broken(
        "no queue .* belongs to a server that HBase knows .*another cluster than HBase's answers", queues_of_another
    ),
    "other-listing": Broken(
        "the listing has files below WALs/else.example.org.*the files are those of another cluster", listing_of_another
    ),
    # the listing
    "empty-listing": Broken("the listing is empty", lambda made: replace(made, files=()), listed=False),
    "duplicate-path": extra_files("paths_are_unique: .*found duplicate_paths=1", archived(H1, 1, 1)),
    "dot-dot": extra_files("paths_lie_below_wal_root", ArchivedFile("oldWALs/../../user/a.1", 1, timestamp(1))),
    "absolute": extra_files("paths_lie_below_wal_root", ArchivedFile("/hbase/oldWALs/a.1", 1, timestamp(1))),
    "newline": extra_files("paths_lie_below_wal_root", ArchivedFile("oldWALs/a\nb.1", 1, timestamp(1))),
    "control": extra_files("paths_lie_below_wal_root", ArchivedFile("oldWALs/a\x1bb.1", 1, timestamp(1))),
    "path-not-utf8": Broken("/files: a path is not UTF-8", damage=with_a_path_that_is_not_utf8, listed=False),
    "no-time": Broken("lengths_and_times_are_known", damage=without("modification_time")),
    "no-length": Broken("lengths_and_times_are_known", damage=without("length")),
    "negative": extra_files("lengths_and_times_are_known", ArchivedFile("oldWALs/a.1", -1, timestamp(1))),
    "endless": replace(
        extra_files(
            r"more than 2\^62 bytes together",
            *(ArchivedFile(f"oldWALs/a.{number}", 1 << 62, timestamp(1)) for number in (1, 2)),
        ),
        listed=False,
    ),
    "no-peers-at-all": Broken(
        "deletable_share_below_limit: .*95.0%.*found deletable_share=1.000000",
        lambda made: with_snapshot(replace(made, pass_1=(), pass_2=()), peers=()),
    ),
} | {
    # what HBase itself throws on; the seed's '-' between owner and source, and a TAB, among them
    f"malformed-{number}": Broken(
        f"malformed queue row: row {re.escape(repr(cell.row.decode(errors='replace'))[:6])}"
        if b"\xff" not in cell.row
        else "malformed queue row: queue row is not UTF-8",
        lambda made, cell=cell: with_cells(made, cell),  # type: ignore[misc]
    )
    for number, cell in enumerate(MALFORMED_CELLS)
}

NAMED = {
    **dict.fromkeys(("unfinished", "pass-unnamed", "files-missing"), "SNAPSHOT_INCOMPLETE"),
    **dict.fromkeys(("queue-digest", "listing-digest", "listing-rows", "queue-rows"), "SNAPSHOT_DAMAGED"),
    **dict.fromkeys(("file-missing", "file-unnamed", "not-parquet", "endless", "path-not-utf8"), "SNAPSHOT_DAMAGED"),
    **dict.fromkeys(("truncated", "no-object", "unknown-key", "unknown-flag", "missing-key"), "DOCUMENT_MALFORMED"),
    **dict.fromkeys(
        ("peer-twice", "wal-root", "no-instant", "zookeeper", "not-base64", "not-utf8"), "DOCUMENT_MALFORMED"
    ),
    **dict.fromkeys(("unknown-version", "unknown-extra"), "FORMAT_UNKNOWN"),
    **dict.fromkeys(("step-missing", "steps-swapped", "steps-overlap", "step-backwards"), "SNAPSHOT_OUT_OF_ORDER"),
    **dict.fromkeys(("master-changed", "master-unproven"), "MASTER_CHANGED"),
    **dict.fromkeys(("migration", "migration-unknown", "half-migrated"), "MIGRATION_PENDING"),
    **dict.fromkeys(("no-directories", "other-directories", "other-queues", "other-listing"), "MIXED_CLUSTERS"),
    **dict.fromkeys(
        ("duplicate-path", "dot-dot", "absolute", "newline", "control", "negative", "no-time", "no-length"),
        "GATE_FAILED",
    ),
    "no-peers-at-all": "GATE_FAILED",
    "from-the-future": "CLOCK_WRONG",
    "no-queue-table": "QUEUE_TABLE_MISSING",
    "hyphen": "PEER_ID_AMBIGUOUS",
    "empty-listing": "LISTING_EMPTY",
    **{name: "QUEUE_MALFORMED" for name in BROKEN if name.startswith("malformed-")},
}
"""The condition of each; of the others it is SNAPSHOT_UNTRUSTED."""


def young_without_peers(made: GeneratedCapture) -> GeneratedCapture:
    young = ArchivedFile(f"oldWALs/{wal(D1, 500)}", 4096, NOW - 1)
    return with_files(with_snapshot(replace(made, pass_1=(), pass_2=()), peers=()), young)


def future(made: GeneratedCapture) -> GeneratedCapture:
    return with_files(made, ArchivedFile(f"oldWALs/{wal(H1, 1)}", 1, NOW + HOUR_MS))


def adding_a_peer(made: GeneratedCapture) -> GeneratedCapture:
    second = made.snapshot.flags_2
    assert second is not None
    return with_snapshot(made, flags_2=replace(second, add_peer_running=None))


SOUND: Mapping[str, Callable[[GeneratedCapture], GeneratedCapture]] = {
    "good": lambda made: made,
    "no-peers": young_without_peers,
    "future": future,
    "adding": adding_a_peer,
}
