"""Data Docs: the suite and the validation result of Great Expectations on one self-contained page.

The library's own pages load style sheets and scripts from other hosts, so this page shows the same JSON without them.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.lake.run_summary import RunSummary
from pipelines.reconcile.report_templates import page


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
