"""The commands of README and docs that change no cluster, run for real on the lake of two nights."""

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


def documented() -> dict[str, tuple[str, bool]]:
    """The commands that only ask, in the words of the pages: where each stands first, and if WALSAFE_CONFIG is set."""
    found: dict[str, tuple[str, bool]] = {}
    for page, rest, configured in commands():
        if ABBREVIATED.search(rest):
            continue
        words = shlex.split(rest, comments=True)
        asks = words and words[0] in ASKING and not CHANGES.intersection(words)
        if asks and (words[0] != "night" or "--plan" in words):
            found.setdefault(" ".join(rest.split()), (page, configured))
    return found


DOCUMENTED = documented()


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
        **dict.fromkeys(("20261121T020000Z-5fb4059b", "oncall-1"), RUN),
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


def test_there_are_commands_of_every_job_that_asks() -> None:
    assert {command.split()[0] for command in DOCUMENTED} == ASKING
    assert len(DOCUMENTED) > 20
