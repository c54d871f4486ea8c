"""conf/walsafe.schema.json takes what the loader takes, and refuses what the loader refuses for its form."""

import json
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import jsonschema
import pytest
import yaml
from pydantic import ValidationError

from jobs.cli.config.configuration import Config
from scripts.generate_configuration import SCHEMA, every_key, schema_text
from tests.labs.documented_commands import blocks
from tests.labs.places import DOCS, PROJECT

ZK = "quorum: 'zk1:2181,zk2:2181', parent: /hbase, replication: replication, digest: 'u:p', sasl: false, timeout: 30s"
TIMES = "started_at: 2026-11-21T02:00:00Z, finished_at: 2026-11-21T02:01:00.5Z"
FILES = (
    "{source: hadoop, properties: {dfs.nameservices: ns1}}",
    "{source: webhdfs, urls: ['http://nn1:9870'], user: hbase, timeout: 60s}",
    "{source: webhdfs, urls: ['http://nn1:9870'], kerberos: true}",
    "{source: fsimage, path: x, time_zone: UTC, transaction_time: 2026-11-21T02:00:00Z, delimiter: ';'}",
    f"{{source: ls, path: x, time_zone: UTC, {TIMES}, clock_host: edge1}}",
)
QUEUES = (
    "{source: thrift, host: h, port: 9090, transport: framed, protocol: compact, timeout: 1m, table: t}",
    "{source: hbase}",
    f"{{source: zookeeper, {ZK}}}",
    f"{{source: cells, passes: [{{path: x, {TIMES}}}, {{path: y, {TIMES}}}], clock_host: edge1}}",
    "{source: export, storage: zookeeper}",
)
REST = (
    "cluster: a\nwal_root: hdfs://ns1/hbase\nlake: /l\nlists: /i\nsnapshots: /s\nreports: /r\nmetrics: /m\n",
    "capacity: 200TiB\n",
    "log_format: json\n",
    "cleaners: {plugins: [a.B], harmless: [a.C], interval: 10m}\n",
    "queues: {row_layout: shipped}\nbackup: {enabled: false}\n",
    "release: {replication_table_wals: true, orphan_queues: false, empty_wal_directories: false}\n",
    "list: {valid_for_reason: because, valid_for: 24h}\n",
    "quality: {max_deletable_share: 0.5, share_from: 100GiB, data_docs: true}\n",
    "findings: {stalled_nights: 3, growth_nights: 3, growth_min_bytes: 1GiB, backup_age: 8d}\n",
    "findings: {acknowledged: [{key: a, reason: b, until: 2027-01-31}]}\n",
    "findings: {acknowledged: [{key: a, reason: b, until: 2027-01-31T12:00:00Z}]}\n",
    "clean: {quarantine: 'hdfs://ns1/q', grace: 7d, archive: 'hdfs://cold/a', batch: 10, lease: 10m, threads: 2}\n",
    "night: {approval: manual, max_files: 1, max_bytes: 1, tries: 4, retry_delay: 10m}\n",
    "night: {max_bytes: 10TiB}\n",
    "notify: {webhook: $HOOK, form: slack, token: $TOKEN, timeout: 10s}\n",
    "maintain: {keep: {wal_verdicts: 90d, other_tables: 730d, tables: {findings: 90d}, lists: 30d, snapshots: 30d}}\n",
    "maintain: {keep: {reports: 90d}}\n",
    "maintain: {lists: /i, snapshots: /s, vacuum_grace: 14d, compact_from: 16}\n",
)
DOWN = (
    "files: {source: hadoop}, queues: {source: hfiles, jars: ['/opt/hbase/lib/*.jar'], table: t}, "
    f"state: {{source: offline, {ZK}}}, hbase: {{site: /s.xml, properties: {{a: b}}, timeout: 60s}}"
)
SIMULATED = "files: {source: hadoop}, queues: {source: simulated, path: /x}, state: {source: simulated, path: /x}"


def captures() -> Iterator[str]:
    """Capture sections with every source and every key."""
    for files in FILES:
        yield f"files: {files}, queues: {{source: hbase}}, state: {{source: hbase}}"
    for queues in QUEUES:
        saved = "cells" in queues or "export" in queues
        files, state = (FILES[-1], "export") if saved else (FILES[0], "hbase")
        more = "export: {path: /e}, step_attempts: 3, quiet_attempts: 3, pause: 10s"
        yield f"files: {files}, queues: {queues}, state: {{source: {state}}}, {more}"
    yield from (DOWN, SIMULATED)
    yield f"files: {{source: hadoop}}, queues: {QUEUES[2]}, state: {{source: zookeeper}}, hbase: {{site: /s.xml}}"


DOCUMENTS = (*REST, *(f"capture: {{{text}}}\n" for text in captures()))
ODD = (None, True, -1, 0, 7, 10**9, 1.5, "", " ", "x", "0h", "10m", "1GiB", "2027-01-31", [], ["a"], {}, {"odd": 1})
VALUES_OF_CONTENT = {"time_zone", "until"}
"""Keys whose form the schema knows, but not every wrong text: `Mars/Base`, a day in quotes."""


class Plain(yaml.SafeLoader):
    """YAML 1.2, as editors read it: a date is a text."""


Plain.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in forms if tag != "tag:yaml.org,2002:timestamp"]
    for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@cache
def validator() -> jsonschema.Draft202012Validator:
    document = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


def plain(text: str) -> Any:  # noqa: ANN401 - any YAML
    return yaml.load(text, Plain)  # noqa: S506 - a safe loader


def changes(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], object]]:  # noqa: ANN401
    """Each place of a document with each odd value, and each section with a key too many."""
    if path:
        yield from ((path, odd) for odd in ODD)
    if isinstance(value, dict):
        yield (*path, "no_such_key"), 1
        for key in value:
            yield from changes(value[key], (*path, key))
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from changes(one, (*path, place))


def changed(document: Any, path: tuple[str | int, ...], value: object) -> Any:  # noqa: ANN401 - any YAML
    copy = deepcopy(document)
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return copy


def loader_refuses(document: Any) -> list[str]:  # noqa: ANN401 - any YAML
    """The kinds of pydantic's errors; of our own validators the first words, `expected` if about the form."""
    try:
        Config.model_validate(document)
    except ValidationError as error:
        return [problem["type"].replace("value_error", problem["msg"][:21]) for problem in error.errors()]
    return []


def keys(model_keys: Any, prefix: str = "") -> set[str]:  # noqa: ANN401 - any YAML
    if isinstance(model_keys, list):
        return set().union(*(keys(one, prefix) for one in model_keys))
    if not isinstance(model_keys, dict):
        return set()
    return set().union(*({f"{prefix}{key}"} | keys(value, f"{prefix}{key}.") for key, value in model_keys.items()))


def test_the_schema_is_up_to_date() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == schema_text(), "run .venv/bin/python -m scripts.generate_configuration"


def test_the_documents_below_have_every_key() -> None:
    assert set(every_key()) - set().union(*(keys(plain(text)) for text in DOCUMENTS)) == set()


@pytest.mark.parametrize("text", DOCUMENTS)
def test_it_takes_and_refuses_what_the_loader_does(text: str) -> None:
    document, dated = plain(text), yaml.safe_load(text)
    assert loader_refuses(dated) == []
    assert [error.message for error in validator().iter_errors(document)] == []
    refused = 0
    for path, value in changes(document):
        wrong = changed(document, path, value)
        kinds = loader_refuses(changed(dated, path, value))
        taken = validator().is_valid(wrong)
        content = VALUES_OF_CONTENT.intersection(path) and isinstance(value, str)
        of_form = [kind for kind in kinds if not kind.startswith("Value error") or "expected" in kind]
        refused += bool(of_form)
        if of_form and not content:
            assert not taken, (path, value, kinds)
        elif not kinds and (path, value) != (("backup", "enabled"), 0):  # 0 == False, says pydantic
            assert taken, (path, value)
    assert refused > len(ODD) / 2


@pytest.mark.parametrize("example", sorted((PROJECT / "conf").glob("*.yaml")), ids=lambda path: path.name)
def test_it_takes_every_example(example: Any) -> None:  # noqa: ANN401 - a path
    text = example.read_text(encoding="utf-8")
    if "nightly" in example.name:  # Airflow's own
        assert not validator().is_valid(plain(text))
    else:
        assert [error.message for error in validator().iter_errors(plain(text))] == []


def test_it_takes_every_configuration_of_the_pages() -> None:
    pages = [*DOCS.glob("*.md"), PROJECT / "README.md"]
    found = [block for page in pages for block in blocks(page, "yaml")]
    configurations = [block for block in found if not block.startswith("groups:")]  # Prometheus' own
    assert len(configurations) > 5
    for block in configurations:
        assert [error.message for error in validator().iter_errors(plain(block) or {})] == [], block


def test_the_example_names_the_schema_for_editors() -> None:
    first = (PROJECT / "conf" / "production.example.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first == f"# yaml-language-server: $schema={SCHEMA.name}"
