"""README and docs say what the code does: every reason, finding, metric, command, link and example."""

import ast
import json
import re
import shlex
from base64 import b64decode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from jobs.cli.command_line import parse
from jobs.cli.config.configuration import parse_config
from jobs.cli.monitoring.metric_names import METRICS
from jobs.cli.registry import JOBS
from pipelines.common.spark.local_frames import arrow_schema
from pipelines.decide.gate.gate import ACCEPTABLE, expectations
from pipelines.decide.reason_texts import REASON_TEXTS
from pipelines.decide.rule import table_rule, verdict, zookeeper_rule
from pipelines.decide.rule.settings import Release
from pipelines.decide.rule.verdict import Reason
from pipelines.hbase.replication_queues import Cell, parse_queue_cell
from pipelines.lake import findings
from pipelines.lake.views import views_script
from pipelines.reconcile.delete_list import parse_manifest
from pipelines.reconcile.findings import ODD_REASONS
from pipelines.reconcile.findings.pause_rules import GOES_ON, PAUSES
from pipelines.reconcile.peer_remedy import remove_peer
from pipelines.snapshot.snapshot_json import parse_snapshot, snapshot_document
from schemas.registry import TABLES
from tests.labs.analyst_lake import with_tables
from tests.labs.documented_commands import ABBREVIATED, FENCE, IDS, PAGES, commands, text_of
from tests.labs.places import DOCS, PROJECT
from tests.models.capture.trust import distrust_reason
from tests.models.commands import parse as parse_search


def blocks(page: Path, language: str) -> list[str]:
    return [body for tag, body in FENCE.findall(text_of(page)) if tag == language]


def without_code(page: Path) -> str:
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text_of(page)))


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text_of(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-") for heading in headings}


def sections(page: Path) -> dict[str, str]:
    """The third-level sections of a page by heading."""
    parts = re.split(r"^### (.+)$", text_of(page), flags=re.MULTILINE)
    return {
        heading: re.split(r"^#", body, maxsplit=1, flags=re.MULTILINE)[0]
        for heading, body in zip(parts[1::2], parts[2::2], strict=True)
    }


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page)):
        if "://" in target:
            continue
        path, _, fragment = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (fragment and fragment not in anchors(there)):
            broken.append(target)
    assert broken == []


def test_pages_that_the_code_names_are_there() -> None:
    sources = [
        path for folder in ("jobs", "pipelines", "schemas", "conf", "scripts") for path in (PROJECT / folder).rglob("*")
    ]
    named: set[str] = set()
    for source in sources:
        if source.suffix in {".py", ".sh", ".rb", ".yaml"}:
            named |= set(re.findall(r"\bdocs/([\w/-]+\.md|adr/\d{4})", source.read_text(encoding="utf-8")))
    assert "verdicts.md" in named
    missing = [name for name in sorted(named) if not list(DOCS.glob(f"{name.removesuffix('.md')}*.md"))]
    assert missing == []


def test_every_decision_is_in_the_index_and_has_its_three_parts() -> None:
    index = text_of(DOCS / "adr" / "README.md")
    pages = sorted(page for page in (DOCS / "adr").glob("*.md") if page.name != "README.md")
    assert len(pages) >= 10
    for number, page in enumerate(pages, start=1):
        assert page.name.startswith(f"{number:04d}-")
        assert f"({page.name})" in index
        assert re.findall(r"^\*\*(\w+)\.\*\*", text_of(page), re.MULTILINE) == ["Context", "Decision", "Consequences"]


def test_commands_are_taken_by_the_parsers(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An abbreviated one (`…`, JOB) must name a job at least."""
    checked, example = 0, str(PROJECT / "conf" / "production.example.yaml")
    for page, rest, configured in commands():
        monkeypatch.setenv("WALSAFE_CONFIG", example if configured else "")
        if ABBREVIATED.search(rest):
            assert rest.split()[0] in {*JOBS, "JOB", "--set-up"}, f"{page}: {rest}"
            continue
        words = [example if Path(word).name == "prod-a.yaml" else word for word in shlex.split(rest, comments=True)]
        try:
            parse(words)
        except SystemExit as end:
            assert end.code == 0, f"{page}: ./spark-submit.sh {rest}\n{capsys.readouterr().err}"  # noqa: PT017
        checked += 1
    assert checked > 12


SEARCHES = sorted(
    {
        (name, rest.partition("#")[0].strip())
        for page, name in zip(PAGES, IDS, strict=True)
        for rest in re.findall(r"\./tests/run --search ([^`\n]+)", text_of(page))
    }
)


@pytest.mark.parametrize(("page", "rest"), SEARCHES)
def test_searches_are_taken_by_their_parsers(page: str, rest: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each `./tests/run --search …` of a page."""
    try:
        parse_search(shlex.split(rest))
    except SystemExit as end:
        assert end.code == 0, f"{page}: ./tests/run --search {rest}\n{capsys.readouterr().err}"  # noqa: PT017


def test_the_searches_of_the_pages_are_found() -> None:
    assert {page for page, _ in SEARCHES} >= {"docs/commands.md", "docs/proof.md", "docs/split-model.md"}


def test_no_page_starts_what_is_no_job_any_more() -> None:
    """Not even in a sentence; the changelog tells what became of them."""
    for page in PAGES:
        if page.name not in {"CHANGELOG.md", "0026-models-in-tests.md"}:
            assert re.findall(r"`(?:split-)?simulate\b", text_of(page)) == [], page


@pytest.mark.promise("delta-without-a-metastore")
def test_the_pages_show_every_job_and_table() -> None:
    started = {rest.split()[0] for page, rest, _ in commands() if page in {"docs/commands.md", "docs/splits.md"}}
    assert set(JOBS) <= started
    queries = text_of(DOCS / "queries.md")
    assert [table.name for table in TABLES if f"`{table.name}`" not in queries] == []


@pytest.mark.promise("queries-run-without-spark")
def test_the_query_of_the_page_runs() -> None:
    (query,) = re.findall(r'duckdb\.sql\(\s*"(SELECT [^"]+)"\s*\)', text_of(DOCS / "queries.md"))
    with with_tables(lambda table: arrow_schema(table.schema).empty_table()) as database:
        columns = database.execute(views_script("/walsafe/lake", "duckdb", only_views=True)).execute(query).description
    assert [column[0] for column in columns or ()] == ["cluster", "run_date", "reason", "bytes"]


def test_the_queries_of_the_audit_run() -> None:
    """A purge before the grace is named, whether it ended, was stopped, or died and was settled by a later job."""
    night = datetime(2026, 11, 21, tzinfo=UTC)
    first: dict[str, Any] = {"cluster": "a", "run_id": "n1", "run_date": night.date(), "at": night}
    purge = first | {"action": "PURGE", "reason": "full", "done_by": "me"}
    ends = {1: "DONE", 2: "STOPPED", 3: None, 4: "REFUSED"}
    attempts = [
        purge | {"attempt": str(lease), "lease": lease, "status": status, "at": night + timedelta(hours=lease)}
        for lease, end in ends.items()
        for status in ("STARTED", end)
        if status is not None
    ]
    attempts.append(purge | {"attempt": "5", "lease": 5, "status": "STARTED", "reason": None})
    file = first | {"phase": "OUTCOME", "action": "PURGE", "length": 10, "batch": 1}
    files = [
        file | {"path": f"oldWALs/{number}", "outcome": outcome, "attempt": attempt, "lease": lease}
        for number, (outcome, attempt, lease) in enumerate(
            [("PURGED", "1", 1), ("PURGED", "1", 1), ("ARCHIVED", "2", 2), ("FAILED", "2", 2), ("PURGED", "5", 3)]
        )
    ]
    files.append(file | {"path": "oldWALs/9", "action": "CLEAN", "outcome": "MOVED", "attempt": "0", "lease": 0})
    rows: dict[str, list[dict[str, Any]]] = {"cleanups": attempts, "deletions": files}
    queries = re.findall(r'duckdb\.sql\("""(.+?)"""\)', text_of(DOCS / "cleanup.md"), re.DOTALL)
    with with_tables(
        lambda table: pa.Table.from_pylist(rows.get(table.name, []), schema=arrow_schema(table.schema))
    ) as database:
        life, resting, died, freed = [database.execute(query).fetchall() for query in queries]
    assert (life, resting, {row[3] for row in died}) == ([], [("a", "n1", 1, 10)], {"3", "5"})
    assert [(row[0].hour, row[4:]) for row in freed] == [
        (1, ("full", 2, 20)), (2, ("full", 1, 10)), (3, ("full", 1, 10)), (4, ("full", 0, 0)),
    ]  # fmt: skip


@pytest.mark.promise("verdicts-has-every-reason")
def test_every_reason_has_its_section_with_its_verdicts() -> None:
    found = sections(DOCS / "verdicts.md")
    assert set(found) >= {reason.value for reason in Reason}
    rule = [Path(str(one.__file__)).read_text(encoding="utf-8") for one in (verdict, table_rule, zookeeper_rule)]
    said = re.findall(r"\b(held|deletable)\(Reason\.(\w+)", "\n".join(rule))
    assert {reason for _, reason in said} == {reason.value for reason in Reason}
    for kind, reason in said:
        assert f"**{kind.upper()}**" in found[reason].replace(".**", "**"), f"{reason}: {kind}"
    glance = re.findall(r"^\| \[(\w+)\]\(#\w+\) \| [A-Z or]+ \| (.+) \|$", text_of(DOCS / "verdicts.md"), re.MULTILINE)
    assert [name for name, _ in glance] == [reason.value for reason in Reason], "in the order in which the rule asks"
    assert dict(glance) == {name: words.short for name, words in REASON_TEXTS.items()}, "the words of the one table"


RAISING = {"finding", "_of_peer", "_of_queue"}


def raised_findings() -> dict[str, str | None]:
    """Codes of all findings with their severity, where the call names it."""
    found: dict[str, str | None] = {}
    rooms = PROJECT / "pipelines"
    paths = [*(rooms / "reconcile" / "findings").glob("*.py"), *(rooms / "queues").glob("*/*findings.py")]
    modules = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    for call in (node for module in modules for node in ast.walk(module)):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in RAISING):
            continue
        code, severity = call.args[:2]
        if isinstance(code, ast.Name):  # a helper, which passes on what it is called with
            continue
        level = getattr(findings, severity.id) if isinstance(severity, ast.Name) and severity.id.isupper() else None
        if isinstance(code, ast.Constant):
            found[str(code.value)] = level
            continue
        # {"REASON": "CODE", …}.get(reason, reason): the odd names
        (renamed,) = [node for node in ast.walk(code) if isinstance(node, ast.Dict)]
        codes = ast.literal_eval(renamed)
        found |= {codes.get(reason.value, reason.value): level for reason in ODD_REASONS}
    return found


def test_every_finding_has_its_section_with_its_severity() -> None:
    found, raised = sections(DOCS / "findings.md"), raised_findings()
    assert len(raised) > 15
    assert set(found) == set(raised)
    for code, severity in raised.items():
        (said,) = re.findall(r"\A\n\*(error|warning|info)\.\*", found[code])
        assert severity in {None, said}, code
        assert "**Remedy:**" in found[code], code


def test_every_finding_is_ruled_on_and_the_page_says_which_pause_the_clean_up() -> None:
    page, raised = DOCS / "findings.md", raised_findings()
    assert sorted((*PAUSES, *GOES_ON)) == sorted(raised), "decide for each whether the clean-up waits for it"
    table = text_of(page).partition("## What pauses the clean-up")[2].partition("## Evidence")[0]
    told = re.findall(r"^\| ([A-Z_]+) \| (.+) \|$", table, re.MULTILINE)
    assert told == list(PAUSES.items())
    found = sections(page)
    assert {code for code, body in found.items() if "**Pauses the clean-up.**" in body} == set(PAUSES)


def test_remove_peer_is_never_proposed_without_what_it_gives_up() -> None:
    """In the code by one function alone; in the pages wherever they tell an operator to use it."""
    folders = [PROJECT / "jobs", PROJECT / "pipelines"]
    naming = [file for folder in folders for file in folder.rglob("*") if file.suffix in {".py", ".html"}]
    naming = [file for file in naming if "remove_peer" in text_of(file)]
    assert sorted(file.name for file in naming) == ["peer_remedy.py"]
    assert remove_peer("2", 3 << 30).startswith(
        "remove_peer '2', which gives up everything not yet shipped to it: 3.0 GiB"
    )
    proposing = [page for page in PAGES if page.name != "proof.md" and "remove_peer" in text_of(page)]
    assert {page.name for page in proposing} >= {"demo.md", "runbook.md", "verdicts.md"}
    for page in proposing:
        for line in text_of(page).splitlines():
            assert "remove_peer" not in line or "gives up everything not yet shipped to it" in line, page


def test_every_expectation_is_told_and_what_may_be_overruled_has_a_command() -> None:
    safety, runbook = text_of(DOCS / "safety.md"), text_of(DOCS / "runbook.md")
    for expectation in expectations(0.95):
        assert f"| `{expectation.name}` |" in safety
    for name in ACCEPTABLE:
        assert f"--accept {name}=" in runbook


def test_the_metrics_are_the_ones_that_are_written() -> None:
    page = text_of(DOCS / "metrics.md")
    told = re.findall(r"^\| `walsafe_(\w+)` \|([^|]*)\|", page, re.MULTILINE)
    assert [(name, tuple(re.findall(r"`(\w+)`", labels))) for name, labels in told] == [
        (metric.name, metric.labels) for metric in METRICS
    ]
    rules = text_of(PROJECT / "conf" / "monitoring" / "walsafe.rules.yml")
    alerts = re.findall(r"^      - alert: (\w+)", rules, re.MULTILINE)
    assert re.findall(r"^\| `(Walsafe\w+)` \|", page, re.MULTILINE) == alerts
    dashboard = text_of(PROJECT / "conf" / "monitoring" / "walsafe.dashboard.json")
    assert set(re.findall(r"\bwalsafe_\w+", rules + dashboard)) - {"walsafe_job"} <= {
        f"walsafe_{metric.name}" for metric in METRICS
    }


def test_the_example_snapshot_is_one_that_is_believed() -> None:
    document, _ = map(json.loads, blocks(DOCS / "snapshot-format.md", "json")[1:])
    line = json.loads(blocks(DOCS / "snapshot-format.md", "json")[0])
    cell = parse_queue_cell(Cell(*(b64decode(line[key]) for key in ("row", "family", "qualifier", "value"))))
    snapshot = parse_snapshot(document)
    assert distrust_reason(snapshot, [[cell], [cell]], Release()) is None
    assert snapshot_document(snapshot) == document, "all keys, as walsafe itself writes them"


def test_the_example_manifest_is_one() -> None:
    text = blocks(DOCS / "snapshot-format.md", "json")[2]
    manifest = parse_manifest(text, "docs/snapshot-format.md")
    assert manifest.run_id.endswith(manifest.snapshot_sha256[:8])
    assert sum(part.lines for part in manifest.parts) == manifest.files


@pytest.mark.promise("smallest-configuration")
@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_configurations_are_taken(page: Path) -> None:
    for number, block in enumerate(blocks(page, "yaml")):
        if not block.startswith("groups:"):  # Prometheus' own
            parse_config(block, f"{page.name}, block {number}")


def test_every_path_of_the_architecture_page_is_there() -> None:
    page = text_of(DOCS / "architecture.md")
    named = set(re.findall(r"`((?:\w+/)*\w+\.(?:py|sh|toml)|(?:\w+/)+)`", page)) - {"oldWALs/", "WALs/", "remoteWALs/"}
    named |= set(re.findall(r"\bpipelines/[\w/]+(?![\w/.])", page))
    assert len(named) > 60
    places = (PROJECT, PROJECT / "pipelines" / "cleanup")
    assert [name for name in sorted(named) if not any((place / name).exists() for place in places)] == []


def test_the_functions_and_sources_of_the_architecture_page_are_there() -> None:
    page = text_of(DOCS / "architecture.md")
    functions = {"decide", "decide_by_name", "read_files", "read_the_rest"}
    modules = (
        text_of(PROJECT / "pipelines" / one)
        for one in ("decide/rule/verdict.py", "decide/rule/zookeeper_rule.py", "capture/capture.py")
    )
    assert functions <= set(re.findall(r"^def (\w+)\(", "\n".join(modules), re.MULTILINE))
    sources = {path.stem for path in (PROJECT / "pipelines" / "capture" / "sources").glob("*.py")}
    rows = re.findall(r"^\| (?:listings|queues|state|backups).*", page, re.MULTILINE)
    assert len(rows) == 4
    assert set(re.findall(r"`(\w+_\w+)`", "\n".join(rows))) - sources == set()


def test_no_two_public_classes_have_the_same_name() -> None:
    found: dict[str, list[str]] = {}
    paths = [path for folder in ("pipelines", "jobs", "schemas") for path in (PROJECT / folder).rglob("*.py")]
    for path in paths:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(path.relative_to(PROJECT).as_posix())
    assert len(found) > 300
    assert {name: places for name, places in found.items() if len(places) > 1} == {}
