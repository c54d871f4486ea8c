"""Writes docs/tables.md, docs/conditions.md, conf/catalog/, and the page of findings that stands beside the reports.

Their sources are the schemas, the names of conditions, the shapes of evidence (the last sections of docs/findings.md
and docs/split-rules.md), and docs/findings.md. A test compares each file with its source.

Run: .venv/bin/python -m scripts.generate_tables
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from markdown import markdown
from pyspark.sql.types import ArrayType, DataType, StructType

from pipelines.common.conditions import Condition
from pipelines.common.finding_names import FINDINGS
from pipelines.reconcile.findings.pause_rules import PAUSES
from schemas.registry import TABLES
from schemas.table import Table
from scripts import catalog
from scripts.finding_evidence import EVIDENCE, EvidenceValue
from scripts.split_evidence import SPLIT_EVIDENCE

PROJECT = Path(__file__).resolve().parent.parent
TARGET = PROJECT / "docs" / "tables.md"
CONDITIONS = PROJECT / "docs" / "conditions.md"
CATALOG = PROJECT / "conf" / "catalog"
FINDINGS_PAGE = PROJECT / "docs" / "findings.md"
SPLIT_RULES_PAGE = PROJECT / "docs" / "split-rules.md"
_EVIDENCE_HEAD = """\
## Evidence

*Generated from `scripts/{module}.py` by `python -m scripts.generate_tables`; change that table, not this one.*

`findings.evidence` is a JSON object. These are its values by the name of the finding; a finding without a row here has
an empty object, because its message says all. *Or null* means that the value may be unknown; *sometimes* means that not
every finding of this name has it.

| finding | value | type | meaning |
|---|---|---|---|
"""
FINDINGS_TEXT = PROJECT / "pipelines" / "reconcile" / "templates" / "findings_text.html"
_HEAD = """\
# Tables

*Generated from `schemas/` by `python -m scripts.generate_tables`; change the schemas, not this page.*

Every table is a Delta table in a folder of its own, `<lake>/<table>`, partitioned by `run_date`, with these comments on
its columns. No metastore is needed, and the reader protocol is version 1. Columns are only ever added. Large
tables have files of [version 2 of Parquet](catalogs.md#readers-that-know-parquets-version-1-only).

| reader | how |
|---|---|
| Spark (with the Delta jars and confs) | `spark.read.format("delta").load("<lake>/wal_verdicts")` |
| Python, without Spark | `deltalake.DeltaTable("<lake>/wal_verdicts").to_pandas()` |
| DuckDB, through `deltalake` | `v = DeltaTable("<lake>/runs").to_pyarrow_dataset(); duckdb.sql("select * from v")` |

Filter by `run_date` first, so that the reader skips all other nights. If somebody repeats a run, walsafe replaces all
rows of its cluster and `run_id`. `runs` is append-only: the last row of a `run_id` counts, in the order of `at` and
`seq`. `cleanups` and `deletions`, the audit of the clean-up ([how to query it](cleanup.md#the-audit)), are append-only,
too. A date may have several runs of a cluster: [the views](queries.md#the-views) have one for each.

Every column may be NULL if the value is unknown, or if an older walsafe wrote the row.
"""

_CONDITIONS_HEAD = """\
# Conditions

*Generated from `pipelines/common/conditions.py` and `finding_names.py` by `python -m scripts.generate_tables`; change
these tables, not this page.*

Every refusal has a stable name. The JSON object of `--output json` and `--result` has this name and the sentence:

```json
{
  "job": "clean",
  "exit_code": 3,
  "error": {
    "kind": "RefusedError",
    "message": "run 20261121T020000Z was cleaned before, and a list is cleaned once. …",
    "condition": "LIST_ALREADY_CLEANED"
  }
}
```

A program must compare the name and the exit code, never words of the message, because any version may change the words.
A name never gets another meaning; new versions may add names. `condition` is null after a bug (1) and an interruption
(130). `reconcile` gives the `condition` of each refused cluster in `clusters`, and `purge` gives the `condition` of
each run in `runs`.

`plan-migration`, `verify-migration`, `check-tables` and the split jobs also end with exit code 3 if their result is
negative, and `night` if a finding pauses the clean-up. Then there is no `error`; the findings, `failed` or `why` say
why.

## Refusals and other errors

| name | what it means | what to do |
|---|---|---|
"""
_FINDINGS_HEAD = """\
## Findings

A finding also has a name: `code`, in table [`findings`](tables.md#findings) and in the JSON object. The linked section
says what to do, and when walsafe does not raise the finding. While a finding that pauses the clean-up is open, `clean`
and `purge` refuse with CLEANUP_PAUSED. Findings of splits are on [a separate page](split-rules.md).

| name | what it means |
|---|---|
"""


def conditions_page() -> str:
    """The text of docs/conditions.md."""
    refusals = "".join(_refusal(one) for one in Condition)
    findings = "".join(
        f"| [{code}](findings.md#{code.lower()}) | {meaning}{' **Pauses the clean-up.**' if code in PAUSES else ''} |\n"
        for code, meaning in FINDINGS.items()
    )
    return f"{_CONDITIONS_HEAD}{refusals}\n{_FINDINGS_HEAD}{findings}"


def findings_page(now: str) -> str:
    """The text of docs/findings.md: all that is there now before its last section, and that section anew."""
    links = {code: f"[{code}](#{code.lower()})" for code in EVIDENCE}
    return _with_evidence(now, "finding_evidence", EVIDENCE, links)


def split_rules_page(now: str) -> str:
    """The text of docs/split-rules.md, likewise."""
    return _with_evidence(now, "split_evidence", SPLIT_EVIDENCE, {code: f"`{code}`" for code in SPLIT_EVIDENCE})


def _with_evidence(
    now: str, module: str, shapes: Mapping[str, Mapping[str, EvidenceValue]], links: Mapping[str, str]
) -> str:
    rows = "".join(
        f"| {links[code]} | `{name}` | {'' if one.always else 'sometimes '}{one.kind}"
        f"{' or null' if one.may_be_null else ''} | {one.meaning} |\n"
        for code, shape in shapes.items()
        for name, one in shape.items()
    )
    before = now.partition(_EVIDENCE_HEAD.splitlines()[0] + "\n")[0].rstrip()
    return f"{before}\n\n{_EVIDENCE_HEAD.format(module=module)}{rows}"


def _refusal(condition: Condition) -> str:
    remedy = re.sub(r"docs/(\w+)\.md", r"the page [\1](\1.md)", condition.value.what_to_do)
    return f"| `{condition.name}` | {condition.value.meaning} | {remedy} |\n"


def findings_text() -> str:
    """The text of docs/findings.md as HTML; links to other pages become plain text, since only this page is there."""
    text = FINDINGS_PAGE.read_text(encoding="utf-8")
    text = re.sub(r"\[([^\]]+)\]\((?!#|https?:)[^)]+\)", r"\1", text)
    return markdown(text, extensions=["sane_lists", "tables", "fenced_code", "toc"]) + "\n"


def tables_page() -> str:
    """The text of docs/tables.md."""
    contents = "\n".join(f"- [`{table.name}`](#{table.name}): {table.comment}" for table in TABLES)
    return "\n".join([_HEAD, contents, *(_section(table) for table in TABLES)])


def _section(table: Table) -> str:
    rows = "\n".join(
        f"| `{name}` | {kind} | {comment.replace('|', chr(92) + '|')} |" for name, kind, comment in _rows(table.schema)
    )
    return f"\n## {table.name}\n\n{table.comment}\n\n| column | type | meaning |\n|---|---|---|\n{rows}\n"


def _rows(struct: StructType, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    for field in struct:
        name = f"{prefix}{field.name}"
        yield name, _kind(field.dataType), field.metadata["comment"]
        if isinstance(field.dataType, ArrayType) and isinstance(field.dataType.elementType, StructType):
            yield from _rows(field.dataType.elementType, f"{name}[].")


def _kind(kind: DataType) -> str:
    if isinstance(kind, ArrayType):
        return f"ARRAY<{_kind(kind.elementType)}>"
    return "STRUCT" if isinstance(kind, StructType) else kind.simpleString().upper()


if __name__ == "__main__":
    TARGET.write_text(tables_page(), encoding="utf-8")
    CONDITIONS.write_text(conditions_page(), encoding="utf-8")
    for name, text in catalog.FILES.items():
        (CATALOG / name).write_text(text(), encoding="utf-8")
    for path, page in ((FINDINGS_PAGE, findings_page), (SPLIT_RULES_PAGE, split_rules_page)):
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
    FINDINGS_TEXT.write_text(findings_text(), encoding="utf-8")
