"""The job split-audit-config: checks a series of Pegasus partition configurations against the rules of a split."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from jobs.split.options import acknowledged_findings, add_run_options
from pipelines.common.errors import UsageError
from pipelines.common.instants import HOUR_MS, SECOND_MS
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Reads states of a Pegasus cluster, one a moment, from a directory (conf/export/pegasus-state.sh saves one with Pegasus's
shell; docs/split-state.md) and holds them against the rules of docs/split-rules.md: numbers and ballots of children (C2
to C8), replicas and their directories (R1 to R6), children that wait at ballot -1. Save a state every few minutes while
a split runs, and one before it: some rules compare two.

Use it when a split runs longer than you expect, or has ended: is a child stuck, and does the meta server have a primary
for every partition?

It asks nobody over the network, and changes nothing.

Exit code 3: a rule was broken (a finding of severity error).

examples:
  ./spark-submit.sh split-audit-config --states /walsafe/pegasus/onebox
  ./spark-submit.sh split-audit-config --states /walsafe/pegasus/onebox --stuck-after 2 --lake /walsafe/lake
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--states", required=True, metavar="PATH", help="directory of captures and state files, or one")
    parser.add_argument(
        "--stuck-after", type=float, default=6, metavar="HOURS", help="a child at ballot -1 for so long is stuck (6)"
    )
    parser.add_argument(
        "--reject-limit", type=float, default=30, metavar="SECONDS",
        help="a parent may answer nobody for so long: the config sync interval (30)",
    )  # fmt: skip
    add_run_options(parser)


def run(args: Namespace, context: JobContext) -> JobResult:
    """Validates the arguments, wires the ports and runs the use case."""
    from jobs.split.wiring import read_states, split_lake
    from pipelines.pegasus.domain.audit_config import TimeLimits
    from pipelines.pegasus.use_cases.audit_config import run_audit_config
    from pipelines.pegasus.use_cases.frame import split_run

    if args.stuck_after <= 0 or args.reject_limit <= 0:
        raise UsageError("--stuck-after and --reject-limit must be above 0")
    timing = TimeLimits(int(args.reject_limit * SECOND_MS), int(args.stuck_after * HOUR_MS))
    known = acknowledged_findings(args, context)
    states = read_states(context, args.states)
    inputs = [repr(states), args.stuck_after, args.reject_limit]
    identity = split_run(context.job, states[-1].cluster, states[-1].observed_at, inputs, args.run_id, known)
    return run_audit_config(identity, states, timing, split_lake(context, args.lake))
