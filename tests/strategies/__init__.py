"""Hypothesis strategies: small clusters full of the traps of HBase's names, rows, offsets and times.

`cluster_cases()` draws what no HBase need ever have written: rows, names, memberships and times that meet by chance;
files are biased to hit the groups of the queue rows, one millisecond before, at and after an offset's WAL, and the
edges of every time to live. `generated_cases()` draws what HBase can write: lives and histories of
`jobs.demo.cluster`. `any_cases()` draws both. The traps themselves stand in `tests.models.oddities`; `garbage`
breaks whatever is well-formed.
"""

from tests.strategies.clusters import ClusterCase, cluster_cases, view_of
from tests.strategies.generated import any_cases, generated_cases, plans

__all__ = ["ClusterCase", "any_cases", "cluster_cases", "generated_cases", "plans", "view_of"]
