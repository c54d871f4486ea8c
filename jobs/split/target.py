"""The table that the output of split-run is to be loaded into: its id, checked as Pegasus's meta server checks it."""

from argparse import Namespace

from pipelines.common.errors import UsageError
from pipelines.files.file_reader import LocalFileReader
from pipelines.pegasus.domain.offline.plan import PartitionCounts


def target_id(args: Namespace, counts: PartitionCounts) -> int:
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


def _described(args: Namespace, counts: PartitionCounts) -> int:
    from pydantic import TypeAdapter

    from pipelines.common.errors import SnapshotError
    from pipelines.common.forms import read_value
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
