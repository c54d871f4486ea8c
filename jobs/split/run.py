"""The job split-run: splits a Pegasus table offline."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from jobs.split.options import acknowledged_findings, add_run_options
from jobs.split.row_options import add_reading_options, check_reading_options, committed_decrees, local_directory
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Reads the data of every partition of a table, from stopped replicas, a cold backup or Parquet, and writes each row into
the new partition that owns it by its hash: SSTs in Pegasus's bulk-load layout, or Parquet. What RocksDB itself would
read counts (deletes and overwrites are resolved, whatever file they are in); the private log is applied as far as it is
prepared; rows that an earlier split left behind are left out if their own partition has them. The old number may be
anything, the new one is a power of two.

Use it when a table needs more partitions and Pegasus's own split will not do: the number is no power of two, or must
grow more than twofold, or the servers are stopped anyway. Create a table with the new number of partitions, run this
job, and load its output with start_bulk_load (docs/split-offline.md).

If the output might lack rows, the job writes none and ends with exit code 3. If you know better, acknowledge the keys
of its error findings in the configuration (findings.acknowledged) and start it again.

A large partition is divided among several tasks (--task-size), so few large partitions use all cores too. Inputs are
opened through links and never altered. Parts are staged, told by manifests, and appear by one rename: start a run that
was stopped again, and it goes on. The directories are local or mounted, and every executor must reach them; replicas
and a cold backup may also be on HDFS: each task copies its partition and removes the copy. Needs the extra 'split'
(rocksdict). Encrypted data are refused, so are damaged ones, and logs with INCR or CHECK_AND_… behind the flushed data
(docs/split-run.md; the files it reads: docs/split-files.md).

examples:
  ./spark-submit.sh split-run --replicas /data/pegasus --app-id 2 --app temp16 --target-id 7 --cluster onebox \\
      --from 4 --to 16 --out /data/bulk_load
  ./spark-submit.sh split-run --backup /backup/daily/1700000000000 --app-id 2 --app temp8 --target-id 8 \\
      --cluster onebox --from 4 --to 8 --out /data/bulk_load --drop-expired
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--replicas", metavar="DIR", help="below it <app>.<partition>.pegasus, each once; local or on HDFS"
    )
    source.add_argument("--backup", metavar="DIR", help="cold backup: <root>/<policy>/<backup id>, local or on HDFS")
    source.add_argument("--rows", metavar="DIR", help="Parquet: partition_index, key, value")
    parser.add_argument("--app-id", type=int, required=True, metavar="ID", help="id of the table now")
    parser.add_argument("--app", required=True, metavar="NAME", help="name of the table that is to be loaded")
    parser.add_argument("--target-id", type=int, metavar="ID", help="id of the table that is to be loaded")
    parser.add_argument(
        "--target", metavar="FILE", help="output of `app NAME -d -j` of the table that is to be loaded; checked"
    )
    parser.add_argument("--cluster", required=True, metavar="NAME", help="name of the cluster")
    parser.add_argument("--from", type=int, required=True, metavar="COUNT", dest="old", help="partitions now")
    parser.add_argument("--to", type=int, required=True, metavar="COUNT", dest="new", help="partitions wanted")
    parser.add_argument("--out", required=True, metavar="DIR", help="the output is <DIR>/<cluster>/<app>")
    parser.add_argument("--format", choices=("bulk-load", "parquet"), default="bulk-load", help="default: bulk-load")
    parser.add_argument("--drop-expired", action="store_true", help="leave out rows that have expired by now")
    parser.add_argument(
        "--created-with", type=int, metavar="COUNT",
        help="partitions before the splits that may have left copies; default: init_partition_count, if the files of "
        "all partitions state the same, otherwise any number",
    )  # fmt: skip
    parser.add_argument(
        "--data-version", type=int, choices=(0, 1),
        help="pegasus_data_version of --rows that another program wrote; the rows of split-export and split-run say it",
    )  # fmt: skip
    add_reading_options(parser)
    add_run_options(parser)


def run(args: Namespace, context: JobContext) -> JobResult:
    """Validates the arguments, wires the ports and runs the use case."""
    from jobs.split.run_wiring import OfflineSplitRequest, split_offline
    from jobs.split.target import target_id
    from jobs.split.wiring import split_lake
    from pipelines.pegasus.domain.offline.plan import OfflineSplitOptions, PartitionCounts
    from pipelines.pegasus.domain.rows import Placement
    from pipelines.pegasus.use_cases.frame import split_run
    from pipelines.pegasus.use_cases.run_split import tell_split

    check_reading_options(args)
    for name in ("rows", "out"):
        setattr(args, name, local_directory(f"--{name}", getattr(args, name)))
    now = context.clock.now_ms()
    counts = PartitionCounts(args.old, args.new)
    if args.created_with is not None:
        Placement(counts.old, args.created_with)  # refused here, not by the first task
    committed = committed_decrees(args.committed_decree, args.old)
    rules = OfflineSplitOptions(
        now_s=now // 1000,
        drop_expired=args.drop_expired,
        created_with=args.created_with,
        committed=committed,
        cluster_id=args.cluster_id,
        file_bytes=args.file_size << 20,
        task_bytes=args.task_size << 20,
        parquet=args.format == "parquet",
    )
    request = OfflineSplitRequest(
        args.replicas, args.backup, args.rows, args.app_id, args.app, args.cluster, counts, rules, args.out,
        None if rules.parquet else target_id(args, counts), args.data_version,
    )  # fmt: skip
    known = acknowledged_findings(args, context)
    inputs = [args.app_id, args.app, args.old, args.new, args.format]
    identity = split_run(context.job, args.cluster, now, inputs, args.run_id, known)
    return tell_split(identity, counts, split_offline(context, request, identity), split_lake(context, args.lake))
