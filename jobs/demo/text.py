"""The text of the demo, from the summaries of its nights, and the commands that it names in the end."""

import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from jobs.cli.launch.places import PROGRAM
from jobs.demo.cluster.parts import DISABLED_PEER
from jobs.demo.places import DemoOutput, DemoPlaces
from pipelines.common.human import human_bytes, human_duration
from pipelines.common.instants import utc_day
from pipelines.common.text import text_table
from pipelines.decide.reason_texts import REASON_TEXTS
from pipelines.lake.run_summary import DELETABLE, HELD, FindingRow, PinnedRow, RunSummary, VerdictTotal, by_reason

_NIGHTS = "{:<}  {:>}  {:>}  {:>}  {:>}  {:>}  {:>}"
_REASONS = "{:<}  {:<}  {:>}  {:>}  {:<}"
_HOLDERS = "{:<}  {:>}  {:>}  {:>}  {:>}"
_WIDTH = 118
_TOP = 6
_QUEUES = 3


@dataclass(frozen=True, slots=True)
class DemoCommand:
    """A command to paste, with its purpose."""

    purpose: str
    words: Sequence[str]

    def __str__(self) -> str:
        return shlex.join(self.words)


def demo_text(
    nights: Sequence[RunSummary],
    seconds: float,
    places: Sequence[DemoOutput],
    commands: Sequence[DemoCommand],
    tastes: Sequence[tuple[str, Sequence[str]]] = (),
) -> str:
    """Returns the text output of the demo.

    Args:
        nights: the summaries of the nights, oldest first.
        seconds: how long the demo took.
        places: what was written where.
        commands: what to try next.
        tastes: excerpts of other jobs on the last night: title and lines.
    """
    last = nights[-1]
    took = f"walsafe demo: {len(nights)} nights of a generated cluster, captured and decided in {seconds:.0f} s."
    blocks = [
        f"{took} Nothing was deleted.",
        _block("Files in oldWALs, night by night", text_table(_NIGHTS, _night_rows(nights))),
        _block(f"Why, on night {len(nights)}", text_table(_REASONS, _reason_rows(last.totals))),
        _block("Who holds most, and what would free it", _holder_lines(last)),
        _block(f"Findings on night {len(nights)}, worst first", _finding_lines(last.findings)),
        *(_block(title, lines) for title, lines in tastes),
        _block("Where everything is", text_table("{:<}  {:<}", [(place.what, place.where) for place in places])),
        _block("Try next", [line for command in commands for line in (f"# {command.purpose}", str(command))]),
    ]
    return "\n\n".join(blocks) + "\n"


def night_line(number: int, night: RunSummary) -> str:
    """Returns one night in one line, to be read while the next one runs."""
    parts = (("in oldWALs", night.total()), ("deletable", night.total(DELETABLE)), ("held", night.total(HELD)))
    told = ", ".join(f"{files:,} files {what} ({human_bytes(size)})" for what, (files, size) in parts)
    most = next(iter(night.holders("peer")), None)
    holder = f"; {_holder(most)} holds {human_bytes(most.bytes)}" if most else ""
    return f"night {number}: {told}{holder}"


def _night_rows(nights: Sequence[RunSummary]) -> Iterable[Sequence[str]]:
    yield ("", "files", "bytes", "deletable", "bytes", "held", "bytes")
    for number, night in enumerate(nights, start=1):
        sums = [night.total(), night.total(DELETABLE), night.total(HELD)]
        yield (f"night {number}", *(text for files, size in sums for text in (f"{files:,}", human_bytes(size))))


def _reason_rows(totals: Sequence[VerdictTotal]) -> Iterable[Sequence[str]]:
    yield ("verdict", "reason", "files", "bytes", "")
    for (verdict, reason), (files, size) in sorted(
        by_reason(totals).items(), key=lambda item: (item[0][0], -item[1][1])
    ):
        yield (verdict, reason, f"{files:,}", human_bytes(size), REASON_TEXTS[reason].short)


def _holder_lines(night: RunSummary) -> list[str]:
    """Returns each peer with its largest queues, followed by the remedies that would free bytes."""
    queues: dict[str, list[PinnedRow]] = {}
    for row in night.holders("queue"):
        queues.setdefault(row.peer_id, []).append(row)
    rows: list[Sequence[str]] = [("", "holds", "alone", "would free", "oldest")]
    for peer in night.holders("peer")[:_TOP]:
        own = queues.get(peer.peer_id, [])
        rows += [_holder_cells(row) for row in (peer, *own[:_QUEUES])]
        if len(own) > _QUEUES:
            rows.append((f"  and {len(own) - _QUEUES} more queues", "", "", "", ""))
    remedies = [f"-> {row.remedy}" for row in night.holders("peer")[:_TOP] if row.freed_bytes and row.remedy]
    return [*text_table(_HOLDERS, rows), *remedies]


def _holder_cells(row: PinnedRow) -> Sequence[str]:
    sizes = (human_bytes(size) for size in (row.bytes, row.exclusive_bytes, row.freed_bytes))
    return (_holder(row), *sizes, "" if row.oldest_age_ms is None else human_duration(row.oldest_age_ms))


def _holder(row: PinnedRow) -> str:
    if row.level == "peer":
        return f"peer {row.peer_id}" + (" (DISABLED)" if row.peer_state == "DISABLED" else "")
    owner, source = _host(row.owner), _host(row.source)
    if row.owner is None:
        return f"  no queue of {source} yet"
    return f"  queue of {owner}" + (f", claimed from {source}" if row.source != row.owner else "")


def _host(server: str | None) -> str:
    return (server or "").partition(".")[0]


def _finding_lines(findings: Sequence[FindingRow]) -> list[str]:
    """Returns one finding of each code with its remedy, and counts the others."""
    kinds: dict[str, list[FindingRow]] = {}
    for finding in findings:
        kinds.setdefault(finding.code, []).append(finding)
    lines = []
    for code, rows in kinds.items():
        more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
        head = f"{rows[0].severity:<8} {code}{more}"
        lines += [head, *_indented(rows[0].message), *_indented(f"-> {rows[0].remedy}")]
    return lines or ["none"]


def _indented(text: str) -> list[str]:
    return wrap(text, _WIDTH, initial_indent=" " * 11, subsequent_indent=" " * 14, break_long_words=False)


def _block(title: str, lines: Iterable[str]) -> str:
    return "\n".join((title, *(f"  {line}".rstrip() for line in lines)))


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
