"""The job split-run: splits a Pegasus table offline."""

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from pipelines.pegasus.domain.offline.model import PartitionCounts

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
    add_sources(parser, or_rows=True)
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
    from jobs.split.offline_wiring import OfflineRequest, split_offline
    from jobs.split.wiring import split_lake
    from pipelines.pegasus.domain.offline.model import PartitionCounts
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
    parquet = args.format == "parquet"
    rules = offline_options(
        args, now, args.old, parquet=parquet, drop_expired=args.drop_expired, created_with=args.created_with
    )
    request = OfflineRequest(
        replicas=args.replicas, backup=args.backup, rows=args.rows, app_id=args.app_id, app=args.app,
        cluster=args.cluster, count=counts.old, rules=rules, out=args.out,
    )  # fmt: skip
    target_id = None if parquet else _target_id(args, counts)
    known = acknowledged_findings(args, context)
    inputs = [args.app_id, args.app, args.old, args.new, args.format]
    identity = split_run(context.job, args.cluster, now, inputs, args.run_id, known)
    found = split_offline(context, request, identity, counts, target_id, args.data_version)
    return tell_split(identity, counts, found, split_lake(context, args.lake))


def _target_id(args: Namespace, counts: "PartitionCounts") -> int:
    """Returns the id of the table that is to be loaded.

    The meta server refuses a bulk load unless id and number of partitions in `bulk_load_info` are those of the table
    (`bulk_load_service::check_bulk_load_request_params`).

    Args:
        args: `--target-id` is the id, `--target` a file with the output of `app NAME -d -j`, `--app` the name.
        counts: the partition counts.

    Raises:
        UsageError: neither option is given, there is no such file, it is invalid, or what is given does not fit
            together.
        UnavailableError: the file cannot be read.
    """
    if args.target is None:
        if args.target_id is None:
            raise UsageError(
                "the meta server loads files only into the table whose id they state: give --target-id, or --target "
                f"with the output of `app {args.app} -d -j`; for other uses give --format parquet"
            )
        found: int = args.target_id
        named = f"--target-id {found}"
    else:
        found = _described(args, counts)
        named = f"--target {args.target}: app_id {found}"
    if found < 1:
        raise UsageError(f"{named}: the ids of tables begin with 1; `app {args.app} -d` shows the id")
    if found == args.app_id and args.rows is None:
        raise UsageError(
            f"{named} is the table that is split, which has {counts.old} partitions, not {counts.new}: "
            f"create a table with {counts.new} partitions and give its id. If another cluster has a table with the "
            "same id, split to Parquet first (--format parquet), and give the result with --rows"
        )
    return found


def _described(args: Namespace, counts: "PartitionCounts") -> int:
    from pydantic import TypeAdapter

    from pipelines.common.errors import SnapshotError
    from pipelines.common.forms import read_value
    from pipelines.files.file_reader import LocalFileReader
    from pipelines.pegasus.domain.state.shell import ShellForm

    data = LocalFileReader().read(args.target)
    try:
        said = read_value(TypeAdapter(ShellForm), data, args.target).general
    except SnapshotError as error:
        raise UsageError(f"{error}; give the complete output of `app {args.app} -d -j`") from None
    for option, given, there in (
        ("--target-id", args.target_id, said.app_id), ("--app", args.app, said.app_name),
        ("--to", counts.new, said.partition_count),
    ):  # fmt: skip
        if given is not None and given != there:
            raise UsageError(
                f"{args.target}: {option} of this table is {there}, but {option} {given} is given; correct it, or give "
                f"the output of `app {args.app} -d -j` for the table that is to be loaded"
            )
    return said.app_id
