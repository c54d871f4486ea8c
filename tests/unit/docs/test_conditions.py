"""Every refusal has a name: the table, the page and the code agree on all of them."""

import ast
import re
from collections.abc import Iterator
from copy import copy
from pathlib import Path

import pytest

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, SnapshotError, UnavailableError, UsageError, WalsafeError
from pipelines.common.finding_names import FINDINGS
from pipelines.decide.rule.verdict import Reason
from pipelines.reconcile.findings.pause_rules import GOES_ON, PAUSES
from scripts.finding_evidence import EVIDENCE
from scripts.generate_tables import (
    CONDITIONS,
    FINDINGS_PAGE,
    FINDINGS_TEXT,
    SPLIT_RULES_PAGE,
    conditions_page,
    findings_page,
    findings_text,
    split_rules_page,
)
from scripts.split_evidence import SPLIT_EVIDENCE
from tests.conftest import TYPES, evidence_fault
from tests.labs.places import PROJECT
from tests.unit.docs.test_docs import sections

REFUSALS = {"RefusedError", "SnapshotError"}
TABLE = PROJECT / "pipelines" / "common" / "conditions.py"


def product() -> Iterator[tuple[Path, ast.Module]]:
    for folder in ("jobs", "pipelines"):
        for path in sorted((PROJECT / folder).rglob("*.py")):
            yield path, ast.parse(path.read_text(encoding="utf-8"))


def is_member(node: ast.expr) -> bool:
    if isinstance(node, ast.IfExp):
        return is_member(node.body) and is_member(node.orelse)
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Condition"


def passes_on(node: ast.expr) -> bool:
    """Whether it is the condition of another error, of an opened snapshot, or of a doubt about one."""
    return ast.unparse(node).endswith((".condition", ".fault_condition")) or ast.unparse(node) == "doubt[0]"


def test_the_page_is_generated_from_the_table() -> None:
    assert CONDITIONS.read_text(encoding="utf-8") == conditions_page(), "run: python -m scripts.generate_tables"


def test_no_refusal_is_without_its_condition() -> None:
    calls = [
        (path, call)
        for path, module in product()
        for call in ast.walk(module)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in REFUSALS
    ]
    assert len(calls) > 100
    for path, call in calls:
        assert len(call.args) == 2, f"{path}:{call.lineno}"
        assert is_member(call.args[0]) or passes_on(call.args[0]), f"{path}:{call.lineno}"


def test_no_condition_is_without_its_refusal() -> None:
    used = {
        node.attr
        for path, module in product()
        if path != TABLE
        for node in ast.walk(module)
        if isinstance(node, ast.Attribute) and is_member(node)
    }
    assert used == set(Condition.__members__)


def test_a_condition_says_what_it_means_and_what_to_do_in_a_sentence_each() -> None:
    said = [(one.name, (one.value.meaning, one.value.what_to_do)) for one in Condition]
    for name, sentences in [*said, *((code, (meaning,)) for code, meaning in FINDINGS.items())]:
        assert re.fullmatch(r"[A-Z]+(_[A-Z]+)*", name)
        for sentence in sentences:
            assert re.fullmatch(r"[A-Z`][^|\n]+\.", sentence), name
            assert ". " not in sentence, name


def test_every_finding_is_in_the_table_of_names() -> None:
    assert list(FINDINGS) == list(sections(CONDITIONS.with_name("findings.md")))
    assert set(FINDINGS) == {*PAUSES, *GOES_ON}


def test_every_finding_has_a_documented_shape_of_evidence() -> None:
    for path, written in ((FINDINGS_PAGE, findings_page), (SPLIT_RULES_PAGE, split_rules_page)):
        page = path.read_text(encoding="utf-8")
        assert page == written(page), "run: python -m scripts.generate_tables"
    assert set(EVIDENCE) == set(FINDINGS)
    rules = SPLIT_RULES_PAGE.read_text(encoding="utf-8").partition("## Evidence")[0]
    named = [*re.findall(r"^\| ([A-Z]+[0-9]*) \|", rules, re.MULTILINE), "HOT_KEY", "SKEW"]
    stages = {f"S{number}" for number in range(12)}
    assert set(SPLIT_EVIDENCE) == {f"SPLIT_{rule}" for rule in named if rule not in stages}
    shapes = (*EVIDENCE.values(), *SPLIT_EVIDENCE.values())
    assert {one.kind for shape in shapes for one in shape.values()} <= set(TYPES)


@pytest.mark.parametrize(
    ("evidence", "fault"),
    [
        ({"wal": "a.1", "offset": 5}, None),
        ({"wal": "a.1", "offset": 5, "length": 4}, None),
        ({"wal": "a.1"}, r"has \['wal'\]"),
        ({"wal": "a.1", "offset": 5, "more": 1}, "'more'"),
        ({"wal": "a.1", "offset": None}, "offset is None, is documented as number"),
    ],
)
def test_an_evidence_of_another_shape_is_told(evidence: dict[str, object], fault: str | None) -> None:
    found = evidence_fault("BEYOND_EOF", EVIDENCE["BEYOND_EOF"], evidence)
    assert found is None if fault is None else re.search(fault, str(found))


def test_evidence_names_the_type_of_what_a_list_has() -> None:
    def fault(code: str, evidence: dict[str, object]) -> str | None:
        return evidence_fault(code, {**EVIDENCE, **SPLIT_EVIDENCE}[code], evidence)

    assert "list of strings" in str(fault("LOST_WALS", {"wals": ["a", 1]}))
    assert fault("SYNC_STATE_CHANGED", {"before": None, "now": "ACTIVE"}) is None
    assert "is documented as number" in str(fault("SPLIT_R5", {"lasting_ms": True})), "true is no number"
    assert fault("SPLIT_C9", {"unknown": True}) is None
    assert "is documented as fraction" in str(fault("SPLIT_C1", {"deleted_share": "most"}))


def test_a_name_stands_for_one_thing_among_findings_and_reasons_too() -> None:
    names = set(Condition.__members__)
    assert names & set(FINDINGS) == {"ADD_PEER_RUNNING"}
    assert names & {reason.value for reason in Reason} == {"ADD_PEER_RUNNING", "SNAPSHOT_UNTRUSTED"}


@pytest.mark.parametrize(
    "error",
    [
        RefusedError(Condition.LIST_EXPIRED, "a"),
        SnapshotError(Condition.SNAPSHOT_DAMAGED, "b"),
        UsageError("c"),
        UsageError("d", condition=Condition.SNAPSHOT_EXISTS),
        UnavailableError("e", condition=Condition.LEASE_HELD),
    ],
    ids=str,
)
def test_an_error_keeps_its_condition_on_its_way_from_a_task(error: WalsafeError) -> None:
    again = copy(error)  # goes the way of pickle, which Spark takes
    assert (type(again), str(again), again.condition) == (type(error), str(error), error.condition)


def test_a_refusal_cannot_be_made_without_a_condition() -> None:
    with pytest.raises(TypeError):
        RefusedError("no")  # type: ignore[call-arg, arg-type]


def test_the_page_beside_the_reports_is_generated_from_the_findings() -> None:
    text = FINDINGS_TEXT.read_text(encoding="utf-8")
    assert text == findings_text(), "run: python -m scripts.generate_tables"
    for code in FINDINGS:
        assert f'<h3 id="{code.lower()}">' in text
    assert set(re.findall(r'href="([^#"]*)', text)) == {""}, "it links to nothing but itself"
