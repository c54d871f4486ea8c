"""Which tests of the suite run in one process, when `./tests/run` starts several."""

from xdist.scheduler import LoadScopeScheduling

SHARED = (
    ("tests/integration", "tests/judge", "tests/e2e/test_yarn.py"),
    ("tests/e2e/airflow",),
    ("tests/e2e",),
    ("tests/spark/nights",),
)
"""What shares something that takes long to start, the longest first."""
FIRST = "tests/spark/test_demo.py"
"""The demo keeps Java's loaded classes, from which every later Spark starts in half the CPU time."""


def order(place: str) -> int:
    """When a test of this file begins: what takes longest comes first."""
    if place == FIRST:
        return -1
    return next((number for number, group in enumerate(SHARED) if place.startswith(group)), len(SHARED))


class SharedTogether(LoadScopeScheduling):
    """Hands out the groups of `SHARED`, and of the other tests one file after another."""

    def _split_scope(self, nodeid: str) -> str:
        place = nodeid.partition("::")[0]
        group = order(place)
        return SHARED[group][0] if 0 <= group < len(SHARED) else place
