"""The Jinja templates of the HTML pages, with the filters that they share, and the page of Data Docs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template

from pipelines.common.errors import EXIT_DONE, EXIT_PARTIAL
from pipelines.common.finding_names import FINDINGS
from pipelines.common.human import human_bytes, human_count, human_duration, human_instant
from pipelines.common.version import VERSION
from pipelines.decide.reason_texts import REASON_TEXTS
from pipelines.lake.lake_records import RunRecord
from pipelines.lake.run_summary import DONE, FAILED, REFUSED, FindingRow, RunSummary


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended, in words; `style` is a class of style.css."""

    style: str
    words: str
    meaning: str


def outcome(run: RunSummary | RunRecord) -> Outcome:
    """Returns status, mode and exit code in words."""
    replay = "; a replay of an old snapshot, so there is no list" if run.mode == "REPLAY" else ""
    if run.status == DONE and run.exit_code == EXIT_DONE:
        return Outcome("ok", "Done", f"exit code 0: no error finding is new{replay}")
    if run.status == DONE and run.exit_code == EXIT_PARTIAL:
        return Outcome("warn", "Done, new error", f"exit code 5: an error finding is new{replay}")
    code = "" if run.exit_code is None else f"exit code {run.exit_code}: "
    if run.status == REFUSED:
        return Outcome("bad", "Refused", f"{code}walsafe does not trust the snapshot, so there is no list")
    if run.status == FAILED:
        return Outcome("bad", "Failed", f"{code}the run ended early, so there is no result")
    return Outcome("warn", run.status.capitalize(), f"{code}see docs/conditions.md")


def page(name: str, **values: object) -> str:
    """Renders a template as a page."""
    return _template(name).render(version=VERSION, **values)


def resource(name: str) -> str:
    """Returns the text of a file of the folder `templates`."""
    return files("pipelines.reconcile").joinpath("templates").joinpath(name).read_text(encoding="utf-8")


def finding_state(finding: FindingRow) -> str:
    """Returns whether a finding is acknowledged, new or known."""
    return "acknowledged" if finding.acknowledged else "new" if finding.is_new else "known"


@cache
def _template(name: str) -> Template:
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(resource),
    )
    environment.filters["bytes"] = human_bytes
    environment.filters["count"] = lambda number, noun: human_count(
        number if isinstance(number, int) else len(number), noun
    )
    environment.filters["duration"] = human_duration
    environment.filters["instant"] = human_instant
    environment.filters["outcome"] = outcome
    environment.filters["state"] = finding_state
    environment.filters["meaning"] = lambda reason: REASON_TEXTS[reason].why if reason in REASON_TEXTS else ""
    environment.tests["documented"] = lambda code: code in FINDINGS
    return environment.get_template(name)


def json_of(documents: Mapping[str, Any]) -> str:
    """Returns the documents as JSON, as Great Expectations writes them."""
    return json.dumps(documents, indent=1, sort_keys=True) + "\n"


def data_docs(documents: Mapping[str, Any], runs: Sequence[RunSummary] = ()) -> str:
    """Returns the page.

    Args:
        documents: `suite` and `validation`, see `pipelines.decide.gate.validation.documents_of`.
        runs: whose page it is; `maintain` removes it with theirs.
    """
    return page("quality.html", **documents, json=json_of(documents), runs=runs)
