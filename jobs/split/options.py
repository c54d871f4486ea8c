"""Options and configuration that the split jobs share."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from pipelines.lake.findings import Acknowledgement


def add_run_options(parser: ArgumentParser) -> None:
    """Declares --lake, --run-id and --config."""
    parser.add_argument("--lake", metavar="DIR", help="write the Delta tables there too; made if missing")
    parser.add_argument("--run-id", metavar="ID", help="default: time and digest of the input, and the job's name")
    parser.add_argument("--config", metavar="FILE", help="for findings.acknowledged")


def acknowledged_findings(args: Namespace, context: JobContext) -> tuple[Acknowledgement, ...]:
    """Returns the acknowledged findings of the configuration."""
    from jobs.cli.config.configuration import load_config

    return load_config(args.config, context).settings().acknowledged
