"""Which tests of the suite run in one process, when `./tests/run` starts two."""

from functools import cached_property

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

SHARED = (
    ("tests/integration", "tests/judge", "tests/e2e/test_yarn.py"),
    ("tests/e2e/airflow",),
    ("tests/e2e",),
)
"""What shares something that takes long to start, the longest first."""


def order(place: str) -> int:
    """When a test of this file begins: what takes longest comes first."""
    return next((number for number, group in enumerate(SHARED) if place.startswith(group)), len(SHARED))


def _group(nodeid: str) -> str:
    place = nodeid.partition("::")[0]
    group = order(place)
    return SHARED[group][0] if group < len(SHARED) else place


class SharedTogether(LoadScopeScheduling):
    """Hands out the groups of `SHARED`, and of the other tests one file after another.

    The long tests of a group or file are collected after all ordinary ones, and are a scope of their own. They run in
    the process of the group's first scope, which has the cluster.
    """

    @cached_property
    def _scopes(self) -> dict[str, str]:
        """The scope of each test: its group, and the how manieth stretch of the group it is in."""
        scopes: dict[str, str] = {}
        stretches: dict[str, int] = {}
        last = ""
        for nodeid in next(iter(self.registered_collections.values())):
            group = _group(nodeid)
            if group != last:
                stretches[group] = stretches.get(group, 0) + 1
            scopes[nodeid] = f"{stretches[group]} {group}"
            last = group
        return scopes

    def _split_scope(self, nodeid: str) -> str:
        return self._scopes[nodeid]

    def _assign_work_unit(self, node: WorkerController) -> None:
        """The first scope whose group no other process has."""
        elsewhere = {
            scope.partition(" ")[2] for other, work in self.assigned_work.items() if other is not node for scope in work
        }
        scope = next((scope for scope in self.workqueue if scope.partition(" ")[2] not in elsewhere), None)
        if scope is None:
            node.shutdown()
        else:
            self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)
