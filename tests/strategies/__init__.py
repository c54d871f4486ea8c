"""Hypothesis strategies: small clusters full of the traps of HBase's names, rows, offsets and times.

`cluster_cases()` draws one consistent `ClusterCase`. Files are biased to hit the groups of the queue rows, one
millisecond before, at and after an offset's WAL, and the edges of every time to live; the pools of servers, peers and
groups are small, so that rows, files and memberships meet. `garbage` breaks whatever is well-formed.
"""

from tests.strategies.clusters import ClusterCase, cluster_cases, view_of
from tests.strategies.queues import MALFORMED_CELLS

__all__ = ["MALFORMED_CELLS", "ClusterCase", "cluster_cases", "view_of"]
