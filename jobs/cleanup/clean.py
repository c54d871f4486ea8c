"""The job clean: moves the files of a delete-safe list from oldWALs to the quarantine."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace

from jobs.cli.context import JobContext
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Acts on a delete-safe list: checks it, reads the cluster again, decides on each file again, and moves those that are
still safe from oldWALs to the quarantine (clean.quarantine of the configuration). Without --execute and --resume it is
a rehearsal: it says what would happen and touches nothing.

clean leaves a file that changed, or whose verdict changed, and says why. A new peer, a running AddPeer or migration, or
a cluster that moves while it is read stops everything (exit 3). Every file has a row in the table deletions before it
is touched and one after. Files come back with restore, and are deleted for good by purge after their grace.

If it was stopped (Ctrl-C stops before the next batch), killed, or could not move some files: go on with --resume, which
moves files as --execute does. If no file was begun yet, --resume says so; then start it with --execute.

examples:
  ./spark-submit.sh clean --cluster prod-a --lists /walsafe/lists --run-id 20261121T020000Z-1a2b3c4d \\
      --lake /walsafe/lake --config prod-a.yaml
  … the same --execute
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--cluster", required=True, metavar="NAME", help="the cluster")
    parser.add_argument("--lists", required=True, metavar="DIR", help="where reconcile wrote its lists")
    parser.add_argument(
        "--run-id", required=True, metavar="ID", help="whose list; latest: the newest run, if it wrote one"
    )
    parser.add_argument("--lake", required=True, metavar="DIR", help="where the Delta tables are")
    parser.add_argument("--config", required=True, metavar="FILE", help="the cluster's configuration, with `clean`")
    parser.add_argument("--max-files", type=_positive, metavar="N", help="stop after so many files")
    parser.add_argument("--max-bytes", type=_bytes, metavar="SIZE", help="stop after so many bytes, like 10TiB")
    parser.add_argument("--list-sha256", metavar="DIGEST", help="act only on the list whose rehearsal had this digest")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--execute", action="store_true", help="move files; without it and --resume, rehearse")
    mode.add_argument("--resume", action="store_true", help="move the files that an earlier attempt left")


def run(args: Namespace, context: JobContext) -> JobResult:
    """Reads the arguments, wires the ports and runs the use case."""
    from jobs.cleanup.run_id import check_run, latest_list, on_run, refuse_latest
    from jobs.cleanup.settings import cleanup_settings

    if args.resume:
        refuse_latest(args.run_id, "--resume", "give the id of the run whose clean-up stopped or died")
    settings = cleanup_settings(
        args.config, args.cluster, context, lambda: check_run(args.run_id, args.cluster, context.lake(args.lake))
    )

    from jobs.cleanup.wiring import open_cleanup
    from pipelines.cleanup.clean import CleanRequest, clean

    with open_cleanup(context, settings, args.lake, args.lists) as (place, ports):
        return on_run(
            args.run_id,
            lambda: latest_list(args.cluster, ports.findings),
            lambda run_id: clean(
                CleanRequest(
                    run_id,
                    args.max_files,
                    args.max_bytes,
                    execute=args.execute,
                    resume=args.resume,
                    list_sha256=args.list_sha256,
                ),
                place,
                ports,
            ),
        )


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} must be a whole number above 0")
    return int(text)


def _bytes(text: str) -> int:
    """Returns the bytes of a size, which is written as in `night.max_bytes`."""
    from pydantic import TypeAdapter, ValidationError

    from jobs.cli.config.config_types import PlainBytes

    given = int(text) if text.isascii() and text.isdigit() else text
    try:
        return TypeAdapter[int](PlainBytes).validate_python(given)
    except ValidationError:
        raise ArgumentTypeError(
            f"{text!r} must be a size above 0, like 500GiB or 10TiB, or a number of bytes"
        ) from None
