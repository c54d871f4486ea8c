"""The job check-tables: lets Great Expectations validate the published tables of the newest nights."""

import logging
from argparse import ArgumentParser, Namespace
from dataclasses import replace

from jobs.cli import log
from jobs.cli.context import JobContext, directory_here
from pipelines.common.job_result import JobResult

NEEDS_SPARK = True
DESCRIPTION = """\
Checks the tables of the newest DONE run of each cluster: every file has one verdict, totals and sums agree, no
DELETABLE file has a holder, and so on. It reads the tables alone and changes nothing.

With --out it writes published_tables.html and published_tables.json: a page that any browser opens, and the suite and
validation result as Great Expectations writes them.

Exit codes: 0 every expectation is met, 3 one is not, 4 all are met, but the files of --out could not be written.

example:
  ./spark-submit.sh check-tables --lake /walsafe/lake --out /tmp/quality
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--lake", required=True, metavar="DIR", help="where the Delta tables are")
    parser.add_argument("--config", metavar="FILE", help="for its keys lake and cluster")
    parser.add_argument("--cluster", metavar="NAME", help="default: every cluster of the lake")
    parser.add_argument("--out", metavar="DIR", help="a local directory for the Data Docs; made if missing")


def run(args: Namespace, context: JobContext) -> JobResult:
    """Validates the tables, and writes the Data Docs."""
    from jobs.cli.config.configuration import load_config
    from pipelines.common.errors import EXIT_UNAVAILABLE
    from pipelines.reconcile.published_tables import SUITE, check_tables
    from pipelines.reconcile.report_templates import data_docs, json_of

    load_config(args.config, context)  # a wrong file is reported, although only its keys for options are used
    folder = None if args.out is None else directory_here(args.out)
    result, documents = check_tables(context.lake(args.lake), args.cluster)
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{SUITE}.html").write_text(data_docs(documents), encoding="utf-8")
            (folder / f"{SUITE}.json").write_text(json_of(documents), encoding="utf-8")
        except OSError as error:  # it must not hide what the tables have shown
            log.say(f"walsafe check-tables: --out {args.out} cannot be written: {error}", logging.ERROR)
            return replace(result, exit_code=result.exit_code or EXIT_UNAVAILABLE)
    return result
