"""The commands of README and docs that change no cluster, run for real: on the lake of two nights, or beside it."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.cli.context import JobContext
from jobs.cli.entry import main
from jobs.demo.cluster.on_disk import ROOT
from pipelines.common.instants import DAY_MS
from tests.labs.cleanup.on_disk import CLUSTER, RUN, Lab
from tests.labs.documented_commands import ABBREVIATED, commands
from tests.labs.places import PROJECT
from tests.labs.small_cluster import H1, wal

pytestmark = pytest.mark.slow("two nights, and some thirty commands that ask about them")

ASKING = {
    "capture", "explain", "views", "check-tables", "clean", "maintain", "audit-queues", "dump-queues", "night",
}  # fmt: skip
CHANGES = {"--execute", "--resume", "--out"}
BEFORE = "earlier"
WRITING = {"capture", "reconcile", "check-tables"}
ELSEWHERE = ("prod-b", "prod-a-down.yaml", "walsafe.yaml")
"""Configurations of a cluster with ZooKeeper, of one that is down, and of no page."""
ONLY_PARSED = {
    "capture": "tests/integration/test_zookeeper_cluster.py",  # of the configurations in ELSEWHERE
    "clean": "tests/spark/test_cleanup.py",  # --execute and --resume
    "demo": "tests/spark/test_demo.py",
    "inspect-wals": "tests/integration/test_inspect_wals.py",  # needs WALs that HBase wrote
    "maintain": "tests/spark/maintain/test_old_nights.py",  # --execute
    "night": "tests/spark/test_night_job.py",
    "plan-migration": "tests/spark/test_migration.py",  # needs queues in ZooKeeper
    "plan-syncup": "tests/spark/test_plan_syncup.py",  # needs a capture of a cluster that is down
    "purge": "tests/spark/test_cleanup_purge.py",  # needs files in the quarantine
    "restore": "tests/spark/test_cleanup.py",  # needs files in the quarantine
    "split": "tests/spark/test_split_jobs.py",
    "verify-migration": "tests/spark/test_migration.py",
}
"""Jobs with commands that are not run here, only held to the parsers (tests/unit/docs): the tests that run the job."""


def documented() -> dict[str, tuple[str, bool]]:
    """All commands in the words of the pages: where each stands first, and if WALSAFE_CONFIG is set."""
    found: dict[str, tuple[str, bool]] = {}
    for page, rest, configured in commands():
        if not ABBREVIATED.search(rest) and rest.strip() and not rest.strip().startswith("-"):
            found.setdefault(shlex.join(shlex.split(rest, comments=True)), (page, configured))
    return found


def asks(command: str) -> bool:
    """Whether it changes nothing at all."""
    words = shlex.split(command, comments=True)
    return words[0] in ASKING and not CHANGES.intersection(words) and (words[0] != "night" or "--plan" in words)


def writes(command: str) -> bool:
    """Whether it writes beside the lake of the tests, and needs no other cluster."""
    job = command.split(maxsplit=1)[0]
    return job in WRITING and not asks(command) and not any(name in command for name in ELSEWHERE)


EVERY = documented()
DOCUMENTED = {command: where for command, where in EVERY.items() if asks(command)}
WRITTEN = {command: where for command, where in EVERY.items() if writes(command)}


@pytest.fixture(scope="module")
def lab(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    root = tmp_path_factory.mktemp("documented")
    made = Lab(spark, root)
    made.night(BEFORE)
    made.pass_on(DAY_MS)
    made.night(RUN)
    config = made.config.read_text().rstrip("}")
    made.config.write_text(
        f'{config}}}, "lake": "{made.lake}", "lists": "file:{root}/lists", "snapshots": "file:{root}/snapshots"}}'
    )
    return made


@pytest.fixture
def places(lab: Lab, tmp_path: Path) -> Mapping[str, str]:
    """What stands here for each place, name and date of the pages."""
    file, snapshots = f"oldWALs/{wal(H1, 2)}", f"file:{lab.root}/snapshots"
    example = "oldWALs/h1%2C16020%2C1763690000000.1763694000000"
    return {
        **dict.fromkeys(("hdfs://ns1/walsafe/lake", "/walsafe/lake", "s3://bucket/walsafe/lake"), lab.lake),
        "hdfs://ns1/walsafe/lists": f"file:{lab.root}/lists",
        "hdfs://ns1/walsafe/snapshots/prod-a/2026-11-20": f"{snapshots}/{BEFORE}",
        "hdfs://ns1/walsafe/snapshots/prod-a/2026-11-21": f"{snapshots}/{RUN}",
        "hdfs://ns1/walsafe/plan": f"file:{tmp_path}/plan",
        "/tmp/quality": str(tmp_path / "quality"),  # noqa: S108 - a word of the page
        "conf/production.example.yaml": str(PROJECT / "conf" / "production.example.yaml"),
        "prod-a.yaml": str(lab.config),
        "prod-a": CLUSTER,
        **dict.fromkeys(("20261121T020000Z-5fb4059b", "$ID"), RUN),
        **dict.fromkeys(("2026-11-20", "2026-11-20T14:00Z"), "2026-09-21"),
        **dict.fromkeys(("rs12", "h1"), "h1.example.org"),
        example: file,
        f"hdfs://ns1/hbase/{example}": f"file://{lab.live / ROOT}/{file}",
    }


@pytest.mark.parametrize("command", DOCUMENTED)
def test_a_command_of_the_pages_answers(
    command: str,
    lab: Lab,
    places: Mapping[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page, configured = DOCUMENTED[command]
    monkeypatch.setenv("WALSAFE_CONFIG", str(lab.config) if configured else "")
    named = shlex.split(command, comments=True)
    missing = [word for word in named if word not in places and ("walsafe/" in word or "1763690000000" in word)]
    assert not missing, f"{page}: {missing} stand for nothing here"
    words = [places.get(word, word) for word in named]
    before = lab.home(), lab.resting()
    code = main(words, context=JobContext(words[0], lab.clock, lab.spark))
    told = capsys.readouterr()
    assert code in {0, 5}, f"{page}: {told.err}"
    assert told.out.strip()
    assert (lab.home(), lab.resting()) == before, "it only asked"


@pytest.fixture(scope="module")
def beside(lab: Lab) -> Path:
    """A folder with a configuration of the same cluster, whose lake, lists and reports are in this folder."""
    folder = lab.root / "beside"
    folder.mkdir()
    own = {name: f"file:{folder}/{name}" for name in ("lake", "lists", "reports")}
    (folder / "prod.yaml").write_text(json.dumps({**json.loads(lab.config.read_text()), **own}))
    return folder


@pytest.mark.parametrize("command", WRITTEN)
def test_a_command_of_the_pages_writes(
    command: str,
    lab: Lab,
    beside: Path,
    places: Mapping[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page, configured = WRITTEN[command]
    monkeypatch.setenv("WALSAFE_CONFIG", str(beside / "prod.yaml") if configured else "")
    job, *named = shlex.split(command, comments=True)
    taken = f"file:{lab.root}/snapshots/{RUN}"
    snapshots = ("2026-11-21", "20261121T020000Z")
    here = {
        **places,
        **dict.fromkeys((f"hdfs://ns1/walsafe/snapshots/prod-a/{name}" for name in snapshots), taken),
        **dict.fromkeys(("$SNAPSHOT", "file:///tmp/demo/live"), taken),
        "hdfs://ns1/walsafe/lists": f"file:{beside}/lists",
        "file:///var/www/walsafe": f"file:{beside}/reports",
        **dict.fromkeys(("prod-a.yaml", "/home/you/prod-a.yaml"), str(beside / "prod.yaml")),
    }
    if job == "reconcile":
        here["hdfs://ns1/walsafe/lake"] = f"file:{beside}/lake"
    words = [here.get(word, word) for word in named]
    out = tmp_path / "out"
    if "--out" in words:
        words[words.index("--out") + 1] = str(out) if job == "check-tables" else f"file:{out}"
    before = lab.home(), lab.resting()
    code = main([job, *words], context=JobContext(job, lab.clock, lab.spark))
    told = capsys.readouterr()
    assert code in {0, 5}, f"{page}: {told.err}"
    assert told.out.strip()
    assert (lab.home(), lab.resting()) == before, "it moved no file"
    if job == "reconcile":
        assert list((beside / "lists" / CLUSTER).glob("*/manifest.json"))
    else:
        assert list(out.iterdir())


def test_every_other_command_is_of_a_job_that_other_tests_run() -> None:
    rest = {command.split()[0].partition("-")[0] if "split-" in command else command.split()[0]
            for command in EVERY.keys() - DOCUMENTED.keys() - WRITTEN.keys()}  # fmt: skip
    assert rest == set(ONLY_PARSED)
    for tests in ONLY_PARSED.values():
        assert (PROJECT / tests).is_file()


def test_there_are_commands_of_every_job_that_asks() -> None:
    assert {command.split()[0] for command in DOCUMENTED} == ASKING
    assert len(DOCUMENTED) > 20
