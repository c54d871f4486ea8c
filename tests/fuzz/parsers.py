"""Every parser of what comes from outside, as one function of bytes, with samples of what it reads.

Each answers with a value or with an error of our own (`OURS` in `test_parsers`); anything else is a defect.
"""

import base64
import io
import json
import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo

from pydantic import TypeAdapter
from requests import Response

from jobs.cli.config.configuration import parse_config
from jobs.dags.walsafe_nightly_config import parse_nightly
from pipelines.capture.sources.hbase_neighbours import barriers_of
from pipelines.capture.sources.ls_text_files import LsText
from pipelines.capture.sources.saved_scans import parse_cell, parse_version, scanned_cells
from pipelines.capture.sources.webhdfs_files import WebHdfsLister
from pipelines.cleanup.lease import parse_lease
from pipelines.cleanup.paths import parse_uri
from pipelines.cleanup.stores.store_failures import parse_failure
from pipelines.common.errors import MalformedError, WalsafeError
from pipelines.common.forms import read_value, value_of
from pipelines.common.strict_json import read_json
from pipelines.files.saved_text import lines_of
from pipelines.hbase.procedures import ADD_PEER, crashing_servers, is_running, parse_procedures
from pipelines.hbase.replication_queues import (
    Cell,
    CellVersion,
    RowLayout,
    parse_offset,
    parse_queue_cells,
    parse_queue_id,
    parse_row,
)
from pipelines.hbase.server_names import MAX_LONG, ServerName, parse_java_long
from pipelines.hbase.wal_format.reader import WalEnd, WalReader
from pipelines.hbase.wal_names import file_kind, parse_wal_name, server_of, wal_timestamp
from pipelines.hbase.zookeeper.queue_ids import parse_zk_queue_id
from pipelines.hbase.zookeeper.queued_wals import first_wals, queued_wals, unsettled_reason
from pipelines.hbase.zookeeper.tree import Znode, parse_tree
from pipelines.hbase.zookeeper.values import (
    parse_cluster_id,
    parse_lock_owner,
    parse_peer_state,
    parse_peers,
    parse_position,
    parse_sync_state,
)
from pipelines.reconcile.delete_list import ListPart, Manifest, manifest_json, parse_manifest
from pipelines.snapshot.backup import (
    BackupSession,
    backup_of,
    boundary_sessions,
    session_document,
    sessions_of,
)
from pipelines.snapshot.barriers import barriers_document, region_barriers, serial_gaps
from pipelines.snapshot.extras import SPACE
from pipelines.snapshot.extras_lines import REGION, SESSION, parse_extras
from pipelines.snapshot.queue_lines import CELL, ZNODE, znode_document
from pipelines.snapshot.snapshot_json import parse_snapshot
from pipelines.snapshot.syncup_lines import parse_facts
from tests.fuzz.export_parsers import EXPORT_PARSERS
from tests.fuzz.parser import Parser, of_text
from tests.fuzz.samples import CELLS, LS_LINES, PROCEDURES, ROOT, SERVER, SNAPSHOT, cell_line
from tests.fuzz.split_parsers import SPLIT_PARSERS
from tests.labs.places import GOLDEN, PROJECT, TESTS
from tests.models.oddities import ODD_NAMES, TRAP_SERVERS, encodings, groups_of
from tests.strategies.clusters import NOW
from tests.strategies.zookeeper import znodes

T = TypeVar("T")


def _lines(raw: bytes) -> list[tuple[int, str]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "saved")
        path.write_bytes(raw)
        return list(lines_of(path, "saved.txt"))


def _names(name: str) -> object:
    wal = parse_wal_name(name)
    return (file_kind(name), wal, server_of(name), wal_timestamp(name))


def _queue_row(raw: bytes) -> object:
    row, _, rest = raw.partition(b"\x01")
    group, _, value = rest.partition(b"\x01")
    for layout in RowLayout:
        _or_refusal(partial(parse_row, layout=layout), row)
    return parse_queue_cells([Cell(row, b"queue", group, value)])


def _offset(text: str) -> object:
    offset = parse_offset(text)
    return offset, offset.need, offset.should_replicate(MAX_LONG), str(offset)


def _znode_value(raw: bytes) -> object:
    """Everything that a znode's bytes may be: each reader answers or refuses by itself."""
    found: list[object] = [parse_peer_state(raw), parse_lock_owner(raw), parse_cluster_id(raw)]
    found += [_or_refusal(read, raw) for read in (parse_position, parse_sync_state)]
    return [*found, _or_refusal(lambda data: parse_peers("/p", {"/p/1": data, "/p/1/peer-state": data}), raw)]


def _or_refusal(read: Callable[[bytes], object], raw: bytes) -> object:
    try:
        return read(raw)
    except MalformedError as error:
        return str(error)


def _tree(raw: bytes) -> object:
    """Paths and cversions, a znode a line."""
    lines = (line.partition("\t") for line in raw.decode("utf-8", errors="replace").split("\n"))
    tree = parse_tree([Znode(path, raw[:9], parse_java_long(count or "0")) for path, _, count in lines])
    return queued_wals([tree, tree], NOW), first_wals([tree]), unsettled_reason([tree, tree])


def _listing(raw: bytes) -> object:
    text = LsText(ROOT, ZoneInfo("Europe/Vienna"), "files.txt", NOW)
    lines = _lines(raw)
    batches = list(text.batches(lines))
    for batch in batches:
        assert all(0 <= length <= MAX_LONG for length in batch.lengths)
        assert all(abs(time) <= MAX_LONG for time in batch.modification_times)
    return batches, text.directories(lines)


class _OneAnswer:
    """A WebHDFS client whose server says one thing."""

    def __init__(self, body: bytes) -> None:
        self._response = Response()
        self._response._content = body

    def list_status(self, _path: str) -> Response:
        return self._response


def _webhdfs(raw: bytes) -> object:
    lister = WebHdfsLister(["http://nn1:9870"], ROOT)
    lister._client = _OneAnswer(raw)
    entries = lister._whole("/hbase/oldWALs")
    assert all(0 <= entry.length <= MAX_LONG and 0 <= entry.modification_time <= MAX_LONG for entry in entries)
    return entries


def _wal(raw: bytes) -> object:
    """A WAL file; what is wrong with it is the reader's answer, so the reader must not raise at all."""
    reader = WalReader(io.BytesIO(raw).read, values=True)
    ends = [entry.end for entry in reader.entries(lambda *_cell: None)]
    assert ends == sorted(set(ends))
    assert reader.header_end <= reader.good_end <= len(raw)
    assert reader.length in {None, len(raw)}
    if reader.ending not in {WalEnd.CLOSED, WalEnd.OPEN}:
        assert reader.problem
        raise MalformedError(reader.problem)
    return ends


def _barriers_there_and_back(version: CellVersion) -> object:
    found = barriers_of([version])
    assert _read_again(found, barriers_document, REGION) == found
    return found


def _space(text: str) -> object:
    snapshot = replace(parse_snapshot(SNAPSHOT), extras=(SPACE,))
    return parse_extras(snapshot, {SPACE: [(text, "space.jsonl")]})


def _backup_there_and_back(sessions: Iterable[BackupSession]) -> object:
    found = boundary_sessions(sessions)
    assert _read_again(found, session_document, SESSION) == found
    return backup_of(found)


def _read_again(found: Iterable[T], document: Callable[[T], dict[str, object]], form: TypeAdapter[T]) -> tuple[T, ...]:
    """What a capture writes, as reconcile reads it: a refusal there would be of the capture's own making."""
    documents = [json.loads(json.dumps(document(one))) for one in found]
    try:
        return tuple(value_of(form, one, "x") for one in documents)
    except (WalsafeError, MalformedError) as error:
        raise AssertionError(f"{error}: {documents}") from error


WAL_NAMES = (*ODD_NAMES, *(f"{group}.1664096778778" for group in groups_of(encodings(TRAP_SERVERS[0])[0])))
MANIFEST = Manifest("prod-a", None, "r1", "0" * 64, NOW, NOW + 1, 2, 9, (ListPart("part-00000.txt", 2, "1" * 64),))
STATUS = {"pathSuffix": "a", "type": "FILE", "length": 7, "modificationTime": NOW}
WALS = tuple(sorted((GOLDEN / "hbase" / "wals").glob("*.1")))
CONFIG = b"""\
cluster: prod-a
wal_root: hdfs://ns1/hbase
capture:
  files: {source: fsimage, path: /x, time_zone: Europe/Vienna, transaction_time: 2026-11-21T02:00:00Z}
  queues: {source: thrift, host: h, timeout: 60s}
  state: {source: hbase}
list: {valid_for: 24h}
quality: {max_deletable_share: 0.5, share_from: 100GiB}
cleaners: {plugins: [org.example.A], harmless: [], interval: 10m}
findings:
  acknowledged: [{key: K, reason: why, until: 2027-01-31}]
  growth_min_bytes: 1GiB
"""
_NIGHTLY = (PROJECT / "conf" / "walsafe-nightly.example.yaml").read_bytes()
_LEASE = b'{"holder": "somebody", "released": false}'


def _encoded(texts: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(text.encode() for text in texts)


ZNODE_VALUES = (
    "5042554608bb03", "5042554608ffffffffffffffffff01", "00000000000001bb", "343433", "504255460801",
    "504255460a107a6b313a323138313a2f6862617365322a0f0a0d0a0764656661756c74120274323800400058006219",
    "50425546020802020800",
)  # fmt: skip
ZNODES = znodes({(SERVER, "2"): {"w.1": b""}, (SERVER, f"2-{SERVER}"): {"w.2": b"\0" * 8}, (SERVER, "lock"): {}})


BACKUPS = tuple(
    base64.b64decode(line.rpartition("\t")[2])
    for line in (TESTS / "golden/hbase/backup.tsv").read_text(encoding="utf-8").splitlines()
)
SESSIONS = boundary_sessions(sessions_of(Cell(b"session:x", b"session", b"context", raw) for raw in BACKUPS))

SYNCUP_FACTS = b"""{"kind": "root", "uri": "hdfs://ns1/hbase"}
{"kind": "directory", "name": "h1,16020,7"}
{"kind": "flag", "name": "info", "length": 2, "modification_time": "2026-09-21T14:13:20.000Z", "content": "{}"}
{"kind": "table", "unknown": null}
{"kind":"store_file","path":"d/f","length":1,"modification_time":"2026-09-21T14:13:20Z","region":"r","family":"q","sequence_id":7}
{"kind":"unflushed","row":"MQ==","family":"cQ==","qualifier":"Zw==","value":"","deleted":false,"write_time":"2026-09-21T14:13:20Z"}
"""

PARSERS: dict[str, Parser] = {
    "wal_name": Parser(of_text(_names), _encoded(WAL_NAMES)),
    "wal_file": Parser(_wal, tuple(wal.read_bytes() for wal in WALS)),
    "server_name": Parser(of_text(ServerName.parse), _encoded(tuple(map(str, TRAP_SERVERS)))),
    "queue_id": Parser(of_text(parse_queue_id), _encoded((f"1-{SERVER}", f"1-{SERVER}/{SERVER}"))),
    "offset": Parser(of_text(_offset), _encoded((f"{WAL_NAMES[-1]}:443", ":0", "x.7.syncrep:-1"))),
    "queue_row": Parser(_queue_row, tuple(b"\x01".join((c.row, c.qualifier, c.value)) for c in CELLS)),
    "snapshot_json": Parser(
        lambda raw: parse_snapshot(read_json(raw, "snapshot.json")), (json.dumps(SNAPSHOT).encode(),), is_json=True
    ),
    "snapshot_cell": Parser(
        of_text(lambda text: read_value(CELL, text, "queues-1.jsonl")),
        _encoded(tuple(map(cell_line, CELLS))),
        is_json=True,
    ),
    "saved_cell": Parser(
        of_text(lambda text: parse_cell(text, "cells")), _encoded(tuple(map(cell_line, CELLS))), is_json=True
    ),
    "saved_version": Parser(
        of_text(lambda text: _barriers_there_and_back(parse_version(text, "versions"))),
        (json.dumps({"row": "dCwsMS5mMDAu", "timestamp": NOW, "value": "AAAAAAAAAAI="}).encode(),),
        is_json=True,
    ),
    "backup_session": Parser(
        lambda raw: _backup_there_and_back(sessions_of([Cell(b"session:x", b"session", b"context", raw)])), BACKUPS
    ),
    "backup_line": Parser(
        of_text(lambda text: backup_of([read_value(SESSION, text, "x")])),
        _encoded([json.dumps(session_document(one)) for one in SESSIONS]),
        is_json=True,
    ),
    "barriers_line": Parser(
        of_text(lambda text: serial_gaps("1", [read_value(REGION, text, "x")], {})),
        (json.dumps(barriers_document(region_barriers("f00", "t", [(2, NOW), (7, NOW)]))).encode(),),
        is_json=True,
    ),
    "scan": Parser(
        lambda raw: list(scanned_cells(_lines(raw), "queues-1.txt")),
        ("\n".join((*map(cell_line, CELLS[-2:]), "2 row(s)", "")).encode(), b"0 row(s)\n"),
    ),
    "ls_listing": Parser(_listing, ("\n".join((*LS_LINES, "")).encode(),)),
    "webhdfs_listing": Parser(
        _webhdfs, (json.dumps({"FileStatuses": {"FileStatus": [STATUS]}}).encode(),), is_json=True
    ),
    "procedures": Parser(
        of_text(lambda text: (crashing_servers(found := parse_procedures(text)), is_running(found, ADD_PEER))),
        (json.dumps(PROCEDURES).encode(),),
        is_json=True,
    ),
    "znode_value": Parser(_znode_value, tuple(map(bytes.fromhex, ZNODE_VALUES))),
    "zk_queue_id": Parser(of_text(parse_zk_queue_id), _encoded((f"2-{SERVER}-{SERVER}", "2-h,1,2--h2,3,4", "2-bad"))),
    "snapshot_znode": Parser(
        of_text(lambda text: read_value(ZNODE, text, "queues-1.jsonl")),
        tuple(json.dumps(znode_document(znode)).encode() for znode in ZNODES),
        is_json=True,
    ),
    "znode_tree": Parser(_tree, (b"\n".join(f"{znode.path}\t{znode.cversion}".encode() for znode in ZNODES),)),
    "manifest": Parser(
        of_text(lambda text: parse_manifest(text, "manifest.json")), (manifest_json(MANIFEST).encode(),), is_json=True
    ),
    "lease": Parser(of_text(lambda text: parse_lease(1, text)), (_LEASE,), is_json=True),
    "space_line": Parser(of_text(_space), (b'{"free_bytes": 7}',), is_json=True),
    "uri": Parser(of_text(parse_uri), _encoded((f"{ROOT}/oldWALs/{WAL_NAMES[-1]}", "file:/data/a%2Cb", "x:///a"))),
    "nightly": Parser(
        of_text(lambda text: parse_nightly(text, "nightly.yaml")),
        (
            _NIGHTLY,
            re.sub(rb"(?m)^(\s*)# (?=\w+: )", rb"\1", _NIGHTLY),  # with every key
            b"{<<: &a {job_timeout: 9d}, run_timeout: 40000d}",
        ),
    ),
    "configuration": Parser(of_text(lambda text: parse_config(text, "walsafe.yaml").digest()), (CONFIG,)),
    "syncup_facts": Parser(
        lambda raw: parse_facts((text, f"line {number}") for number, text in _lines(raw)),
        (SYNCUP_FACTS,),
    ),
    "store_failure": Parser(
        of_text(parse_failure),
        _encoded(("java.io.IOException: no", "org.apache.hadoop.ipc.RemoteException(java.io.IOException): a\n\tat b")),
    ),
    **EXPORT_PARSERS,
    **SPLIT_PARSERS,
}  # fmt: skip
