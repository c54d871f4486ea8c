"""A capture, which has what Pegasus's own tools print, is read as it comes; the script that saves it is started."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.common.errors import UsageError
from pipelines.files.file_reader import LocalFileReader
from pipelines.lake.job_run import JobLake
from pipelines.pegasus.domain.audit_config import TimeLimits, audit_config
from pipelines.pegasus.domain.preflight import preflight
from pipelines.pegasus.domain.state.capture import parse_capture, parse_split_query
from pipelines.pegasus.domain.state.model import ClusterState
from pipelines.pegasus.domain.state.reading import parse_state
from pipelines.pegasus.sources.state_files import states_at
from pipelines.pegasus.use_cases.frame import split_run
from pipelines.pegasus.use_cases.preflight import run_preflight
from tests.labs.pegasus.captures import FILES
from tests.labs.pegasus.states import state
from tests.labs.places import PROJECT

TIME = 1_795_226_400_000
SCRIPT = PROJECT / "conf" / "export" / "pegasus-state.sh"


def parsed(files: dict[str, str]) -> ClusterState:
    return parse_capture({name: text.encode() for name, text in files.items()}, "onebox")


def saved(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def rules(found: ClusterState) -> set[tuple[str, str]]:
    return {(row.code, row.severity) for _, row in preflight(found, found.tables[0], None)}


def test_the_samples_of_the_page_are_a_state() -> None:
    found = parsed(FILES)
    assert (found.cluster, found.observed_at, found.leader) == ("onebox", TIME, "10.0.0.9:34601")
    (table,) = found.tables
    assert (table.app_id, table.name, table.partition_count, table.status) == (2, "temp", 4, "AS_AVAILABLE")
    assert table.envs == {"replica.split.validate_partition_hash": "true"}
    assert table.split_states == {0: "SPLITTING", 1: "PAUSED"}
    assert [(one.ballot, one.is_registered, one.primary) for one in table.partitions] == [
        (3, True, "10.0.0.1:34801"), (5, True, "10.0.0.2:34801"), (-1, False, None), (-1, False, None),
    ]  # fmt: skip
    assert table.partitions[0].secondaries == ("10.0.0.2:34801", "10.0.0.3:34801")
    unknown = {("SPLIT_C12", "warning"), ("SPLIT_F37", "warning")}
    assert rules(found) == {("SPLIT_C12", "error"), ("SPLIT_C11", "error")} | unknown


def test_a_rule_has_one_line_and_each_of_its_findings_a_key_of_its_own() -> None:
    found = parsed(FILES)
    text = run_preflight(split_run("split-preflight", "onebox", TIME), found, None, None, JobLake()).text
    assert re.findall(r"^    (\w+) +(\w+)$", text, re.MULTILINE) == [
        ("C1", "ok"), ("C2", "ok"), ("C7", "ok"), ("C9", "ok"), ("C11", "BLOCKER"), ("C12", "BLOCKER"),
        ("F37", "unknown"),
    ]  # fmt: skip
    evidence = {row.key: json.loads(row.evidence) for _, row in preflight(found, found.tables[0], None)}
    assert len(evidence) == len(list(preflight(found, found.tables[0], None)))
    assert "part" not in evidence["SPLIT_C12:2/split"], "the key says which part it is"


@pytest.mark.parametrize("nobody", ["", "-", "invalid address", "invalid host_port", "invalid_host_port"])
def test_what_pegasus_writes_instead_of_an_address_is_nobody(nobody: str) -> None:
    shell = json.loads(FILES["app.2.json"])
    shell["replicas"]["0"].update(primary=nobody, secondaries=f"[{nobody}]")
    captured = parsed({**FILES, "app.2.json": json.dumps(shell)})
    document = state(0, 4, 0)
    document["apps"][0]["partitions"]["0"].update(primary=nobody, secondaries=[nobody])
    for found in (captured, parse_state(json.dumps(document), "state.json")):
        assert found.tables[0].partitions[0].members == frozenset(), nobody


def test_a_node_that_meta_does_not_list_is_not_alive() -> None:
    nodes = json.loads(FILES["nodes.json"])
    del nodes["details"]["10.0.0.3:34801"]
    found = parsed({**FILES, "nodes.json": json.dumps(nodes)})
    assert found.unalive_nodes == {"10.0.0.3:34801"}
    assert ("SPLIT_C11", "error") in rules(found)


def test_files_that_may_be_missing() -> None:
    found = parsed({name: FILES[name] for name in ("captured.json", "cluster_info.json", "ls.json", "app.2.json")})
    assert (found.tables[0].envs, found.tables[0].split_states, found.unalive_nodes) == (None, None, frozenset())
    assert ("SPLIT_C11", "error") not in rules(found), "no node is known to be dead"
    assert parsed({**FILES, "app_envs.2.json": "{}\n"}).tables[0].envs == {}, "the shell's output without any env"
    not_splitting = "error: ERR_INVALID_STATE [hint: app(temp) is not splitting]\n"
    assert parsed({**FILES, "split.2.txt": not_splitting}).tables[0].split_states == {}


def without(name: str) -> Callable[[dict[str, str]], object]:
    return lambda files: files.pop(name)


def other(name: str, old: str, new: str) -> Callable[[dict[str, str]], object]:
    def change(files: dict[str, str]) -> None:
        assert old in files[name]
        files[name] = files[name].replace(old, new)

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without("cluster_info.json"), "the file cluster_info.json is missing"),
        (without("app.2.json"), "the file app.2.json is missing"),
        (other("captured.json", '"format": 1', '"format": 2'), "captured.json: 'format' must be 1"),
        (other("cluster_info.json", '"cluster_name"', '"name"'), "'cluster_info.cluster_name' is missing"),
        (other("ls.json", '"status"', '"state"'), "ls.json: key 'general_info.2.status' is missing"),
        (other("nodes.json", '"details"', '"nodes"'), "nodes.json: key 'details' is missing"),
        (other("app.2.json", '"app_name": "temp", "app_id"', '"app_name": "x", "app_id"'), "table 2 (x), but ls.json"),
        (other("app.2.json", '"pidx": "1"', '"pidx": "7"'), "app.2.json: "),
        (other("app.2.json", '"pidx": "1"', '"pidx": "1048576"'), "'replicas.1.pidx' must be less than 1048576"),
        (other("app.2.json", '"ballot": "5"', '"ballot": "five"'), "must be a number in a string, found 'five'"),
        (other("app_envs.2.json", "app_envs", "envs"), "app_envs.2.json: unknown key 'envs'"),
        (other("split.2.txt", "PAUSED", "LOST"), "split.2.txt: LOST must be one of SPLITTING"),
        (other("split.2.txt", "[AllPartitionStatus]", "error: timeout"), "split.2.txt: 'error: timeout"),
        (
            other("split.2.txt", "| 1    | PAUSED      |\n", ""),
            "split.2.txt: the output of partition-split query is cut",
        ),
    ],
)
def test_bad_captures_are_named(change: Callable[[dict[str, str]], object], words: str) -> None:
    files = dict(FILES)
    change(files)
    with pytest.raises(UsageError, match=r"^onebox[:/]") as error:
        parsed(files)
    assert words in str(error.value)
    assert "docs/split-state.md" in str(error.value) or "capture again" in str(error.value)


def test_every_cut_of_a_file_is_refused() -> None:
    for name, text in FILES.items():
        for size in range(0, len(text.rstrip()) - 1, 11):
            if name == "split.2.txt" and size > text.rindex("0  "):
                continue  # only the frame is cut
            with pytest.raises(UsageError, match=re.escape(f"onebox/{name}")):
                parsed({**FILES, name: text[:size]})


@pytest.mark.parametrize("status", ["SPLITTING", "PAUSING", "PAUSED", "CANCELING", "COMPLETED"])
def test_the_states_of_a_split(status: str) -> None:
    text = FILES["split.2.txt"].replace("PAUSED", status)
    expected = {0: "SPLITTING"} | ({} if status == "COMPLETED" else {1: status})
    assert parse_split_query(text) == expected


def test_a_series_has_captures_and_state_files(tmp_path: Path) -> None:
    reader = LocalFileReader()
    first = saved(tmp_path / "series" / "one", FILES)
    later = {**FILES, "captured.json": FILES["captured.json"].replace("T02", "T03")}
    saved(tmp_path / "series" / "two", later)
    (tmp_path / "series" / "three.json").write_text(json.dumps(state(90, 8, 0)))
    saved(tmp_path / "series" / ".making.5", {"ls.json": "{"})
    assert [one.where for one in states_at(reader, f"{first}/")] == [str(first)]
    found = states_at(reader, str(tmp_path / "series"))
    assert [Path(one.where).name for one in found] == ["one", "two", "three.json"]


def test_a_series_of_captures_is_audited(tmp_path: Path) -> None:
    def moment(hour: int, ballot: int) -> dict[str, str]:
        time = FILES["captured.json"].replace("T02", f"T{hour:02}")
        app = FILES["app.2.json"].replace('"ballot": "5"', f'"ballot": "{ballot}"')
        return {**FILES, "captured.json": time, "app.2.json": app}

    for hour, ballot in ((2, 5), (9, 4)):
        saved(tmp_path / f"{hour}", moment(hour, ballot))
    states = states_at(LocalFileReader(), str(tmp_path))
    assert {(row.code, row.subject) for row in audit_config(states, TimeLimits())} == {
        ("SPLIT_C6", "2.1"), ("SPLIT_STUCK", "2.2"),
    }, "partition 3 is paused"  # fmt: skip


SHELL = """\
#!/usr/bin/env python3
# Answers commands with saved output, as Pegasus's shell does: a greeting, errors on stdout, always status 0
import os, pathlib, sys
answers = pathlib.Path(os.environ["ANSWERS"])
if sys.argv[1:3] != ["shell", "--cluster"] or len(sys.argv) != 4:
    sys.exit("ERROR: unknown option")
print('Pegasus Shell 2.6.0\\nType "help" for more information.\\n\\nThe cluster meta list is: ' + sys.argv[3])
app = ""
for line in sys.stdin:
    words = line.split()
    out = words[words.index("-o") + 1] if "-o" in words else None
    if words[0] == "use":
        app = words[1]
        print("OK", file=sys.stderr)
        continue
    name = {"app": "app.2.json", "get_app_envs": "app_envs.2.json"}.get(words[0], words[0] + ".json")
    asked = {"app": words[1], "get_app_envs": app}.get(words[0], "temp")
    if "-j" not in words or asked != "temp":
        sys.exit("a command that the script should not give: " + line)
    if not (answers / name).exists():
        print("list apps failed, error=ERR_TIMEOUT")
    elif out:
        answer = (answers / name).read_text()
        asked = answers / "asked"
        times = len(asked.read_text()) if asked.exists() else 0
        if words[0] == "app" and times < int(os.environ["CHANGES"]):
            asked.write_text("." * (times + 1))
            answer = answer.replace('"ballot": "3"', f'"ballot": "{times + 10}"')
        pathlib.Path(out).write_text(answer)
    else:
        print((answers / name).read_text(), end="")
"""
ADMIN = '#!/bin/sh\n[ "$*" = "-m 10.0.0.9:34601 partition-split query -a temp" ] && cat "$ANSWERS/split.2.txt"\n'


def run_script(root: Path, files: dict[str, str], **more: str) -> subprocess.CompletedProcess[str]:
    """Runs the script with a shell that answers these files, one key a line as rapidjson's PrettyWriter prints them."""
    pretty = {
        name: json.dumps(json.loads(text), indent=4) + "\n" if name.endswith(".json") else text
        for name, text in files.items()
    }
    saved(root / "answers", pretty)
    for name, text in {"run.sh": SHELL, "admin-cli": ADMIN}.items():
        (root / name).write_text(text)
        (root / name).chmod(0o755)
    environment: dict[str, Any] = {
        **os.environ, "ADMIN_CLI": "", "CHANGES": "0", "PEGASUS": str(root / "run.sh"),
        "ANSWERS": str(root / "answers"), **more,
    }  # fmt: skip
    command = [str(SCRIPT), "10.0.0.9:34601", str(root / "out")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_script_saves_a_capture(tmp_path: Path) -> None:
    done = run_script(tmp_path, FILES, ADMIN_CLI=str(tmp_path / "admin-cli"))
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "out").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    (found,) = states_at(LocalFileReader(), str(tmp_path / "out"))
    expected = parsed(FILES)
    assert (found.tables, found.leader, found.unalive_nodes) == (
        expected.tables, expected.leader, expected.unalive_nodes,
    )  # fmt: skip
    assert folder.name.replace("-", ":") in (folder / "captured.json").read_text().replace("-", ":")
    again = run_script(tmp_path / "more", {**FILES, "app_envs.2.json": "{}"})
    assert again.returncode == 0, again.stderr
    (found,) = states_at(LocalFileReader(), str(tmp_path / "more" / "out"))
    assert (found.tables[0].envs, found.tables[0].split_states) == ({}, None), "without admin-cli"


@pytest.mark.parametrize("lost", ["ls.json", "cluster_info.json", "app.2.json", "app_envs.2.json"])
def test_the_script_saves_nothing_if_the_shell_fails(tmp_path: Path, lost: str) -> None:
    done = run_script(tmp_path, {name: text for name, text in FILES.items() if name != lost})
    assert done.returncode == 1
    assert f"did not answer with {lost}" in done.stderr
    assert "ERR_TIMEOUT" in done.stderr, "what the shell said"
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        (None, 127, "No such file"),
        ("#!/bin/sh\ncat > /dev/null; echo out of reach; echo no libjvm.so >&2; exit 3\n", 3, "no libjvm.so"),
    ],
    ids=["missing", "failing"],
)
def test_the_script_says_why_the_shell_does_not_run(tmp_path: Path, program: str | None, code: int, said: str) -> None:
    shell = tmp_path / "other.sh"
    if program is not None:
        shell.write_text(program)
        shell.chmod(0o755)
    done = run_script(tmp_path, FILES, PEGASUS=str(shell))
    assert done.returncode == 1
    assert f"the shell of Pegasus, {shell}, ended with {code}; it said:" in done.stderr
    assert said in done.stderr
    assert ("out of reach" in done.stderr) is (program is not None), "what it said on standard output"
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(("changes", "code"), [(3, 0), (99, 1)])
def test_a_table_that_changes_is_read_again(tmp_path: Path, changes: int, code: int) -> None:
    done = run_script(tmp_path, FILES, ADMIN_CLI=str(tmp_path / "admin-cli"), CHANGES=str(changes))
    assert done.returncode == code, done.stderr
    if code:
        assert "table temp changed each time it was read" in done.stderr
        assert list((tmp_path / "out").iterdir()) == []
    else:
        (found,) = states_at(LocalFileReader(), str(tmp_path / "out"))
        assert found.tables[0].partitions[0].ballot == 3
