"""The commands that the demo names in the end, on what it has written."""

import sys
from collections.abc import Sequence
from pathlib import Path

from jobs.cli.launch.places import PROGRAM
from jobs.demo.cluster.parts import DISABLED_PEER
from jobs.demo.places import DemoPlaces
from jobs.demo.text import DemoCommand
from pipelines.common.instants import utc_day
from pipelines.lake.run_summary import RunSummary


def demo_commands(places: DemoPlaces, nights: Sequence[RunSummary], held: str) -> list[DemoCommand]:
    """Returns what to try next.

    Args:
        places: of the demo.
        nights: the summaries of the nights, oldest first.
        held: path of a file that the disabled peer still needs.
    """
    last, config = nights[-1], ("--config", str(places.config))
    first_day = utc_day(nights[0].files_started_ms).isoformat()
    project = _project()
    start = PROGRAM if project is None else f"{project}spark-submit.sh"
    commands = [
        DemoCommand("What state is the cluster in, and what is new?", (start, "explain", *config)),
        DemoCommand("Who holds this file, since when, and what would free it?", (start, "explain", *config, held)),
        DemoCommand("What does the disabled peer hold?", (start, "explain", *config, "--peer", DISABLED_PEER)),
        DemoCommand("What has changed since the first night?", (start, "explain", *config, "--since", first_day)),
        DemoCommand(
            "Rehearse the clean-up of the last list; the demo's findings pause a real one, so --execute is refused.",
            (start, "clean", *config, "--run-id", last.run_id),
        ),
    ]
    # with a wheel, nothing says where the environment and the jars of Spark's own shell are
    return commands if project is None else [*commands, _query(places, project)]


def _query(places: DemoPlaces, project: str) -> DemoCommand:
    import pyspark

    from jobs.cli.session import DELTA_CATALOG, DELTA_EXTENSION

    spark = ".".join(pyspark.__version__.split(".")[:2])
    totals = f"delta.`{places.lake}/verdict_totals`"
    columns = "run_date, verdict, reason, sum(files) AS files, round(sum(bytes) / pow(1024, 3)) AS gib"
    query = " ".join(("SELECT", columns, "FROM", totals, "GROUP BY ALL ORDER BY ALL"))
    return DemoCommand(
        "Query the tables with nothing but Spark and Delta.",
        (
            *("env", f"PYSPARK_PYTHON={project}.venv/bin/python", f"{project}.venv/bin/spark-sql"),
            *("--driver-class-path", f"{project}.jars/*:{project}.jars/spark-{spark}/*"),
            *("--conf", f"spark.sql.extensions={DELTA_EXTENSION}"),
            *("--conf", f"spark.sql.catalog.spark_catalog={DELTA_CATALOG}"),
            *("--conf", "spark.sql.catalogImplementation=in-memory", "-e", query),
        ),
    )


def _project() -> str | None:
    """Returns the clone as a prefix of commands, `./` if it is the current directory; None of an installed wheel."""
    root = Path(sys.argv[0]).resolve().parent.parent  # the modules themselves may come from an archive
    if not (root / "spark-submit.sh").is_file():
        return None
    return "./" if root == Path.cwd() else f"{root}/"
