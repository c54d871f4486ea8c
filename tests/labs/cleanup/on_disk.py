"""Lays out the small cluster on disk, and runs nights and clean-up jobs on it."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from jobs.capture import capture_cluster
from jobs.cleanup.settings import cleanup_settings
from jobs.cleanup.wiring import open_cleanup
from jobs.cli.config.configuration import load_config
from jobs.cli.context import JobContext
from jobs.demo.cluster.model import GeneratedCapture
from jobs.demo.cluster.on_disk import ROOT, write_answers, write_cluster_files
from jobs.reconcile.wiring import OutputPlaces, run_reconcile
from pipelines.cleanup.clean import CleanRequest, clean
from pipelines.cleanup.purge import PurgeRequest, purge
from pipelines.cleanup.quarantine import LEASES
from pipelines.cleanup.request import CleanupPlace, CleanupPorts
from pipelines.cleanup.restore import RestoreRequest, restore
from pipelines.common.job_result import JobResult
from tests.labs.lake_rows import lake_rows
from tests.labs.small_cluster import NOW, At, small

RUN = "night"
CLUSTER = "prod"
L = TypeVar("L", bound="Lab")
Changed = Callable[[CleanupPorts], CleanupPorts]


@dataclass
class Lab:
    """One cluster, its lake, lists and quarantine, all below one directory.

    Attributes:
        made: the cluster as it is now.
        clock: the clock of all jobs.
        changed: the ports that a test puts in place of the real ones.
    """

    spark: SparkSession
    root: Path
    made: GeneratedCapture = field(default_factory=lambda: small(CLUSTER))
    clock: At = field(default_factory=lambda: At(NOW))
    options: Mapping[str, object] = field(default_factory=dict)
    changed: Changed = lambda ports: ports

    def __post_init__(self) -> None:
        if not self.live.exists():
            write_cluster_files(self.made, self.live)
        (self.root / "quarantine").mkdir(exist_ok=True)
        document = {
            "cluster": CLUSTER,
            "wal_root": f"file://{self.live / ROOT}",
            "capture": {
                "files": {"source": "hadoop"},
                "queues": {"source": "simulated", "path": str(self.live)},
                "state": {"source": "simulated", "path": str(self.live)},
                "quiet_attempts": 1,
                "step_attempts": 1,
            },
            "clean": {"quarantine": f"file://{self.root}/quarantine", "batch": 2, "threads": 2, **self.options},
        }
        self.config.write_text(json.dumps(document))

    @property
    def live(self) -> Path:
        return self.root / "live"

    @property
    def config(self) -> Path:
        return self.root / "prod.yaml"

    @property
    def lake(self) -> str:
        return f"file:{self.root}/lake"

    @property
    def quarantine(self) -> Path:
        return self.root / "quarantine" / CLUSTER

    def changes(self, made: GeneratedCapture) -> None:
        """Changes the state of the cluster; its files stay."""
        self.made = made
        write_answers(made, self.live)

    def pass_on(self, ms: int) -> None:
        """Advances the clock."""
        self.clock.instant += ms

    def after(self, ms: int, job: Callable[[], JobResult]) -> JobResult:
        """Runs a job at a later time, which the other jobs do not see, and returns its result."""
        self.pass_on(ms)
        try:
            return job()
        finally:
            self.pass_on(-ms)

    def night(self, run_id: str = RUN) -> JobResult:
        """Runs capture and reconcile."""
        context = JobContext("test", self.clock, self.spark)
        config = load_config(str(self.config), context)
        assert config.wal_root is not None
        assert config.capture is not None
        out = f"file:{self.root}/snapshots/{run_id}"
        (self.root / "snapshots").mkdir(exist_ok=True)
        capture_cluster(CLUSTER, config.wal_root, config.capture, out, context)
        return run_reconcile(context, config, OutputPlaces(self.lake, f"file:{self.root}/lists"), [out], run_id=run_id)

    @contextmanager
    def edges(self, job: str) -> Iterator[tuple[CleanupPlace, CleanupPorts]]:
        """Yields place and ports of a clean-up job, with the changes of the test."""
        context = JobContext(job, self.clock, self.spark)
        lists = f"file:{self.root}/lists"
        settings = cleanup_settings(str(self.config), CLUSTER, context)
        with open_cleanup(context, settings, self.lake, lists, out_of_quarantine=job == "restore") as (place, ports):
            yield place, self.changed(ports)

    def clean(
        self, run_id: str = RUN, *, execute: bool = False, resume: bool = False, max_files: int | None = None
    ) -> JobResult:
        """Runs the job clean."""
        with self.edges("clean") as (place, ports):
            return clean(CleanRequest(run_id, max_files, execute=execute, resume=resume), place, ports)

    def restore(self, *paths: str, run_id: str = RUN) -> JobResult:
        """Runs the job restore."""
        with self.edges("restore") as (place, ports):
            return restore(RestoreRequest(run_id, paths), place, ports)

    def purge(self, *, execute: bool = False, before_grace: str | None = None) -> JobResult:
        """Runs the job purge."""
        with self.edges("purge") as (place, ports):
            return purge(PurgeRequest(None, before_grace, execute=execute), place, ports)

    def lease_expires(self) -> None:
        """Lets the newest lease expire: its holder is dead or asleep and has not renewed it for a long time."""
        newest = max((self.quarantine / LEASES).glob("*.json"))
        os.utime(newest, (0, 0))

    # what is where

    def tree(self) -> dict[str, bytes | None]:
        """Returns all files and directories of the cluster, its quarantine, lists and lake; None = a directory."""
        found = (file for file in self.root.rglob("*") if file != self.config)
        return {str(file.relative_to(self.root)): file.read_bytes() if file.is_file() else None for file in found}

    def home(self) -> set[str]:
        """Returns the files below oldWALs."""
        root = self.live / ROOT
        return {str(file.relative_to(root)) for file in (root / "oldWALs").rglob("*") if file.is_file()}

    def resting(self) -> dict[str, str]:
        """Returns the files in quarantine, at rest or at work; the value is the run to which each belongs."""
        found = {}
        for file in self.quarantine.rglob("*"):
            run, _, path = str(file.relative_to(self.quarantine)).partition("/")
            if file.is_file() and not run.startswith(".leases"):
                found[path] = run
        return found

    def rows(self, table: str, condition: str = "true") -> list[dict[str, Any]]:
        """Returns the rows of a table of the lake."""
        return lake_rows(f"{self.lake}/{table}", condition)

    def outcomes(self) -> dict[str, str]:
        """Returns the last outcome of each path in the audit."""
        rows = sorted(
            self.rows("deletions", "phase = 'OUTCOME'"), key=lambda one: (one["lease"], one["batch"], one["at"])
        )
        return {one["path"]: one["outcome"] for one in rows}


class NightOver:
    """Provides labs whose night is over.

    The night is decided once, and each lab gets a copy of its bytes at the same place.

    Args:
        base: a directory of the whole session; the lake, lists and snapshots contain its path.
    """

    def __init__(self, spark: SparkSession, base: Path) -> None:
        self._spark, self._root, self._kept = spark, base / "lab", base / "kept"
        self._cleaned = base / "cleaned"
        self._root.mkdir()
        outcome = Lab(spark, self._root).night()
        assert outcome.exit_code == 0, outcome.text
        shutil.copytree(self._root, self._kept)

    def lab(self, kind: type[L], options: Mapping[str, object] | None = None) -> L:
        """Returns a lab in the state just after the night.

        Args:
            kind: the class of the lab.
            options: the keys of the configuration's section `clean`; the night does not use them.
        """
        return self._again(self._kept, kind, options)

    def cleaned(self, kind: type[L], options: Mapping[str, object] | None = None) -> L:
        """Returns a lab whose list was cleaned after the night, so that its files are in quarantine; cleaned only once.

        Args:
            kind: the class of the lab.
            options: the keys of the configuration's section `clean`; that clean-up did not use them.
        """
        if not self._cleaned.exists():
            lab = self.lab(Lab)
            done = lab.clean(execute=True)
            assert (done.exit_code, done.result["status"], len(lab.resting())) == (0, "DONE", 4), done.text
            shutil.copytree(self._root, self._cleaned)
        return self._again(self._cleaned, kind, options)

    def _again(self, kept: Path, kind: type[L], options: Mapping[str, object] | None) -> L:
        shutil.rmtree(self._root)
        shutil.copytree(kept, self._root)
        jvm: Any = self._spark._jvm
        jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # it remembers commits that are gone
        return kind(self._spark, self._root, options=options or {})


__all__ = ["CLUSTER", "RUN", "AbstractContextManager", "Lab", "replace"]
