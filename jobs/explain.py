"""The job explain: shows what holds a file, a peer or a server, since when, and what would free it."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from pipelines.common.job_result import JobResult

HELP = "who holds a file, a peer or a server, since when, what would free it"
NEEDS_SPARK = True
DESCRIPTION = """\
Answers from the tables that reconcile wrote, for the newest run of each cluster; it asks the cluster nothing.

A PATH is a full URI, a path below the WAL root, the end of one, or a bare file name. A server is host,port,startcode
or any part of it, like the host without its domain. Where several things go by that name, explain lists them and exits
with 2.

examples:
  ./spark-submit.sh explain --lake /walsafe/lake oldWALs/h1%2C16020%2C1763690000000.1763694000000
  ./spark-submit.sh explain --lake /walsafe/lake --cluster prod-a --peer 2
  ./spark-submit.sh explain --lake /walsafe/lake --cluster prod-a --server rs12
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--lake", required=True, metavar="DIR", help="where the Delta tables are")
    parser.add_argument("--config", metavar="FILE", help="for its keys lake and cluster")
    parser.add_argument("--cluster", metavar="NAME", help="default: whichever cluster of the lake it is")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files below oldWALs")
    parser.add_argument("--peer", metavar="ID", help="a replication peer")
    parser.add_argument("--server", metavar="NAME", help="a region server, or any part of its name")


def run(args: Namespace, context: JobContext) -> JobResult:
    """Validates the arguments, wires the ports and runs the use case."""
    from jobs.cli.config import load_config
    from pipelines.common.errors import UsageError
    from pipelines.reconcile.explain.explain import ExplainRequest, explain

    load_config(args.config, context)  # a wrong file is reported, although only its keys for options are used
    if sum((bool(args.paths), args.peer is not None, args.server is not None)) != 1:
        raise UsageError("give exactly one of PATH…, --peer ID and --server NAME")
    request = ExplainRequest(args.cluster, tuple(args.paths), args.peer, args.server)
    return explain(request, context.lake(args.lake), context.clock)
