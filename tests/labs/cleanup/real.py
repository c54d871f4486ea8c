"""Runs a night and its clean-up on a real HBase and HDFS, with only the rights of docs/cleanup-privileges.md."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from jobs.capture import capture_cluster
from jobs.cleanup.settings import cleanup_settings
from jobs.cleanup.wiring import open_cleanup
from jobs.cli.config.configuration import load_config
from jobs.cli.context import JobContext, SystemClock
from jobs.cli.entry import main
from jobs.reconcile.wiring import OutputPlaces, run_reconcile
from pipelines.cleanup.clean import CleanRequest, clean
from pipelines.cleanup.purge import PurgeRequest, purge
from pipelines.cleanup.quarantine import LEASES
from pipelines.cleanup.request import CleanupPlace, CleanupPorts
from pipelines.cleanup.restore import RestoreRequest, restore
from pipelines.common.errors import WalsafeError
from pipelines.common.job_result import JobResult
from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.hdfs import HdfsCluster

CLEANER = "walsafe"
HOME = "/cleanup"
RUN = "night"
TTLS = (
    "hbase.master.logcleaner.ttl",
    "hbase.master.procedurewalcleaner.ttl",
    "hbase.master.local.store.walcleaner.ttl",
)
NO_TTL = {**dict.fromkeys(TTLS, "0"), "hbase.backup.enable": "false"}
"""What `hbase-site.xml` says: TOO_YOUNG would hide every other answer, and other tests may have made backup:system."""
Entry = tuple[int, int]
"""Length and modification time: the same file, wherever it lies."""


class Before:
    """A port that does something just before a method is called for the first time."""

    def __init__(self, inner: object, method: str, event: Callable[[], object]) -> None:
        self._inner = inner
        self._method = method
        self._event: Callable[[], object] | None = event

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the edge has
        if name == self._method and self._event is not None:
            event, self._event = self._event, None
            event()
        return getattr(self._inner, name)


@dataclass
class RealLab:
    """One cluster with its own name in the lake, the lists and the quarantine.

    Attributes:
        name: the `cluster` of the configuration; each test has its own.
        files: the section `capture.files`, which also determines the technology of the store.
        batch: the value of `clean.batch`.
        lake_on_hdfs: whether the lake is on HDFS, where it can refuse its user; on the disk it takes half the time.
        changed: the ports that a test puts in place of the real ones.
        site_of: the cluster whose hbase-site.xml the configuration names.
        sections: the keys of `capture` that replace those for queues in a table.
    """

    cluster: HBaseCluster
    hdfs: HdfsCluster
    spark: SparkSession
    work: Path
    name: str
    files: str = "hadoop"
    batch: int = 1_000
    lake_on_hdfs: bool = False
    changed: Callable[[CleanupPorts], CleanupPorts] = lambda ports: ports
    site_of: HBaseCluster | None = None
    sections: Mapping[str, object] = field(default_factory=dict)

    @property
    def lake(self) -> str:
        return f"{self.hdfs.uri}{HOME}/lake" if self.lake_on_hdfs else f"file:{self.work}/lake"

    @property
    def quarantine(self) -> str:
        """Returns the path of the cluster's quarantine, without scheme and authority."""
        return f"{HOME}/quarantine/{self.name}"

    @property
    def list_folder(self) -> Path:
        return self.work / "lists" / self.name / RUN

    def config(self) -> str:
        site = (self.site_of or self.cluster).write_conf(self.work / (self.site_of or self.cluster).name, NO_TTL)
        webhdfs = {"source": "webhdfs", "urls": [self.hdfs.webhdfs()], "user": CLEANER}
        document = {
            "cluster": self.name,
            "wal_root": self.cluster.wal_root,
            "capture": {
                "files": webhdfs if self.files == "webhdfs" else {"source": "hadoop"},
                "queues": {"source": "hbase"},
                "state": {"source": "hbase"},
                "hbase": {"site": str(site / "hbase-site.xml"), "timeout": "5m"},
                "pause": "1s",
                **self.sections,
            },
            # as it stands in the cluster's own hbase-site.xml
            "cleaners": {"interval": "24h"},
            "clean": {"quarantine": f"{self.hdfs.uri}{HOME}/quarantine", "batch": self.batch},
        }
        file = self.work / f"{self.name}.yaml"
        file.write_text(json.dumps(document))
        return str(file)

    def night(self) -> JobResult:
        """Runs capture and reconcile."""
        context = JobContext("test", SystemClock(), self.spark)
        config = load_config(self.config(), context)
        assert config.wal_root is not None
        assert config.capture is not None
        out = f"file:{self.work}/snapshot-{self.name}"
        capture_cluster(self.name, config.wal_root, config.capture, out, context)
        outcome = run_reconcile(context, config, OutputPlaces(self.lake, f"file:{self.work}/lists"), [out], run_id=RUN)
        assert outcome.exit_code in (0, 5), outcome.text
        return outcome

    def put_lake_on_hdfs(self) -> None:
        """Copies the tables of the night to HDFS, as the user of the clean-up: a night into HDFS takes Spark longer."""
        context: Any = self.spark.sparkContext
        there = context._jvm.org.apache.hadoop.fs.Path(f"{self.hdfs.uri}{HOME}/lake")
        files = there.getFileSystem(context._jsc.hadoopConfiguration())
        for table in (self.work / "lake").iterdir():
            files.copyFromLocalFile(context._jvm.org.apache.hadoop.fs.Path(f"file:{table}"), there)
        self.lake_on_hdfs = True

    def explain(self, *paths: str) -> list[dict[str, Any]]:
        """Returns the answers of the job explain about files, in the order of the paths."""
        result = self.work / f"explained-{self.name}.json"
        words = ["explain", "--lake", self.lake, "--cluster", self.name, "--result", str(result), *paths]
        assert main(words, context=JobContext("explain", SystemClock(), self.spark)) == 0
        files: list[dict[str, Any]] = json.loads(result.read_text())["files"]
        return files

    @contextmanager
    def edges(self, job: str) -> Iterator[tuple[CleanupPlace, CleanupPorts]]:
        context = JobContext(job, SystemClock(), self.spark)
        settings = cleanup_settings(self.config(), self.name, context)
        with open_cleanup(context, settings, self.lake, f"file:{self.work}/lists") as (place, ports):
            yield place, self.changed(ports)

    def clean(self, *, execute: bool = False, resume: bool = False) -> JobResult:
        with self.edges("clean") as (place, ports):
            return clean(CleanRequest(RUN, execute=execute, resume=resume), place, ports)

    def attempt(self, *, resume: bool = False) -> tuple[int, str]:
        """Runs clean as its user sees it; returns the exit code and the output."""
        try:
            outcome = self.clean(execute=not resume, resume=resume)
        except WalsafeError as error:
            return error.exit_code, str(error)
        return outcome.exit_code, outcome.text

    def restore(self, paths: Iterable[str]) -> JobResult:
        with self.edges("restore") as (place, ports):
            return restore(RestoreRequest(RUN, tuple(paths)), place, ports)

    def purge(self, reason: str) -> JobResult:
        with self.edges("purge") as (place, ports):
            return purge(PurgeRequest(RUN, reason, execute=True), place, ports)

    def happens(self, edge: str, method: str, event: Callable[[], object]) -> None:
        """Arranges that something happens before the first call of a port's method."""

        def changed(ports: CleanupPorts) -> CleanupPorts:
            edges: dict[str, Any] = {edge: Before(getattr(ports, edge), method, event)}
            return replace(ports, **edges)

        self.changed = changed

    def lease_expires(self) -> None:
        """Lets the newest lease expire: nobody has renewed it for a long time.

        Before the first job there is no lease.
        """
        files = self.hdfs.file_system()
        leases = files.listStatus(self.hdfs.path(f"{self.quarantine}/{LEASES}"))
        newest = max((status.getPath() for status in leases), key=str)
        files.setTimes(newest, 0, -1)

    # what is where

    def home(self) -> dict[str, Entry]:
        """Returns the files below oldWALs."""
        return {file.path: (file.length, file.modification_time) for file in self.cluster.old_wals()}

    def resting(self) -> dict[str, Entry]:
        """Returns the files in quarantine, at rest or at work, by the path that they had below the WAL root."""
        files, home = self.hdfs.file_system(), self.hdfs.path(self.quarantine)
        found: dict[str, Entry] = {}
        if not files.exists(home):
            return found
        walk = files.listFiles(home, True)
        while walk.hasNext():
            status = walk.next()
            below = str(status.getPath().toUri().getPath()).removeprefix(f"{self.quarantine}/")
            run, _, path = below.partition("/")
            if run != ".leases":
                found[path] = (int(status.getLen()), int(status.getModificationTime()))
        return found

    def outcomes(self) -> dict[str, str]:
        """Returns the last outcome of each path in the audit."""
        frame = self.spark.read.format("delta").load(f"{self.lake}/deletions")
        rows = frame.where(f"cluster = '{self.name}' AND phase = 'OUTCOME'").collect()
        rows.sort(key=lambda one: (one["lease"], one["batch"], one["at"]))
        return {one["path"]: one["outcome"] for one in rows}

    def listed(self) -> set[str]:
        """Returns the paths on the list."""
        parts = sorted(self.list_folder.glob("part-*.txt"))
        lines = [line for part in parts for line in part.read_text().splitlines()]
        return {line.removeprefix(f"{self.cluster.wal_root}/") for line in lines}

    def assert_nothing_is_lost(self, start: Mapping[str, Entry], taken: Iterable[str] = ()) -> None:
        """Checks that each file of the start is in oldWALs, in quarantine, purged by the audit, or taken by HBase.

        Each file must be in exactly one of these places, and unchanged.
        """
        home, resting, outcomes, gone = self.home(), self.resting(), self.outcomes(), set(taken)
        for path, entry in start.items():
            places = (home.get(path), resting.get(path))
            ended = [path in gone, outcomes.get(path) == "PURGED"]
            found = [one for one in places if one is not None]
            assert (found, sum(ended)) in (([entry], 0), ([], 1)), (path, places, ended, outcomes.get(path))
        assert set(resting) <= set(start)

    def assert_audit_is_true(self) -> None:
        """Checks that the files in quarantine are those that the audit records as moved."""
        assert set(self.resting()) == {path for path, outcome in self.outcomes().items() if outcome == "MOVED"}
