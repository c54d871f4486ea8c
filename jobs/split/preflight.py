"""The job split-preflight: reports what prevents the split of a Pegasus table."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from jobs.split.options import acknowledged_findings, add_run_options
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Asks of one state of a Pegasus cluster (a directory that conf/export/pegasus-state.sh saved from Pegasus's shell, or a
state file, which can also have ZooKeeper's JSON and the disks: docs/split-state.md) whether its tables may be split.
First of all: is the number of partitions a power of two? The server does not ask, and a split of any other table makes
compaction delete 67 to 96 % of its keys.

Use it when you are about to start a split: before partition-split start, and again if the start has to wait.

It asks nobody over the network, and changes nothing. If the directory has several states, it reads the newest.

Exit code 3: a table has a blocker.

examples:
  ./spark-submit.sh split-preflight --state /walsafe/pegasus/onebox
  ./spark-submit.sh split-preflight --state /walsafe/pegasus/onebox.json --table temp --to 16 --output json
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--state", required=True, metavar="PATH", help="capture or state file, or a directory of them")
    parser.add_argument("--table", metavar="NAME", help="this table alone")
    parser.add_argument("--to", type=int, metavar="COUNT", help="partitions wanted; default: twice as many")
    add_run_options(parser)


def run(args: Namespace, context: JobContext) -> JobResult:
    """Reads the newest state, wires the ports and runs the use case."""
    from jobs.split.wiring import read_states, split_lake
    from pipelines.pegasus.use_cases.frame import split_run
    from pipelines.pegasus.use_cases.preflight import run_preflight

    known = acknowledged_findings(args, context)
    state = read_states(context, args.state)[-1]
    inputs = [repr(state.tables), args.table, args.to]
    identity = split_run(context.job, state.cluster, state.observed_at, inputs, args.run_id, known)
    return run_preflight(identity, state, args.table, args.to, split_lake(context, args.lake))
