"""Simulates a cluster and its clean-up in memory, and checks what must be true at any moment."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pipelines.cleanup.audit_ports import DecidedRun, PlannedFile, SecondLookResult
from pipelines.cleanup.clean import CleanRequest, clean
from pipelines.cleanup.deletions import CleanupAction, CleanupFile, FileOutcome
from pipelines.cleanup.purge import PurgeRequest, purge
from pipelines.cleanup.quarantine import Quarantine, runs_in
from pipelines.cleanup.request import CleanupPlace, CleanupPorts
from pipelines.cleanup.restore import RestoreRequest, restore
from pipelines.common.instants import DAY_MS
from pipelines.common.job_result import JobResult
from pipelines.lake.findings import Acknowledgement
from pipelines.lake.lake_records import RunRecord
from pipelines.lake.run_summary import DONE, FindingRow, RunKey
from pipelines.reconcile.delete_list import Manifest
from tests.labs.cleanup.memory import Disk, Entry, Killed, MemoryStore, Process
from tests.labs.cleanup.memory_audit import Lake, MemoryAudit

CLUSTER = "prod"
ROOT = "hdfs://ns1/hbase"
PLACE = Quarantine("hdfs://ns1/walsafe/quarantine", CLUSTER)
LEASE_MS = 10_000
START = 1_790_000_000_000
FIRST = START // 1000
"""The number of the first lease."""
SETTLED = (FileOutcome.MOVED, FileOutcome.ALREADY_GONE)
DIGEST = "0" * 64
Job = Callable[["World", Process], JobResult | None]


@dataclass
class MemoryFindings:
    """Implements `FindingReader` for the world: its newest run and the findings of that run."""

    status: str | None = DONE
    rows: list[FindingRow] = field(default_factory=list)

    def newest_runs(self, cluster: str | None) -> tuple[RunRecord, ...]:
        if self.status is None:
            return ()
        key = RunKey.of(cluster or CLUSTER, "newest", START)
        run = RunRecord(
            key.cluster, key.run_id, key.run_date, self.status, "NIGHTLY", START, "why", START, DIGEST, 0, None
        )
        return (run, replace(run, run_id="older", status=DONE))

    def findings(self, runs: Collection[RunKey]) -> Mapping[str, tuple[FindingRow, ...]]:
        return {key.cluster: tuple(self.rows) for key in runs if key.run_id == "newest"}


@dataclass
class World:
    """A cluster in memory. A file is identified by its modification time, which is unique and which a rename keeps.

    Attributes:
        needed: the files that some peer may need; a file that no peer needs any more stays free.
        ever: every file that was ever below oldWALs.
        taken: the files that HBase's own cleaner took.
        by_hand: the files that a person put back.
        lists: the files of each delete-safe list.
        decided: what the newest run of reconcile found.
        acknowledged: the findings that the configuration of the clean-up acknowledges.
    """

    disk: Disk = field(default_factory=lambda: Disk(START))
    lake: Lake = field(default_factory=Lake)
    needed: set[int] = field(default_factory=set)
    ever: set[int] = field(default_factory=set)
    taken: set[int] = field(default_factory=set)
    by_hand: set[int] = field(default_factory=set)
    lists: dict[str, list[CleanupFile]] = field(default_factory=dict)
    manifests: dict[str, Manifest] = field(default_factory=dict)
    jobs: int = 0
    decided: MemoryFindings = field(default_factory=MemoryFindings)
    acknowledged: list[Acknowledgement] = field(default_factory=list)

    # the cluster

    def archives(self, path: str, *, needed: bool) -> None:
        """Moves a WAL to oldWALs as HBase does; a file of the same name is replaced."""
        if f"{ROOT}/{path}" in self.disk.files:
            self.hbase_cleans(path)
        number = START - DAY_MS + len(self.ever)
        self.disk.make(f"{ROOT}/{path}".rpartition("/")[0])
        self.disk.files[f"{ROOT}/{path}"] = Entry(1 + len(self.ever), number)
        self.ever.add(number)
        if needed:
            self.needed.add(number)

    def hbase_cleans(self, path: str) -> None:
        """Deletes a file as HBase's own cleaner or a person does; the file is not needed any more."""
        entry = self.disk.files.pop(f"{ROOT}/{path}")
        self.needed.discard(entry.modification_time)
        self.taken.add(entry.modification_time)

    def put_back_by_hand(self, path: str) -> None:
        """Moves a file out of the quarantine as `hdfs dfs -mv` does, if its name below oldWALs is free."""
        for uri in [uri for uri in self.disk.below(PLACE.home) if uri.endswith(f"/{path}")]:
            if f"{ROOT}/{path}" not in self.disk.files:
                self.by_hand.add(self.disk.files[uri].modification_time)
                self.disk.files[f"{ROOT}/{path}"] = self.disk.files.pop(uri)

    def home(self) -> dict[str, Entry]:
        return {uri[len(ROOT) + 1 :]: entry for uri, entry in self.disk.below(f"{ROOT}/oldWALs").items()}

    def resting(self) -> dict[tuple[str, str], Entry]:
        """Returns the files in quarantine by run and path, whatever the present name of the run's directory is."""
        found = {}
        for uri, entry in self.disk.below(PLACE.home).items():
            name, _, path = uri[len(PLACE.home) + 1 :].partition("/")
            if name != ".leases":
                (run,) = runs_in([name])
                found[run, path] = entry
        return found

    def night(self, run_id: str) -> None:
        """Runs capture and reconcile."""
        listed = [
            CleanupFile(path, entry.length, entry.modification_time)
            for path, entry in self.home().items()
            if entry.modification_time not in self.needed
        ]
        self.lists[run_id] = listed
        self.lake.decided[run_id] = DecidedRun(RunKey.of(CLUSTER, run_id, START), DIGEST, ("1",), "id")
        self.manifests[run_id] = Manifest(
            CLUSTER, "id", run_id, DIGEST, self.disk.now, self.disk.now + DAY_MS,
            len(listed), sum(one.length for one in listed), (),
        )  # fmt: skip

    # the jobs

    def edges(self, process: Process, stop: Callable[[], bool] = lambda: False) -> tuple[CleanupPlace, CleanupPorts]:
        self.jobs += 1
        store = MemoryStore(self.disk, process)
        place = CleanupPlace(CLUSTER, ROOT, PLACE, f"me@edge job {self.jobs}", str(self.jobs), 2, LEASE_MS, 7 * DAY_MS)
        audit = MemoryAudit(self.lake, self.disk, process, self.places)
        look = MemoryLook(self, store)
        return replace(place, acknowledged=tuple(self.acknowledged)), CleanupPorts(
            store, audit, MemoryLists(self), look, Now(self), stop, lambda _: None, lambda: 0.0, findings=self.decided
        )

    def places(self, run_id: str) -> tuple[set[int], set[int]]:
        """Returns the files below oldWALs, and those of a run in quarantine."""
        resting = {entry.modification_time for (run, _), entry in self.resting().items() if run == run_id}
        return {entry.modification_time for entry in self.home().values()}, resting

    def actions(self, run_id: str) -> set[CleanupAction]:
        """Returns the actions for which files of a run were begun."""
        return {row.action for row in self.lake.deletions if row.run.run_id == run_id and row.result is None}

    def open_intents(self) -> set[tuple[object, ...]]:
        """Returns the intents of all runs that have no outcome."""
        return {row.key for decided in self.lake.decided.values() for row in self.lake.unsettled(decided.run)}

    # what must hold

    def check(self) -> None:
        """Checks what must be true at any moment, whichever job died at whichever step."""
        home = {entry.modification_time for entry in self.home().values()}
        resting = self.resting()
        quarantined = {entry.modification_time for entry in resting.values()}
        rows = self.lake.deletions
        purges = {
            row.subject.modification_time for row in rows if row.action is CleanupAction.PURGE and row.result is None
        }
        lost = self.ever - home - quarantined - self.taken
        assert lost <= purges, "files are gone that neither HBase nor an audited purge took"
        assert not home & quarantined
        assert self.needed <= home | quarantined, "a needed file is out of reach"
        intended = {
            (row.run.run_id, row.subject.path) for row in rows if row.action is CleanupAction.CLEAN and not row.result
        }
        assert set(resting) <= intended, "a file was moved without an intent"
        assert not self.lake.untrue, "an outcome was written that was not so"
        assert not self.disk.unfenced, "a holder went on after another had taken over"
        for run_id, decided in self.lake.decided.items():
            if not self.lake.unsettled(decided.run):
                self._audit_is_true(run_id, lost)

    def _audit_is_true(self, run_id: str, lost: set[int]) -> None:
        """Checks that the last outcome of each file says where the file is; called if no job has died since."""
        resting = {path: entry.modification_time for (run, path), entry in self.resting().items() if run == run_id}
        placed = self.lake.placed(self.lake.decided[run_id].run)
        for path, row in placed.items():
            assert row.result is not None
            outcome, number = row.result.outcome, row.subject.modification_time
            if number not in self.by_hand:  # no row is written when a person moves a file
                assert (outcome is FileOutcome.MOVED) == (resting.get(path) == number), (path, outcome)
                assert outcome is not FileOutcome.PURGED or number in lost, (path, outcome)
        listed = {one.path: one.modification_time for one in self.lists[run_id]}
        for path, number in resting.items():
            row = placed.get(path)
            known = row.result.outcome is FileOutcome.MOVED if row and row.result else listed[path] != number
            assert known, "a file rests there that the audit does not know, or of which it says that it is gone"

    def view(self) -> object:
        """Returns everything in which two ways to the same end must agree."""
        return (
            {path: entry.modification_time for path, entry in self.home().items()},
            {key: entry.modification_time for key, entry in self.resting().items()},
            self.disk.names(PLACE.home),
            {
                run_id: (
                    {path: row.result and row.result.outcome for path, row in self.lake.placed(decided.run).items()},
                    self.lake.unsettled(decided.run),
                )
                for run_id, decided in self.lake.decided.items()
            },
        )


@dataclass
class Now:
    """Implements `Clock` for the world."""

    world: World

    def now_ms(self) -> int:
        return self.world.disk.now


@dataclass
class MemoryLists:
    """Implements `ManifestReader` for the world."""

    world: World

    def manifest(self, _cluster: str, run_id: str) -> Manifest:
        return self.world.manifests[run_id]


@dataclass
class MemoryLook:
    """Implements `SecondLook`: the plans of `pipelines.cleanup.clean_plan` for the files that are needed now."""

    world: World
    store: MemoryStore

    def at_list(self, manifest: Manifest, run: RunKey) -> SecondLookResult:
        placed = self.world.lake.placed(run)
        outcomes = {path: row.result.outcome for path, row in placed.items() if row.result}
        home = self._listed()
        planned = []
        for subject in self.world.lists[manifest.run_id]:
            now = home.get(subject.path)
            if outcomes.get(subject.path) in SETTLED:
                continue
            if now is None:
                planned.append(PlannedFile(subject, FileOutcome.ALREADY_GONE))
            elif now.modification_time != subject.modification_time:
                planned.append(PlannedFile(subject, FileOutcome.CHANGED))
            elif now.modification_time in self.world.needed:
                planned.append(PlannedFile(subject, FileOutcome.REFUSED))
            else:
                planned.append(PlannedFile(subject))
        return self._looked(planned)

    def _listed(self) -> dict[str, Entry]:
        """Returns the files below oldWALs as the job's own client lists them."""
        found = {}
        for batch in self.store.walk(f"{ROOT}/oldWALs"):
            for path, length, modified in zip(batch.paths, batch.lengths, batch.modification_times, strict=True):
                found[f"oldWALs/{path}"] = Entry(length, modified)
        return found

    def at_quarantine(self, directory: str, run: RunKey) -> SecondLookResult:
        placed = self.world.lake.placed(run)
        planned = []
        for batch in self.store.walk(f"{directory}/oldWALs"):
            for name, length, modified in zip(batch.paths, batch.lengths, batch.modification_times, strict=True):
                subject = CleanupFile(f"oldWALs/{name}", length, modified)
                row = placed.get(subject.path)
                moved = row is not None and row.result is not None and row.result.outcome is FileOutcome.MOVED
                refused = not moved or modified in self.world.needed
                changed = moved and row is not None and row.subject != subject
                outcome = FileOutcome.CHANGED if changed else FileOutcome.REFUSED if refused else None
                planned.append(PlannedFile(subject, outcome))
        return self._looked(planned)

    def _looked(self, planned: Sequence[PlannedFile]) -> SecondLookResult:
        return SecondLookResult(None, None, "id", ("1",), DIGEST, planned)

    def forget(self) -> None:
        """Does nothing, because nothing was written."""


# the jobs as values


def cleaning(run_id: str, max_files: int | None = None) -> Job:
    """Returns the job `clean --execute`, or `clean --resume` if a file of the list was begun."""

    def run(world: World, process: Process) -> JobResult:
        again = CleanupAction.CLEAN in world.actions(run_id)
        return clean(CleanRequest(run_id, max_files, execute=not again, resume=again), *world.edges(process))

    return run


def restoring(run_id: str, *paths: str) -> Job:
    return lambda world, process: restore(RestoreRequest(run_id, paths), *world.edges(process))


def purging(run_id: str | None = None, words: str | None = "the disk is full", *, execute: bool = True) -> Job:
    return lambda world, process: purge(PurgeRequest(run_id, words, execute=execute), *world.edges(process))


def settling() -> Job:
    """Returns the job `purge --execute` before any grace is over.

    It looks up what other jobs began, and deletes nothing.
    """

    def run(world: World, process: Process) -> JobResult:
        place, ports = world.edges(process)
        return purge(PurgeRequest(execute=True), replace(place, grace_ms=10_000 * DAY_MS), ports)

    return run


def killed(job: Job, world: World, process: Process) -> bool:
    """Runs a job and returns whether it was killed. The caller handles errors that a user would see."""
    try:
        job(world, process)
    except Killed:
        return True
    return False
