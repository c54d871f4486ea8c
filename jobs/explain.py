"""The job explain: shows what holds a file, a peer or a server, the state of a cluster, and what changed."""

import shlex
from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from jobs.cli.launch.places import PROGRAM
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Answers from the tables that reconcile wrote, for the newest run of each cluster; it asks the cluster nothing.

A PATH is a full URI, a path below the WAL root, the end of one, or a bare file name. A server is host,port,startcode
or any part of it, like the host without its domain. If several files or servers match, explain lists them and ends with
exit code 2.

Without a target, explain shows the state of the cluster on one screen: who holds most, what would free it, what is new,
when the disk is full, and what waits for approval. With --since, it compares the newest run with an earlier one: with
the first run of a day, or with the last run before an instant (UTC).

examples:
  ./spark-submit.sh explain --lake /walsafe/lake --config prod-a.yaml
  ./spark-submit.sh explain --lake /walsafe/lake --cluster prod-a --since 2026-11-20
  ./spark-submit.sh explain --lake /walsafe/lake oldWALs/h1%2C16020%2C1763690000000.1763694000000
  ./spark-submit.sh explain --lake /walsafe/lake --cluster prod-a --peer 2
  ./spark-submit.sh explain --lake /walsafe/lake --cluster prod-a --server rs12
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--lake", required=True, metavar="DIR", help="where the Delta tables are")
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="for lake, cluster, capacity, clean.grace, night.approval and findings.acknowledged",
    )
    parser.add_argument("--cluster", metavar="NAME", help="needed only if the lake has several clusters")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files below oldWALs")
    parser.add_argument("--peer", metavar="ID", help="a replication peer")
    parser.add_argument("--server", metavar="NAME", help="a region server, or any part of its name")
    parser.add_argument(
        "--since", metavar="DATE", help="what changed since a day, or an instant like 2026-11-20T14:00Z"
    )


def run(args: Namespace, context: JobContext) -> JobResult:
    """Validates the arguments, wires the ports and runs the use case."""
    from dataclasses import replace

    from jobs.cli.config.configuration import load_config
    from pipelines.common.errors import UsageError
    from pipelines.reconcile.explain.explain import ExplainRequest, explain
    from pipelines.reconcile.explain.runs import since_of
    from pipelines.reconcile.explain.state import StateSettings

    config = load_config(args.config, context)
    if sum((bool(args.paths), args.peer is not None, args.server is not None)) > 1:
        raise UsageError("give only one of PATH…, --peer ID and --server NAME")
    clean = f"{PROGRAM} clean --config {shlex.quote(args.config or 'FILE')}"
    settings = StateSettings(config.capacity, automatic=config.night.approval == "automatic", clean_command=clean)
    if config.clean is not None:
        settings = replace(settings, grace_ms=config.clean.grace)
    elif args.config is not None:
        settings = replace(settings, clean_command=None)
    since = None if args.since is None else since_of(args.since)
    acknowledged = config.settings().acknowledged
    request = ExplainRequest(args.cluster, tuple(args.paths), args.peer, args.server, since, settings, acknowledged)
    return explain(request, context.lake(args.lake), context.clock)
