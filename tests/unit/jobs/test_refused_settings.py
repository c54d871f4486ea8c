"""Settings that would empty a promise end every job with exit code 2, file, line and key, before anything is read."""

import json
from pathlib import Path

import pytest

from jobs.cli.config.configuration import parse_config
from jobs.cli.entry import main
from jobs.cli.launch.client import ClientContext
from jobs.cli.launch.submit import SubmitSettings
from pipelines.common.errors import UsageError

CLEANUP = ["--cluster", "c", "--lake", "file:/none"]
COMMANDS = {
    "capture": ["--out", "file:/none/out"],
    "reconcile": ["--snapshot", "file:/none", "--lake", "file:/none", "--lists", "file:/none"],
    "clean": [*CLEANUP, "--lists", "file:/none", "--run-id", "r", "--execute"],
    "restore": [*CLEANUP, "--run-id", "r"],
    "purge": [*CLEANUP, "--execute"],
}
SIMULATED = "{source: simulated, path: /tmp/lab}"
HBASE = "{source: hbase}"
QUARANTINE = "clean: {quarantine: 'hdfs://ns1/walsafe/quarantine'}"


def configured(
    root: str = "hdfs://ns1/hbase", queues: str = SIMULATED, state: str = SIMULATED, files: str = "{source: hadoop}"
) -> str:
    capture = f"capture:\n  files: {files}\n  queues: {queues}\n  state: {state}\n"
    return f"cluster: c\nwal_root: '{root}'\n{capture}{QUARANTINE}\n"


@pytest.mark.promise("exit-2")
@pytest.mark.parametrize("job", COMMANDS)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (configured(), "line 3: 'capture': queues.source simulated"),
        ("cluster: c\nlist:\n  valid_for: 8d\n", "line 3: 'list.valid_for': a list is a statement about the past"),
    ],
    ids=["simulated", "valid_for"],
)
def test_no_job_begins_with_them(
    job: str, text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(text)
    assert main([job, *COMMANDS[job], "--config", str(file)]) == 2
    assert f"{file}, {words}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "split-preflight --state hdfs://ns1/s",
        "split-audit-config --states hdfs://ns1/s",
        "split-audit-log --logs hdfs://ns1/l --facts hdfs://ns1/f",
        "split-plan --rows hdfs://ns1/r --partitions 8",
        "split-route --journal hdfs://ns1/j",
    ],
)
def test_a_split_job_reports_a_mistake_in_the_file_before_a_jvm_starts(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("finding: {}\n")
    argv = [*command.split(), "--config", str(file)]
    assert main(argv, context=ClientContext(argv[0], SubmitSettings("local[*]", False, {}), {})) == 2
    assert f"{file}, line 1: unknown key 'finding'" in capsys.readouterr().err


@pytest.mark.promise("simulated-only-on-this-machine")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (configured(), "queues.source simulated .* wal_root hdfs://ns1/hbase is not on this machine"),
        (configured(root="s3a://bucket/hbase"), "wal_root s3a://bucket/hbase is not on this machine"),
        (configured(root="hdfs://file/hbase"), "is not on this machine"),
        (
            configured(root="file:///lab/hbase", state=HBASE),
            "queues.source simulated .* state.source hbase asks a real",
        ),
        (
            configured(root="file:///lab/hbase", queues=HBASE),
            "state.source simulated .* queues.source hbase asks a real",
        ),
        (configured(queues=HBASE), "state.source simulated"),
        (configured(state=HBASE), "queues.source simulated"),
        (
            configured(root="file:///hbase", files="{source: webhdfs, urls: ['http://nn1:9870']}"),
            "files.source hadoop, not by webhdfs",
        ),
        (
            configured(
                root="file:///hbase",
                files="{source: fsimage, path: x, time_zone: UTC, transaction_time: 2026-11-21T02:00:00Z}",
            ),
            "files.source hadoop, not by fsimage",
        ),
    ],
)
def test_made_up_answers_judge_no_files_of_a_real_cluster(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=rf"c\.yaml, line 3: 'capture': .*{words}"):
        parse_config(text, "c.yaml")


@pytest.mark.parametrize("root", ["file:///lab/hbase", "FILE:///lab/hbase"])
def test_a_simulated_cluster_on_this_machine_is_taken(root: str) -> None:
    assert parse_config(configured(root=root), "c.yaml").wal_root == root


def test_real_sources_beside_any_root_are_taken() -> None:
    for root in ("hdfs://ns1/hbase", "file:///hbase"):
        assert parse_config(configured(root=root, queues=HBASE, state=HBASE), "c.yaml").wal_root == root


@pytest.mark.promise("long-list-needs-a-reason")
@pytest.mark.parametrize(
    ("section", "line"),
    [("valid_for: 3650d", 2), ("valid_for: 169h", 2), ("valid_for_reason: ' '\n  valid_for: 8d", 3)],
)
def test_more_than_seven_days_need_a_reason(section: str, line: int) -> None:
    with pytest.raises(UsageError, match=rf"c\.yaml, line {line}: 'list\.valid_for': .*list\.valid_for_reason"):
        parse_config(f"list:\n  {section}\n", "c.yaml")


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ({"valid_for": "7d"}, None),
        ({"valid_for": "8d", "valid_for_reason": "freeze, OPS-1"}, "freeze, OPS-1"),
        ({"valid_for_reason": "freeze, OPS-1", "valid_for": "3650d"}, "freeze, OPS-1"),
    ],
)
def test_a_reason_reaches_the_settings(section: dict[str, str], reason: str | None) -> None:
    settings = parse_config(json.dumps({"list": section}), "c.yaml").settings()
    assert settings.valid_for_reason == reason
    assert settings.valid_for_ms == int(section["valid_for"].removesuffix("d")) * 86_400_000
