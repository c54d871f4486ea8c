"""The commands of a night, from the configuration."""

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.cleanup.settings import checked_configuration
from jobs.cli.config.configuration import Config
from jobs.cli.launch.places import PROGRAM
from jobs.maintain.retention import retention_policy
from jobs.reconcile import reasons_of
from pipelines.common.clock import Clock
from pipelines.common.errors import EXIT_DONE, UsageError
from pipelines.common.instants import compact_instant
from pipelines.common.job_result import JobResult
from pipelines.common.names import LATEST, NAME
from pipelines.decide.gate.gate import check_acceptances

Command = tuple[str, ...]
"""The name of a job and its options."""
_NEEDED = ("cluster", "wal_root", "capture", "lake", "lists", "snapshots")


@dataclass(frozen=True, slots=True)
class NightRequest:
    """What the options ask for.

    Attributes:
        run_id: of the night; None = the present time.
        part: `decide` up to the rehearsal, or `finish` from there on; None = the whole night.
        approved: in the part `finish`, the digest of the list to clean; None = none is approved.
        accept: expectations and reasons, as in reconcile.
    """

    run_id: str | None = None
    part: str | None = None
    approved: str | None = None
    accept: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class NightPlan:
    """What a night runs.

    Attributes:
        cluster: name of the cluster.
        run_id: of the night.
        capture: writes the snapshot of the night.
        reconcile: decides on it.
        clean: the rehearsal; empty if the configuration has no section `clean`.
        approved: whether the night runs `clean --execute`.
        purge: deletes what has rested long enough; empty without a section `clean`.
        maintain: bounds tables, lists and snapshots.
        part: `decide`, `finish` or None, as in `NightRequest`.
        tries: how often a job is started that ends with exit code 4.
        retry_delay_ms: ms between two tries.
    """

    cluster: str
    run_id: str
    capture: Command
    reconcile: Command
    clean: Command
    approved: bool
    purge: Command
    maintain: Command
    tries: int
    retry_delay_ms: int
    part: str | None = None

    def commands(self) -> list[Command]:
        """Returns all commands in their order."""
        decide = [self.capture, self.reconcile, self.clean]
        execute = [(*self.clean, "--execute")] if self.approved else []
        finish = [*execute, self.purge, self.maintain]
        return list(filter(None, {"decide": decide, "finish": finish}.get(self.part or "", [*decide, *finish])))


def night_plan(config_file: str, config: Config, wanted: NightRequest, clock: Clock) -> NightPlan:
    """Plans a night.

    Args:
        config_file: as the user wrote it; each job reads it.
        config: its content.
        wanted: from the options.
        clock: the wall clock.

    Raises:
        UsageError: a key is missing that a night needs, an option does not fit, or clean or maintain would refuse the
            configuration.
    """
    missing = [key for key in _NEEDED if getattr(config, key) is None]
    if missing:
        keys = ", ".join(map(repr, missing))
        raise UsageError(f"{config_file}: a night needs {keys}; docs/configuration.md has every key")
    run_id = wanted.run_id
    if wanted.part == "finish" and run_id is None:
        raise UsageError("--part finish needs the --run-id of the part decide")
    if wanted.part == "finish" and wanted.accept:
        raise UsageError("--accept is for reconcile, which --part finish does not run: give it to the part decide")
    if wanted.approved is not None and wanted.part != "finish":
        raise UsageError("--approved needs --part finish: the rehearsal of the part decide tells the digest")
    if wanted.approved is not None and config.clean is None:
        raise UsageError(f"{config_file}: --approved needs 'clean'; docs/cleanup.md has an example")
    if run_id is not None and not NAME.fullmatch(run_id):
        raise UsageError(f"--run-id {run_id!r} must be letters, digits, '.', '_' and '-', at most 64 of them")
    if run_id == LATEST:
        raise UsageError("--run-id latest: the id of a night names its snapshot and its list; give the id to resume")
    night = config.night
    run_id = run_id or compact_instant(clock.now_ms())
    cluster, snapshot = str(config.cluster), str(config.snapshot_of(run_id))
    if config.clean:
        checked_configuration(config, config_file, cluster)
    retention_policy(config)
    common = ("--config", config_file)
    of_cluster = (*common, "--cluster", cluster, "--lake", str(config.lake))
    check_acceptances(reasons_of(wanted.accept), config.quality.max_deletable_share)
    accept = tuple(word for name, reason in wanted.accept for word in ("--accept", f"{name}={reason}"))
    digest = () if wanted.approved is None else ("--list-sha256", wanted.approved)
    limits = [("--max-files", night.max_files), ("--max-bytes", night.max_bytes)]
    clean = (
        *("clean", *of_cluster, "--lists", str(config.lists), "--run-id", run_id),
        *(word for option, most in limits if most is not None for word in (option, str(most))),
        *digest,
    )
    approved = wanted.approved is not None if wanted.part == "finish" else night.approval == "automatic"
    return NightPlan(
        cluster,
        run_id,
        capture=("capture", *common, "--out", snapshot),
        reconcile=("reconcile", *common, "--snapshot", snapshot, *_places(config), "--run-id", run_id, *accept),
        clean=clean if config.clean else (),
        approved=approved and config.clean is not None,
        purge=("purge", *of_cluster, "--execute") if config.clean else (),
        maintain=("maintain", *common, "--lake", str(config.lake), "--execute"),
        tries=night.tries,
        retry_delay_ms=night.retry_delay,
        part=wanted.part,
    )


def plan_result(plan: NightPlan) -> JobResult:
    """Returns what `--plan` answers."""
    commands = plan.commands()
    approval = (
        "Nothing is cleaned or purged: the configuration has no section clean."
        if not plan.clean
        else "The clean-up is approved."
        if plan.part == "finish" and plan.approved
        else "The part decide ends with the rehearsal."
        if plan.part == "decide"
        else "Purge deletes the runs whose grace is over; nothing is cleaned, because --approved names no list."
        if plan.part == "finish"
        else "The clean-up is approved: night.approval is automatic."
        if plan.approved
        else "Clean only rehearses, because night.approval is manual: a person starts clean --execute. Purge deletes "
        "the runs whose grace is over."
    )
    text = "\n".join(
        [f"A night of {plan.cluster} with the run id {plan.run_id} runs:", *map(command_line, commands), approval]
    )
    result = {"cluster": plan.cluster, "run_id": plan.run_id, "approved": plan.approved}
    return JobResult(EXIT_DONE, {**result, "commands": [list(words) for words in commands]}, text)


def command_line(command: Sequence[str]) -> str:
    """Returns a command as a person types it."""
    import shlex

    return f"  {PROGRAM} {shlex.join(command)}"


def _places(config: Config) -> list[str]:
    places = ("lake", "lists", "reports")
    return [word for key in places if getattr(config, key) is not None for word in (f"--{key}", getattr(config, key))]
