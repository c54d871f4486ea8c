"""The job split-export: writes the rows of a Pegasus table as Parquet, as they lie in its partitions."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from jobs.split.options import (
    acknowledged_findings,
    add_reading_options,
    add_run_options,
    add_sources,
    check_reading_options,
    local_directory,
    offline_options,
)
from pipelines.common.errors import UsageError
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Reads the data of every partition of a table, from stopped replicas or a cold backup, and writes each row as Parquet
with the columns partition_index, key, value (docs/split-rows.md): the partition in which it lies, and the bytes that
RocksDB has. Values of data version 0 become version 1, as in split-run. Copies that a split left, expired rows, records
of empty writes and malformed keys stay in; split-verify, split-stale and split-plan tell them apart, except that
split-plan counts expired rows. Deleted and overwritten rows are not there, and the private log is applied as far as it
is prepared, as split-run does.

Use it when another split job shall read rows: before and after a split, or of two clusters, for split-verify; before a
compaction, for split-stale; before a split, for split-plan; or for split-run --rows on a cluster that cannot reach the
replicas.

If the output might lack rows, the job writes none and ends with exit code 3. If you know better, acknowledge the keys
of its error findings in the configuration (findings.acknowledged) and start it again.

Inputs are opened through links and never altered. Parts are staged and appear by one rename: start a run that was
stopped again, and it goes on. The directories are local or mounted, and every executor must reach them; replicas and a
cold backup may also be on HDFS: each task copies its partition and removes the copy. Needs the extra 'split'
(rocksdict).

examples:
  ./spark-submit.sh split-export --replicas /data/pegasus --app-id 2 --app temp --cluster onebox --partitions 4 \\
      --out /export
  ./spark-submit.sh split-export --backup /backup/daily/1700000000000 --app-id 2 --app temp --cluster onebox \\
      --partitions 4 --out /export
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    add_sources(parser)
    parser.add_argument("--app-id", type=int, required=True, metavar="ID", help="id of the table")
    parser.add_argument("--app", required=True, metavar="NAME", help="name of the table")
    parser.add_argument("--cluster", required=True, metavar="NAME", help="name of the cluster")
    parser.add_argument("--partitions", type=int, required=True, metavar="N", help="its partitions")
    parser.add_argument("--out", required=True, metavar="DIR", help="the output is <DIR>/<cluster>/<app>")
    add_reading_options(parser)
    add_run_options(parser)


def run(args: Namespace, context: JobContext) -> JobResult:
    """Validates the arguments, wires the ports and runs the use case."""
    from jobs.split.offline_wiring import OfflineRequest, export_table
    from jobs.split.wiring import split_lake
    from pipelines.pegasus.domain.partitions import MOST_PARTITIONS
    from pipelines.pegasus.use_cases.export_rows import tell_export
    from pipelines.pegasus.use_cases.frame import split_run

    check_reading_options(args)
    if not 1 <= args.partitions <= MOST_PARTITIONS:
        raise UsageError(f"--partitions {args.partitions}: a number from 1 to {MOST_PARTITIONS}")
    args.out = local_directory("--out", args.out)
    now = context.clock.now_ms()
    rules = offline_options(args, now, args.partitions, parquet=True)
    request = OfflineRequest(
        replicas=args.replicas, backup=args.backup, app_id=args.app_id, app=args.app, cluster=args.cluster,
        count=args.partitions, rules=rules, out=args.out,
    )  # fmt: skip
    known = acknowledged_findings(args, context)
    identity = split_run(context.job, args.cluster, now, [args.app_id, args.app, args.partitions], args.run_id, known)
    return tell_export(identity, export_table(context, request, identity), split_lake(context, args.lake))
