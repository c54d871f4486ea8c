"""Which tests of the suite run in one process, when `./tests/run` starts several."""

from xdist.scheduler import LoadScopeScheduling

SHARED = (
    ("tests/e2e/test_yarn", "tests/integration", "tests/judge"),
    ("tests/e2e/airflow",),
    ("tests/e2e",),
    (
        "tests/unit/models/test_split_model.py",
        "tests/unit/models/test_split_emission.py",
        "tests/spark/test_split_audits.py",
        "tests/unit/docs/test_split_pages.py",
    ),
    ("tests/spark/nights",),
)
"""What shares something that takes long, like a cluster or a search: the longest first, each in the order it runs."""
FIRST = "tests/spark/test_demo.py"
"""The demo keeps Java's loaded classes, from which every later Spark starts in half the CPU time."""
_OTHERS = len(SHARED)


def order(place: str) -> tuple[int, int]:
    """Returns when a test of this file begins: the number of its group, and its place in the group."""
    if place == FIRST:
        return (-1, 0)
    for group, places in enumerate(SHARED):
        for number, start in enumerate(places):
            if place.startswith(start):
                return (group, number)
    return (_OTHERS, 0)


class SharedTogether(LoadScopeScheduling):
    """Hands out the groups of `SHARED`, and of the other tests one file after another."""

    def _split_scope(self, nodeid: str) -> str:
        place = nodeid.partition("::")[0]
        group, _ = order(place)
        return SHARED[group][0] if 0 <= group < _OTHERS else place
