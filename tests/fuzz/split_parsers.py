"""What reads the inputs of the split jobs, with whole samples: see `parsers`."""

import io
import json

from pipelines.pegasus.domain.audit_log.facts import parse_facts
from pipelines.pegasus.domain.journal import parse_request
from pipelines.pegasus.domain.keys import decode_key, encode_key
from pipelines.pegasus.domain.offline.replica_info import parse_app_info, parse_app_metadata, parse_init_info
from pipelines.pegasus.domain.private_log.mutations import MutationUpdate
from pipelines.pegasus.domain.private_log.names import parse_log_name, parse_replica_name
from pipelines.pegasus.domain.private_log.reader import PrivateLogReader
from pipelines.pegasus.domain.private_log.requests import decode_request
from pipelines.pegasus.domain.state.capture import parse_capture
from pipelines.pegasus.domain.state.reading import parse_state
from pipelines.pegasus.domain.values import decode_value
from tests.fuzz.parser import Parser, of_text
from tests.labs.documented_commands import blocks
from tests.labs.pegasus import private_logs as made
from tests.labs.pegasus.captures import FILES
from tests.labs.pegasus.private_logs import Entry, LogWriter
from tests.labs.pegasus.replicas import app_info, stored
from tests.labs.pegasus.states import SHELL, state
from tests.labs.places import DOCS

KEY = encode_key(b"user", b"name")
REQUESTS = (
    made.put(KEY, b"v", 9),
    made.remove(KEY),
    made.multi_put(b"user", [(b"a", b"1"), (b"b", b"2")]),
    made.multi_remove(b"user", [b"a", b"b"]),
    made.incr(KEY, 5),
    made.check_and_set(b"user", b"name", b"v"),
    made.check_and_mutate(b"user", b"name", b"v"),
)


def _sample(page: str) -> bytes:
    return blocks(DOCS / page, "json")[0].encode()


def _log(raw: bytes) -> object:
    reader = PrivateLogReader(io.BytesIO(raw).read, 0)
    return [decode_request(update) for mutation in reader for update in mutation.updates]


def _requests(raw: bytes) -> object:
    code, _, data = raw.partition(b" ")
    return decode_request(MutationUpdate(code.decode("utf-8", errors="replace"), 1, data))


def _small_log() -> bytes:
    writer = LogWriter(2, 1)
    for decree, request in enumerate(REQUESTS, 1):
        writer.add(Entry(decree, (request,)))
    return bytes(writer.data)


def _names(name: str) -> object:
    return parse_log_name(name) if name.startswith("l") else parse_replica_name(name)


def _captured(name: str, raw: bytes) -> object:
    return parse_capture({**{one: text.encode() for one, text in FILES.items()}, name: raw}, "c")


_SHELL = json.dumps({**state(0, 4, 0), "apps": [{"shell": SHELL, "envs": {}}]}).encode()
SPLIT_PARSERS: dict[str, Parser] = {
    "pegasus_state": Parser(lambda raw: parse_state(raw, "s.json"), (_sample("split-state.md"), _SHELL), is_json=True),
    "pegasus_capture": Parser(lambda raw: _captured("app.2.json", raw), (FILES["app.2.json"].encode(),), is_json=True),
    "pegasus_split_query": Parser(lambda raw: _captured("split.2.txt", raw), (FILES["split.2.txt"].encode(),)),
    "pegasus_facts": Parser(lambda raw: parse_facts(raw, "f.json"), (_sample("split-audit-log.md"),), is_json=True),
    "pegasus_request": Parser(lambda raw: parse_request(raw, 1, "j.jsonl"), (_sample("split-route.md"),), is_json=True),
    "pegasus_key": Parser(decode_key, (KEY, encode_key(b"", b"s"))),
    "pegasus_value": Parser(lambda raw: decode_value(raw, 1), (stored(b"v", 7), b"\x82" + stored(b"v", 7))),
    "pegasus_names": Parser(of_text(_names), (b"log.1.0", b"2.5.pegasus")),
    "pegasus_log": Parser(_log, (_small_log(),)),
    "pegasus_write": Parser(_requests, tuple(code.encode() + b" " + data for code, data in REQUESTS)),
    "pegasus_init_info": Parser(
        parse_init_info, (b'{"init_offset_in_private_log": 7, "init_durable_decree": 3}',), is_json=True
    ),
    "pegasus_app_info": Parser(parse_app_info, (app_info(2, "temp", 8),)),
    "pegasus_app_metadata": Parser(
        parse_app_metadata, (b'{"app_id": 2, "app_name": "temp", "partition_count": 8}',), is_json=True
    ),
}
