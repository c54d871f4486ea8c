"""The paths of the demo, and its configuration file."""

from dataclasses import dataclass
from pathlib import Path

from jobs.cli.context import directory_here, project_file
from jobs.demo.cluster.on_disk import ROOT
from pipelines.common.errors import UnavailableError, UsageError
from pipelines.common.instants import compact_instant
from pipelines.files.local_paths import local_uri
from pipelines.lake.run_summary import RunSummary


@dataclass(frozen=True, slots=True)
class DemoOutput:
    """Something that the demo has written, and its location."""

    what: str
    where: str


class DemoPlaces:
    """The paths of the demo, all below one directory.

    Attributes:
        lake: the Delta tables.
        lists: the delete-safe lists.
        reports: the pages.
        plan: the claim plan of audit-queues.
        config: the configuration file.
        cluster: the directory that simulates the live cluster of the last night.
        snapshots: the snapshots of all nights.
        quarantine: where `clean` moves files.
        old_snapshot: the snapshot of the last night with its queues in ZooKeeper.
        wal_root: the URI of the simulated cluster's `hbase.wal.dir`.
    """

    def __init__(self, root: Path) -> None:
        """Sets the paths; creates nothing."""
        self.lake, self.lists, self.reports = root / "lake", root / "lists", root / "reports"
        self.plan, self.config, self.cluster = root / "plan", root / "demo.yaml", root / "cluster"
        self.snapshots, self.quarantine = root / "snapshots", root / "quarantine"
        self.old_snapshot = self.snapshots / "before-upgrade"
        self.wal_root = f"file://{self.cluster / ROOT}"

    def write_config(self, cluster: str) -> None:
        """Writes the demo's configuration: its simulated cluster and its places, so that commands need no more."""
        import yaml

        live = {"source": "simulated", "path": str(self.cluster)}
        sections = {
            "cluster": cluster,
            "lake": local_uri(self.lake),
            "lists": local_uri(self.lists),
            "snapshots": local_uri(self.snapshots),
            "reports": local_uri(self.reports),
            "wal_root": self.wal_root,
            "capture": {"files": {"source": "hadoop"}, "queues": {**live}, "state": {**live}},
            "clean": {"quarantine": f"file://{self.quarantine}"},
        }
        try:
            with self.config.open("a", encoding="utf-8") as out:
                out.write("\n# the demo's own places, and its cluster: a directory that plays a live one\n")
                yaml.safe_dump(sections, out, sort_keys=False, allow_unicode=True)
        except OSError as error:
            raise UnavailableError(f"{self.config} cannot be written: {error}; give another --out") from error

    def snapshot(self, number: int) -> Path:
        """Returns the directory of one night's snapshot."""
        return self.snapshots / f"night-{number}"

    def shown(self, last: RunSummary, page: Path) -> list[DemoOutput]:
        """Returns what the demo names at its end, with the page of the last night first."""
        return [
            DemoOutput("report, for a browser", page.as_uri()),
            DemoOutput("delete-safe list", str(self.lists / last.cluster / last.run_id)),
            DemoOutput("Delta tables", str(self.lake)),
            DemoOutput("snapshots", str(self.snapshots)),
            DemoOutput("the cluster's files", str(self.cluster)),
            DemoOutput("configuration", str(self.config)),
        ]


def new_directory(given: str | None, now: int) -> Path:
    """Creates the demo's directory with its configuration file.

    Args:
        given: the directory; None = a new one below `walsafe-out`, named after the time.
        now: ms since the epoch.

    Raises:
        UsageError: the directory exists and is not empty, or is not on this machine.
        UnavailableError: it cannot be written.
    """
    out = directory_here(given or f"walsafe-out/demo-{compact_instant(now)}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"--out {out} exists already; give a directory that does not exist yet, or an empty one")
    try:
        (out / "snapshots").mkdir(parents=True)
        (out / "demo.yaml").write_text(project_file("conf/demo.yaml"), encoding="utf-8")
    except OSError as error:
        raise UnavailableError(f"--out {out} cannot be written: {error}; give another directory") from error
    return out.resolve()
