"""Every recorded answer of HBase's own `ReplicationPeerManager.convert` (golden migrate-convert.tsv)."""

import pytest

from pipelines.common.errors import MalformedError
from pipelines.hbase.wal_names import wal_timestamp
from pipelines.queues.migration.plan import first_offsets
from tests.labs.places import TESTS

GOLDEN = TESTS / "golden" / "hbase" / "migrate-convert.tsv"
CASES = [line.split("\t=> ") for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


def entries(text: str) -> dict[str, str]:
    """Java's text of a map."""
    return dict(one.split("=", 1) for one in text.strip("{}").split(", ") if one)


def test_the_golden_file_is_whole() -> None:
    assert len(CASES) == 6


@pytest.mark.parametrize(("queue", "answer"), CASES)
def test_converter(queue: str, answer: str) -> None:
    wals = {wal: int(position) for wal, position in entries(queue).items()}
    if answer.startswith("THROWS"):
        with pytest.raises(MalformedError, match=answer.partition(": ")[2]):
            first_offsets(wals)
        return
    ours = {group: [str(offset) for offset in offsets] for group, offsets in first_offsets(wals).items()}
    hbase = entries(answer)
    assert ours.keys() == hbase.keys()
    for group, written in hbase.items():
        # of WALs with one timestamp HBase takes whichever its hash map has first
        assert written in ours[group]
        assert len({wal_timestamp(offset.rpartition(":")[0]) for offset in ours[group]}) == 1


def test_a_timestamp_is_read_only_where_it_is_compared() -> None:
    """Recorded of `AbstractFSWALProvider.getTimestamp`: NumberFormatException (golden names.tsv)."""
    alone = {"h%2C1%2C2.99999999999999999999": 4}
    assert [str(offset) for offset in first_offsets(alone)["h%2C1%2C2"]] == ["h%2C1%2C2.99999999999999999999:4"]
    with pytest.raises(MalformedError, match="does not fit 64 bits"):
        first_offsets({**alone, "h%2C1%2C2.5": 0})
