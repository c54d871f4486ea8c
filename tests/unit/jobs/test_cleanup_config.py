"""What a clean-up asks of the configuration before it looks at anything."""

import json
from pathlib import Path

import pytest

from jobs.cleanup.settings import checked_configuration
from jobs.cli import command_line
from jobs.cli.config.configuration import parse_config
from pipelines.common.errors import UsageError

HBASE = {"source": "hbase"}
ZOOKEEPER = {"source": "zookeeper", "quorum": "zk1:2181"}
ZNODES = {"source": "zookeeper"}
EXPORT = {"source": "export"}
SAVED = {"source": "ls", "path": "file:/l", "time_zone": "UTC", "started_at": "2026-11-21T02:00:00Z"}
SAVED["finished_at"] = SAVED["started_at"]
IMAGE = {"source": "fsimage", "path": "file:/i", "time_zone": "UTC", "transaction_time": "2026-11-21T02:00:00Z"}
OFFLINE = {"source": "offline", "quorum": "zk1:2181"}
PASS = {"started_at": SAVED["started_at"], "finished_at": SAVED["started_at"]}
QUARANTINE = {"quarantine": "hdfs://ns1/walsafe/quarantine"}


def document(**changes: object) -> str:
    capture = {
        "files": {"source": "hadoop"},
        "queues": HBASE,
        "state": HBASE,
        "hbase": {"site": "/etc/hbase/conf/hbase-site.xml"},
    }
    whole = {"cluster": "c", "wal_root": "hdfs://ns1/hbase", "capture": capture, "clean": QUARANTINE}
    whole |= {name: value for name, value in changes.items() if name in whole}
    capture |= {name: value for name, value in changes.items() if name not in whole}
    return json.dumps({name: value for name, value in whole.items() if value is not None})


@pytest.mark.parametrize(
    ("sources", "queues"),
    [({}, "hbase"), ({"queues": ZOOKEEPER}, "zookeeper"), ({"queues": ZOOKEEPER, "state": ZNODES}, "zookeeper")],
)
def test_live_sources_are_taken(sources: dict[str, object], queues: str) -> None:
    found = checked_configuration(parse_config(document(**sources), "c.yaml"), "c.yaml", "c")
    assert (found.capture.queues.source, found.wal_root) == (queues, "hdfs://ns1/hbase")
    assert found.clean.quarantine == QUARANTINE["quarantine"]


@pytest.mark.promise("cluster-must-be-the-configurations", "no-saved-answers-in-a-clean-up")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"clean": None}, "key 'clean' is missing"),
        ({"cluster": "other"}, "is the configuration of cluster other, not of --cluster c"),
        ({"queues": ZOOKEEPER, "files": SAVED}, "'ls' is an answer of earlier"),
        (
            {"queues": EXPORT, "state": OFFLINE, "export": {"path": "file:/e"}},
            "'export' is an answer of earlier",
        ),
        (
            {"files": {"source": "ls"}, "queues": EXPORT, "state": EXPORT, "export": {"path": "file:/e"}},
            "'ls' is an answer of earlier",
        ),
        (
            {"queues": {"source": "hfiles", "jars": ["/opt/hbase/lib/*.jar"]}, "state": OFFLINE},
            "'hfiles' is an answer of earlier",
        ),
        (
            {"files": IMAGE},
            "'fsimage' is an answer of earlier.* decide the list with files from hadoop or webhdfs, too",
        ),
        ({"queues": ZOOKEEPER, "state": OFFLINE}, "'offline' is an answer of earlier"),
        (
            {
                "queues": {"source": "cells", "passes": [{"path": "file:/1", **PASS}, {"path": "file:/2", **PASS}]},
                "state": OFFLINE,
            },
            "'cells' is an answer of earlier",
        ),
    ],
)
def test_what_is_no_look_at_the_cluster_as_it_is_now_is_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        checked_configuration(parse_config(document(**changes), "c.yaml"), "c.yaml", "c")


LIST = ["clean", "--cluster", "c", "--lists", "/l", "--lake", "/t", "--run-id", "r", "--config", "c.yaml"]


@pytest.mark.parametrize(("given", "size"), [("10TiB", 10 << 40), ("500 MiB", 500 << 20), ("5", 5)])
def test_a_size_is_written_as_in_the_configuration(given: str, size: int) -> None:
    assert command_line.parse([*LIST, "--max-bytes", given]).args.max_bytes == size


@pytest.mark.parametrize("given", ["0", "0B", "10TB", "-5", "1.5TiB"])
def test_what_is_no_size_is_wrong_usage(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text(document(), encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        command_line.parse([*LIST, f"--max-bytes={given}"])
    assert ended.value.code == 2
    assert f"{given!r} must be a size above 0, like 500GiB or 10TiB" in capsys.readouterr().err
