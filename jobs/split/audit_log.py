"""The job split-audit-log: checks private logs of Pegasus against the rules of a split, and which may be deleted."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from jobs.split.options import acknowledged_findings, add_run_options
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Decodes private logs (<node>/…/<app>.<partition>.pegasus/plog/log.*) on Spark's executors, one log a task, without
Pegasus, and holds them against the rules L1 to L6 of docs/split-rules.md: CRC chain, gaps, ballots, parent against
child decree by decree, writes that a parent took after its child was registered. Each log gets a verdict, DELETABLE or
HELD with a reason: it goes only if its replica, its child and its duplication need nothing of it any more, and none of
its group breaks a rule.

What logs cannot tell (when children were registered, what is durable) is in a small file of facts; what is not in it is
unknown, and holds. It only reads, and never renames a log as Pegasus's own mlog_dump does (docs/split-audit-log.md).

Use it when clients may have lost writes during a split, or when private logs fill a disk and you must know which may
go.

Exit code 3: a rule was broken (a finding of severity error).

examples:
  ./spark-submit.sh split-audit-log --logs hdfs://ns1/pegasus/onebox --facts /walsafe/pegasus/temp-facts.json
  ./spark-submit.sh split-audit-log --logs /data/pegasus --facts temp-facts.json \\
      --journal acks.jsonl --lake /walsafe/lake
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--logs", required=True, metavar="DIR", help="directory with replica directories below it")
    parser.add_argument("--facts", required=True, metavar="FILE", help="registrations, durable decrees, duplication")
    parser.add_argument("--journal", metavar="FILE", help="request journal (docs/split-route.md), for L6")
    add_run_options(parser)


def run(args: Namespace, context: JobContext) -> JobResult:
    """Reads the arguments, wires the ports and runs the use case."""
    from jobs.split.wiring import (
        log_inputs,
        split_lake,
    )
    from pipelines.pegasus.use_cases.audit_log import newest_ms, run_audit_log
    from pipelines.pegasus.use_cases.frame import split_run

    known = acknowledged_findings(args, context)
    inputs = log_inputs(context, args.logs, args.facts, args.journal)
    at = newest_ms(inputs) or context.clock.now_ms()
    told = [repr(inputs.facts), args.logs, args.journal]
    identity = split_run(context.job, inputs.facts.cluster, at, told, args.run_id, known)
    return run_audit_log(identity, inputs, split_lake(context, args.lake))
