"""The configuration file: what it means, and what its errors say."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cli.config.config_errors import _FORMS
from jobs.cli.config.configuration import Config, load_config, parse_config
from jobs.cli.context import JobContext
from pipelines.common.errors import UsageError
from pipelines.decide.rule.settings import ReconcileSettings, Release
from pipelines.lake.findings import Acknowledgement


@pytest.mark.promise("defaults-are-safe")
def test_an_empty_file_is_all_defaults_and_so_are_empty_sections() -> None:
    assert parse_config("", "c.yaml").settings() == ReconcileSettings()
    assert parse_config("release:\nlist:\n", "c.yaml") == Config()
    assert load_config(None, JobContext("x")) == Config()


def test_every_key() -> None:
    text = """
release: {replication_table_wals: true, orphan_queues: true, empty_wal_directories: true}
cleaners:
  plugins: [org.apache.hadoop.hbase.master.cleaner.TimeToLiveLogCleaner]
  harmless: [com.example.Own$Cleaner]
  interval: 5m
backup: {enabled: false}
list: {valid_for: 12h}
quality: {max_deletable_share: 0.5, share_from: 3GiB}
findings:
  stalled_nights: 5
  growth_nights: 4
  growth_min_bytes: 2TiB
  acknowledged:
    - {key: ORPHAN_QUEUE/p, reason: known, until: 2027-01-31}
    - {key: b, reason: c, until: 2027-01-31T12:00:00Z}
"""
    assert parse_config(text, "c.yaml").settings() == ReconcileSettings(
        release=Release(True, True, True),
        harmless_cleaners=("com.example.Own$Cleaner",),
        log_cleaner_plugins=("org.apache.hadoop.hbase.master.cleaner.TimeToLiveLogCleaner",),
        backup_enabled=False,
        valid_for_ms=43_200_000,
        max_deletable_share=0.5,
        share_from_bytes=3 << 30,
        cleaner_interval_ms=300_000,
        stalled_nights=5,
        growth_nights=4,
        growth_min_bytes=2 << 40,
        acknowledged=(
            Acknowledgement("ORPHAN_QUEUE/p", "known", 1_801_439_999_999),  # to the end of that day
            Acknowledgement("b", "c", 1_801_396_800_000),
        ),
    )


@pytest.mark.promise("unknown-key-is-refused", "acknowledgement-has-a-last-day")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "wal_root: hdfs://ns1/hbase/\n",
            "line 1: 'wal_root': expected a full URI without a slash at its end, like hdfs://ns1/hbase",
        ),
        ("cleaners: {harmless: [abc]}\n", "line 1: 'cleaners.harmless.0': expected the full name of a class"),
        ("night: {max_bytes: 5 x}\n", "line 1: 'night.max_bytes': expected a size with its unit"),
        ("night: {max_bytes: 0MiB}\n", "line 1: 'night.max_bytes' must be greater than or equal to 1"),
        ("release:\n  orphan_queue: true\n", "c.yaml, line 2: unknown key 'release.orphan_queue'"),
        ("list:\n\n  valid_for: 24\n", "c.yaml, line 3: 'list.valid_for': expected a duration"),
        ("list:\n  valid_for: 0h\n", "c.yaml, line 2: 'list.valid_for': expected a duration above zero"),
        (
            "list: {valid_for: 1h}\nlist: {valid_for: 2h}\n",
            "c.yaml, line 2: key 'list' is given twice (first on line 1)",
        ),
        ("quality:\n  max_deletable_share: 1.5\n", "c.yaml, line 2: 'quality.max_deletable_share' must be less than"),
        ("release:\n  orphan_queues: 1\n", "c.yaml, line 2: 'release.orphan_queues' must be true or false"),
        ("release:\n  orphan_queues: 'yes'\n", "c.yaml, line 2: 'release.orphan_queues' must be true or false"),
        (
            "findings:\n  acknowledged:\n    - {key: a, until: 2027-01-01}\n",
            "key 'findings.acknowledged.0.reason' is missing",
        ),
        ("findings:\n  acknowledged:\n    - {key: a, reason: b, until: 2027}\n", "c.yaml, line 3: "),
        ("findings: {growth_min_bytes: 12}\n", "expected a size with its unit"),
        ("cleaners: {plugins: [not a class]}\n", "c.yaml, line 1: 'cleaners.plugins.0'"),
        ("- a\n", "c.yaml, line 1: expected `key: value` lines, found a list"),
        ("a: [\n", "c.yaml, line 2: not valid YAML"),
        ("cluster a\nlake: /x\n", "c.yaml, line 1: not valid YAML: could not find expected ':'; expected `key: value`"),
        ("servers:\n  - rs1\n   - rs2: x\n", "c.yaml, line 3: not valid YAML"),
        ("text: |\n  hello\n b: 2\n", "c.yaml, line 3: not valid YAML"),
        ("---\ncluster: prod: a\n", "c.yaml, line 2: not valid YAML"),
        ("reason: waits for\n  the vendor\nlake: a: b\n", "c.yaml, line 3: not valid YAML"),
        ("plugins: [a,\n  b]\nlake: a: b\n", "c.yaml, line 3: not valid YAML"),
        ("cluster: a\nlake /x\n\n# c\nlists: /y\n", "c.yaml, line 2: not valid YAML: could not find expected ':'"),
        ("cluster: a\nlake:/x\nlists: /y\n", "c.yaml, line 2: not valid YAML: could not find expected ':'"),
        ("cluster: a\nlake: /x\nlists /y\n", "c.yaml, line 3: not valid YAML: could not find expected ':'"),
        ("list:\n  valid_for 1d\n  # c\n\n  valid_for_reason: x\n", "c.yaml, line 2: not valid YAML: could not find"),
        ("list:\n  valid_for: 1d\n  valid_for_reason x\nlake: /x\n", "c.yaml, line 3: not valid YAML: could not find"),
        ("cluster: a\n  lake: /x\n", "c.yaml, line 2: not valid YAML: mapping values are not allowed here"),
        ("cluster: 'a\nlake: /x\n", "c.yaml, line 1: not valid YAML: found unexpected end of stream"),
        ("a: !!python/object:os.system x\n", "c.yaml, line 1: not valid YAML"),
        ("? [a]\n: b\n", "c.yaml, line 1: a key must be a plain word"),
        ("a: \x00\n", "c.yaml: not valid YAML"),
    ],
)
def test_an_error_names_file_line_and_key(text: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_config(text, "c.yaml")
    assert message in str(raised.value)


def test_all_errors_are_told_at_once() -> None:
    with pytest.raises(UsageError) as raised:
        parse_config("list: {a: 1}\nquality: {b: 2}\n", "c.yaml")
    assert [line.split(":")[0] for line in str(raised.value).splitlines()] == ["c.yaml, line 1", "c.yaml, line 2"]


SOURCES = "  queues: {source: hbase}\n  state: {source: hbase}\n"


def patterns_of(schema: object) -> Iterator[str]:
    """The patterns that pydantic itself checks."""
    if isinstance(schema, dict):
        if schema.get("type") == "str" and "pattern" in schema:
            yield schema["pattern"]
        schema = [part for key, part in schema.items() if key != "json_schema_input_schema"]  # for editors
    if isinstance(schema, list | tuple):
        for part in schema:
            yield from patterns_of(part)


def test_every_form_is_told_in_words() -> None:
    found = set(patterns_of(Config.__pydantic_core_schema__)) - {r"\S"}  # of an empty text pydantic says another
    assert found == set(_FORMS)


@pytest.mark.promise("one-error-for-one-mistake")
@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("qualty: {share_from: 3}\n", ["1: unknown key 'qualty'; did you mean quality?", "1: 'quality.share_from': "]),
        (f"capture:\n  fles: {{source: hadoop}}\n{SOURCES}", ["2: unknown key 'capture.fles'; did you mean files?"]),
        (
            f"capture:\n  files: {{sorce: hadoop}}\n{SOURCES}",
            ["2: unknown key 'capture.files.sorce'; did you mean source?"],
        ),
        (
            f"capture:\n  files: {{source: hadop}}\n{SOURCES}",
            ["2: 'capture.files.source' must be one of hadoop, webhdfs, fsimage, ls; did you mean hadoop?"],
        ),
        (f"capture:\n  files: {{}}\n{SOURCES}", ["2: key 'capture.files.source' is missing"]),
        (f"capture:\n  files: hadoop\n{SOURCES}", ["2: 'capture.files' must be an object of keys and values"]),
        (f"capture:\n  files: {{source: webhdfs, urls: []}}\n{SOURCES}", ["2: 'capture.files.urls' must have"]),
        (
            f"capture:\n  files: {{source: webhdfs, urls: ['nn1:9870']}}\n{SOURCES}",
            ["2: 'capture.files.urls.0': expected a URL without user and password, like http://nn1:9870"],
        ),
        (
            "list:\n  valid_for: 30d\n  valid_for_reson: freeze\n",
            ["3: unknown key 'list.valid_for_reson'; did you mean valid_for_reason?"],
        ),
        (
            "night: {approval: automatc}\n",
            ["1: 'night.approval' must be 'manual' or 'automatic'; did you mean auto"],
        ),
        ("release: {orphan_queues: ture}\n", ["1: 'release.orphan_queues' must be true or false; did you mean true?"]),
        (
            "quality: {max_deletable_share: 2}\ncluster: '!'\nlak: x\n",
            ["1: 'q", "2: 'cluster'", "3: unknown"],
        ),
        ("lake: a\nlkae: b\n", ["2: unknown key 'lkae'; docs/configuration.md lists them all"]),
        ("night: {2: 2, true: 3}\n", ["1: unknown key 'night.2'", "1: unknown key 'night.True'"]),
    ],
)
def test_one_mistake_is_one_error_in_the_order_of_lines(text: str, lines: list[str]) -> None:
    with pytest.raises(UsageError) as raised:
        parse_config(text, "c.yaml")
    told = str(raised.value).splitlines()
    assert len(told) == len(lines)
    assert [
        (one, line) for one, line in zip(told, lines, strict=True) if not one.startswith(f"c.yaml, line {line}")
    ] == []


@pytest.mark.parametrize("written", ["10995116277760", "10TiB"])
def test_a_limit_of_bytes_is_a_number_or_a_size(written: str) -> None:
    assert parse_config(f"night: {{max_bytes: {written}}}\n", "c.yaml").night.max_bytes == 10 << 40


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        load_config(str(tmp_path / "none.yaml"), JobContext("x"))


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=r"c\.yaml cannot be read"):
        load_config(str(tmp_path / "c.yaml"), JobContext("x"))


@pytest.mark.promise("runs-keep-the-digests")
def test_the_digest_is_of_the_meaning() -> None:
    plain = parse_config("", "a").digest()
    assert parse_config("list: {valid_for: 1d}  # the default, spelled out\n", "b").digest() == plain
    assert parse_config("list: {valid_for: 23h}\n", "a").digest() != plain


@given(st.text(st.sampled_from(list("abelist:{}[]-'\"!&*#|>\n ?%0_valid_for1h")), max_size=60))
def test_no_text_escapes_the_reader(text: str) -> None:
    message = "c.yaml"
    try:
        parse_config(text, "c.yaml")
    except UsageError as error:
        message = str(error)
    assert message.startswith("c.yaml")
