"""The job views: prints the SQL that creates the analysts' views over a lake."""

from argparse import ArgumentParser, Namespace

from jobs.cli.context import JobContext
from pipelines.common.job_result import JobResult

NEEDS_SPARK = False
DESCRIPTION = """\
Prints SQL that creates six views with this lake's paths in place: latest_runs, latest_verdicts, night_diff,
peer_history, holders and deletions_by_day (docs/queries.md). It reads nothing. A date with two runs counts once in
them, and no column of a view is a reserved word. Write the output to a file, or pipe it into duckdb.

examples:
  ./spark-submit.sh views --lake /walsafe/lake --dialect duckdb
  ./spark-submit.sh views --lake hdfs://ns1/walsafe/lake --dialect spark
  ./spark-submit.sh views --lake s3://bucket/walsafe/lake --dialect trino
  ./spark-submit.sh views --lake /walsafe/lake --dialect duckdb --only-views
"""
_DIALECTS = ("duckdb", "spark", "trino")


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the options of the job."""
    parser.add_argument("--lake", required=True, metavar="DIR", help="where the Delta tables are")
    parser.add_argument("--config", metavar="FILE", help="for its key lake")
    parser.add_argument("--dialect", required=True, choices=_DIALECTS, help="whose SQL")
    parser.add_argument(
        "--only-views", action="store_true", help="the session already has the tables under their names"
    )


def run(args: Namespace, context: JobContext) -> JobResult:
    """Validates the arguments and returns the script."""
    from jobs.cli.config.configuration import load_config
    from pipelines.common.errors import EXIT_DONE
    from pipelines.lake.views import views_script

    load_config(args.config, context)  # a wrong file is reported, although only its keys for options are used
    sql = views_script(_place(args.lake), args.dialect, only_views=args.only_views)
    return JobResult(EXIT_DONE, {"dialect": args.dialect, "lake": _place(args.lake), "sql": sql}, sql)


def _place(lake: str) -> str:
    """Returns the lake as an engine in another directory finds it."""
    import os

    from pipelines.files.local_paths import local_path

    if ":" in lake.split("/", 1)[0]:
        return str(local_path(lake) or lake)
    return os.path.abspath(lake)
