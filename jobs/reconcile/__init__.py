"""The job reconcile: decides which files of oldWALs are delete-safe."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence

from jobs.cli.context import JobContext
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Decides, for every file below oldWALs in a snapshot, whether any replication peer may still need it.

It reads snapshot directories only (see capture), never the cluster, and it deletes nothing. It writes
  <lists>/<cluster>/<run_id>/   the delete-safe list: parts, then manifest.json; no manifest, no list
  <lake>/<table>                Delta tables: wal_verdicts, queue_offsets, pinned_bytes, findings, runs …

A snapshot that cannot be believed is refused with the reason, and no list is written for that cluster.
A list older than 24 h (list.valid_for) after its capture is not written either: old snapshots are replayed
into the tables alone.

The settings of one cluster could free files of another. If $WALSAFE_CONFIG names the configuration, its cluster has to
be that of the snapshot; to decide on several clusters with one file, name it with --config.

example:
  ./spark-submit.sh reconcile --snapshot /snapshots/prod-a/2026-11-21 --lake /walsafe/lake --lists /walsafe/lists
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--snapshot", action="extend", nargs="+", metavar="DIR", help="snapshot directory; one for each cluster"
    )
    source.add_argument("--fleet", metavar="DIR", help="directory whose sub-directories are snapshots, one a cluster")
    parser.add_argument("--lake", required=True, metavar="DIR", help="where the Delta tables are; made if missing")
    parser.add_argument("--lists", required=True, metavar="DIR", help="where delete-safe lists go")
    parser.add_argument("--config", metavar="FILE", help="configuration (docs/configuration.md); default: safe values")
    parser.add_argument("--cluster", metavar="NAME", help="the cluster of every snapshot; another one is an error")
    parser.add_argument("--run-id", metavar="ID", help="default: start of the listing and 8 digits of its digest")
    add_acceptances(parser, "overrule this expectation of the gate in this run; table runs keeps the reason")
    parser.add_argument("--reports", metavar="DIR", help="where the HTML pages go (default: <lake>/reports)")


def run(args: Namespace, context: JobContext) -> JobResult:
    """Reads the arguments, wires the ports and runs the use case."""
    from jobs.cli.config.configuration import load_config
    from pipelines.common.errors import UsageError

    reasons = reasons_of(args.accept)
    config = load_config(args.config, context)
    if None not in (args.cluster, config.cluster) and args.cluster != config.cluster:
        raise UsageError(
            f"--cluster is {args.cluster}, but {args.config} is the configuration of cluster {config.cluster}; name "
            f"that of {args.cluster} with --config"
        )
    context.need_spark()

    from jobs.reconcile.wiring import OutputPlaces, run_reconcile

    return run_reconcile(
        context,
        config,
        OutputPlaces(args.lake, args.lists, args.reports),
        args.snapshot or (),
        fleet=args.fleet,
        cluster=args.cluster,
        run_id=args.run_id,
        acceptances=reasons,
    )


def add_acceptances(parser: ArgumentParser, words: str) -> None:
    """Declares `--accept`, with these words in the help; `reasons_of` takes its value."""
    parser.add_argument(
        "--accept", action="append", default=[], type=_acceptance, metavar="EXPECTATION=REASON", help=words
    )


def _acceptance(text: str) -> tuple[str, str]:
    """Returns a value of `--accept`: the expectation and the reason."""
    name, equals, reason = text.partition("=")
    if not equals or not name or not reason.strip():
        raise ArgumentTypeError(f"{text!r} must be EXPECTATION=REASON, with the reason in your own words")
    return name, reason


def reasons_of(accepted: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Returns the reason of each expectation that `--accept` overrules.

    Raises:
        UsageError: an expectation has two.
    """
    from pipelines.common.errors import UsageError

    reasons = dict(accepted)
    if len(reasons) < len(accepted):
        raise UsageError("--accept names the same expectation twice; give one reason")
    return reasons
