"""Rows of `hbase:replication`: as HBase writes them, between two passes of a scan, and broken ones."""

from collections.abc import Sequence

from hypothesis import strategies as st

from pipelines.hbase.server_names import ServerName
from tests.models.oddities import OFFSETS, TIMESTAMPS
from tests.strategies.names import group_names

REMOVED_PEER_IDS = ("9", "")
Rows = dict[str, dict[str, str]]


def _row_key(peer_id: str, owner: ServerName, source: ServerName | None) -> str:
    return f"{peer_id}-{owner}" + (f"/{source}" if source else "")


@st.composite
def queue_rows(
    draw: st.DrawFn, peer_ids: Sequence[str], servers: Sequence[ServerName]
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """One row key of `hbase:replication` with its (qualifier, value) pairs, parsable by HBase."""
    some_server = st.sampled_from(tuple(servers))
    owner = draw(some_server)
    source = draw(st.one_of(st.none(), some_server))
    wals_of = source or owner
    cells: dict[str, str] = {}
    for _ in range(draw(st.integers(1, 3))):
        shape = draw(st.integers(0, 11))
        if shape == 0:
            cells[str(wals_of)] = ":0"  # the placeholder: the raw server name
            continue
        theirs = shape == 1
        group = draw(group_names(some_server if theirs else st.just(wals_of)))
        digits = draw(st.sampled_from(TIMESTAMPS))
        suffix = draw(st.sampled_from(("", "", "", "", ".syncrep", ".copy")))
        wal = f"{group}.{digits}{suffix}" if shape > 3 else draw(st.sampled_from((f"{group}.{digits}", "", "x", "x.7")))
        cells[group] = f"{wal}:{draw(st.sampled_from(OFFSETS))}"
    return _row_key(draw(st.sampled_from(tuple(peer_ids))), owner, source), tuple(cells.items())


@st.composite
def both_passes(draw: st.DrawFn, peer_ids: Sequence[str], servers: Sequence[ServerName]) -> tuple[Rows, Rows]:
    """The rows of both passes: the second is the first after claims, progress, rows that came and went."""
    first: Rows = {}
    for key, cells in draw(st.lists(queue_rows(peer_ids, servers), min_size=2, max_size=8)):
        first.setdefault(key, {}).update(cells)
    second = {key: dict(cells) for key, cells in first.items()}
    if draw(st.integers(0, 3)) < 3:
        return first, second
    for key in sorted(first):
        change = draw(st.integers(0, 6))
        if change == 0:
            del second[key]
        elif change == 1:
            peer_id, _, rest = key.partition("-")
            owner, _, source = rest.partition("/")
            claimed = f"{peer_id}-{draw(st.sampled_from(tuple(servers)))}/{source or owner}"
            second.setdefault(claimed, {}).update(second.pop(key))
        elif change == 2:
            group = draw(st.sampled_from(sorted(second[key])))
            second[key][group] = f"{group}.{draw(st.sampled_from(TIMESTAMPS))}:{draw(st.sampled_from(OFFSETS))}"
        elif change == 3 and len(second[key]) > 1:
            del second[key][draw(st.sampled_from(sorted(second[key])))]
    for key, cells in draw(st.lists(queue_rows(peer_ids, servers), max_size=1)):
        second.setdefault(key, {}).update(cells)
    return first, second


def anchors_of(rows: Rows) -> tuple[tuple[str, int], ...]:
    found = []
    for cells in rows.values():
        for group, value in cells.items():
            digits = value.rpartition(":")[0].removeprefix(f"{group}.").partition(".")[0]
            if digits.isdigit():
                found.append((group, int(digits)))
    return tuple(found)
