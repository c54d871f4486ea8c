"""Which tests of the suite run in one process, when `./tests/run` starts several."""

from xdist.scheduler import LoadScopeScheduling

SHARED = (
    ("tests/integration", "tests/judge"),
    (
        "tests/integration/test_wal_store.py",
        "tests/integration/test_split_backup_hdfs.py",
        "tests/integration/test_real_cluster_faults.py",
        "tests/integration/test_report_hdfs.py",
        "tests/integration/test_executor_streams.py",
        "tests/e2e/test_yarn",
    ),
    ("tests/e2e/airflow",),
    ("tests/e2e",),
    ("tests/integration/test_export_zookeeper.py",),
    ("tests/integration/test_hbase_1_queues.py",),
    (
        "tests/unit/models/test_split_model.py",
        "tests/unit/models/test_split_emission.py",
        "tests/spark/test_split_audits.py",
        "tests/unit/docs/test_split_pages.py",
    ),
    ("tests/spark/nights",),
)
"""What shares something that takes long: the HBase clusters, an HDFS alone, an Airflow, a search.

The longest comes first, and the places of each in the order in which they run.
"""
FIRST = "tests/spark/test_demo.py"
"""The demo keeps Java's loaded classes, from which every later Spark starts in half the CPU time."""
_OTHERS = len(SHARED)
_PLACES = {place: (group, number) for group, places in enumerate(SHARED) for number, place in enumerate(places)}


def order(file: str) -> tuple[int, int]:
    """Returns when a test of this file begins: the number of its group, and its place in the group."""
    if file == FIRST:
        return (-1, 0)
    place = max((place for place in _PLACES if file.startswith(place)), key=len, default="")
    return _PLACES.get(place, (_OTHERS, 0))


class SharedTogether(LoadScopeScheduling):
    """Hands out the groups of `SHARED`, and of the other tests one file after another."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        group, _ = order(file)
        return SHARED[group][0] if 0 <= group < _OTHERS else file
