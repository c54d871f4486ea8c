"""Runs `audit-queues` on the last two nights of the demo."""

from collections.abc import Sequence
from pathlib import Path

from jobs.cli.context import JobContext

AUDIT_TITLE = "What state the queues are in"


def audit_lines(context: JobContext, snapshots: Sequence[Path], plan: Path, config: Path) -> list[str]:
    """Audit the queues and write the claim plan.

    Args:
        context: with a clock at the last night or later.
        snapshots: oldest first.
        plan: the folder for the claim plan.
        config: the configuration file of the demo.
    """
    from jobs.cli.config.configuration import load_config
    from jobs.queues.wiring import run_audit_queues
    from pipelines.queues.audit.audit_queues import AuditRequest

    request = AuditRequest(tuple(f"file:{one}" for one in snapshots), load_config(str(config), context).settings())
    return in_short(run_audit_queues(context, request, None, f"file:{plan}").text)


def in_short(text: str) -> list[str]:
    """Returns the table of classes and the claim plan from the whole output of the job."""
    head, classes, *others = text.rstrip("\n").split("\n\n")
    (plan,) = [block for block in others if block.startswith("  claim plan")]
    lines = [head, *classes.splitlines(), *plan.splitlines()]
    return [line.removeprefix("  ") for line in lines]
