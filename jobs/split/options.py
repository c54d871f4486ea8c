"""Options and configuration of the split jobs."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from jobs.cli.context import JobContext
from pipelines.common.errors import UsageError
from pipelines.common.instants import is_instant
from pipelines.common.names import NAME
from pipelines.files.local_paths import path_here
from pipelines.lake.findings import Acknowledgement

if TYPE_CHECKING:
    from pipelines.pegasus.domain.offline.model import OfflineSplitOptions


def add_run_options(parser: ArgumentParser) -> None:
    """Declares --lake, --run-id and --config."""
    parser.add_argument("--lake", metavar="DIR", help="write the Delta tables there too; made if missing")
    parser.add_argument("--run-id", metavar="ID", help="default: time and digest of the input, and the job's name")
    parser.add_argument("--config", metavar="FILE", help="for findings.acknowledged")


def acknowledged_findings(args: Namespace, context: JobContext) -> tuple[Acknowledgement, ...]:
    """Returns the acknowledged findings of the configuration."""
    from jobs.cli.config.configuration import load_config

    return load_config(args.config, context).settings().acknowledged


def add_identity(parser: ArgumentParser) -> None:
    """Declares the options for the names of cluster and table."""
    parser.add_argument("--cluster", default="pegasus", metavar="NAME", help="for the tables; default: pegasus")
    parser.add_argument("--table", required=True, metavar="NAME", help="name of the Pegasus table")


def add_instant(parser: ArgumentParser) -> None:
    """Declares `--at`, the instant that decides which rows have expired."""
    parser.add_argument(
        "--at", metavar="INSTANT", help="judge what has expired at this instant (2026-11-21T02:00:00Z); default: now"
    )


def instant_ms(text: str | None, now_ms: int) -> int:
    """Returns `--at` in ms since the epoch; the current time without it.

    Raises:
        UsageError: the text is not an instant, or has no time zone.
    """
    if text is None:
        return now_ms
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--at {text}: give an instant such as 2026-11-21T02:00:00Z") from None
    if read.tzinfo is None:
        raise UsageError(f"--at {text}: say which time zone; Z is UTC")
    if not is_instant(ms := int(read.timestamp() * 1000)):
        raise UsageError(f"--at {text}: give an instant such as 2026-11-21T02:00:00Z, of the years 1970 to 2999")
    return ms


def partition_numbers(option: str, texts: Sequence[str]) -> dict[int, int]:
    """Parses the values of an option that gives a number to a partition: `--version 3=-1`.

    Raises:
        UsageError: a value is not two numbers, or a partition occurs twice.
    """
    found: dict[int, int] = {}
    for text in texts:
        partition, _, number = text.partition("=")
        try:
            index, value = int(partition), int(number)
        except ValueError:
            raise UsageError(f"{option} {text}: give a partition and a number, such as 3=-1") from None
        if index in found:
            raise UsageError(f"{option} {text}: partition {index} occurs twice")
        found[index] = value
    return found


def add_sources(parser: ArgumentParser, *, or_rows: bool = False) -> None:
    """Declares the options of which one gives the data of the table: `--replicas`, `--backup` and maybe `--rows`."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--replicas", metavar="DIR", help="below it <app>.<partition>.pegasus, each once; local or on HDFS"
    )
    source.add_argument("--backup", metavar="DIR", help="cold backup: <root>/<policy>/<backup id>, local or on HDFS")
    if or_rows:
        source.add_argument("--rows", metavar="DIR", help="Parquet: partition_index, key, value")


def add_reading_options(parser: ArgumentParser) -> None:
    """Declares the options for reading the data and logs of a table, and for the files that are written."""
    parser.add_argument(
        "--committed-decree", action="append", default=[], metavar="PARTITION=N",
        help="apply the logs of this partition up to this decree; repeat it; default: all that is prepared",
    )  # fmt: skip
    parser.add_argument("--cluster-id", type=int, default=1, metavar="N", help="for time tags of rows from logs (1)")
    parser.add_argument("--file-size", type=int, default=64, metavar="MiB", help="about the size of a file (64)")
    parser.add_argument(
        "--task-size", type=int, default=1024, metavar="MiB",
        help="divide the keys of a larger partition among tasks that read about so much each (1024)",
    )  # fmt: skip


def check_reading_options(args: Namespace) -> None:
    """Checks the name of the table and the options of `add_reading_options`.

    Raises:
        UsageError: one of them is impossible.
    """
    if not NAME.fullmatch(args.app) or min(args.file_size, args.task_size) < 1 or not 0 <= args.cluster_id < 128:
        raise UsageError("--app is a plain name, --file-size and --task-size at least 1, --cluster-id 0 to 127")


def offline_options(
    args: Namespace,
    now_ms: int,
    count: int,
    *,
    parquet: bool,
    drop_expired: bool = False,
    created_with: int | None = None,
) -> "OfflineSplitOptions":
    """Returns the values of `add_reading_options` and those that only split-run has.

    Raises:
        UsageError: `--committed-decree` is invalid for a table with `count` partitions.
    """
    from pipelines.pegasus.domain.offline.model import OfflineSplitOptions

    return OfflineSplitOptions(
        now_s=now_ms // 1000,
        drop_expired=drop_expired,
        created_with=created_with,
        committed=_committed_decrees(args.committed_decree, count),
        cluster_id=args.cluster_id,
        file_bytes=args.file_size << 20,
        task_bytes=args.task_size << 20,
        parquet=parquet,
    )


def _committed_decrees(texts: Sequence[str], count: int) -> dict[int, int]:
    """Parses the values of `--committed-decree`.

    Raises:
        UsageError: a value is not two numbers, or a partition occurs twice or does not exist.
    """
    found = partition_numbers("--committed-decree", texts)
    if unknown := sorted(set(found) - set(range(count))):
        raise UsageError(f"--committed-decree {unknown[0]}=…: the table has {count} partitions, numbered from 0")
    return found


def local_directory(option: str, given: str | None) -> str | None:
    """Returns the absolute path of a local or mounted directory; None = the option is not given.

    An executor has another working directory than the driver.

    Raises:
        UsageError: it is a URI of another file system, which RocksDB cannot open.
    """
    if given is None:
        return None
    if (here := path_here(given)) is not None:
        return str(here.absolute())
    raise UsageError(
        f"{option} {given}: RocksDB's files are in local or mounted directories. Mount {given.partition(':')[0]} "
        "on every executor, or copy (hdfs dfs -get, hdfs dfs -put) and give the local directory"
    )
