"""Names of servers, WAL groups and files: HBase's own forms, what only looks like them, and garbage."""

from collections.abc import Sequence

from hypothesis import strategies as st

from pipelines.hbase.server_names import MAX_LONG, ServerName
from tests.models.oddities import (
    CONTROL_CHARACTER_NAMES,
    GOOD_SUFFIXES,
    NAME_SUFFIXES,
    ODD_NAMES,
    TIMESTAMPS,
    TRAP_SERVERS,
    encodings,
    groups_of,
)
from tests.strategies.garbage import edited

server_names = st.sampled_from(TRAP_SERVERS)


@st.composite
def group_names(draw: st.DrawFn, servers: st.SearchStrategy[ServerName] = server_names) -> str:
    """A WAL group, still URL-encoded."""
    return draw(st.sampled_from(groups_of(draw(st.sampled_from(encodings(draw(servers)))))))


@st.composite
def timestamp_texts(draw: st.DrawFn, anchor: int | None = None) -> str:
    """Digits of a timestamp: around `anchor`, with leading zeros, at and over the limits of 64 bits."""
    if anchor is None:
        value = draw(st.sampled_from(TIMESTAMPS))
    else:
        value = min(max(anchor + draw(st.sampled_from((-1, 0, 0, 1))), 0), MAX_LONG + 1)
    shape = draw(st.integers(0, 11))
    if shape == 0:
        return f"{value:020d}"
    if shape == 1:
        return f"00{value}"
    return str(draw(st.sampled_from((MAX_LONG + 1, 10**20)))) if shape == 2 and anchor is None else str(value)


def _as_file_name(text: str, *, control_characters: bool) -> str:
    """What HDFS could hold: one element of a path, 255 characters at most."""
    name = text.replace("/", "")
    if not control_characters:
        name = "".join(char for char in name if char.isprintable() or ord(char) > 0x9F)
    return name[:255] if name not in {"", ".", ".."} else "garbage"


@st.composite
def wal_file_names(
    draw: st.DrawFn,
    anchors: Sequence[tuple[str, int]] = (),
    servers: st.SearchStrategy[ServerName] = server_names,
    control_characters: bool = False,
) -> str:
    """A file name of oldWALs: mostly WALs of the anchors' groups, each trap and garbage now and then.

    Args:
        anchors: (group, timestamp) pairs to come close to.
        servers: whose groups to draw elsewhere.
        control_characters: names with line ends and other control characters too.
    """
    odd = ODD_NAMES + (CONTROL_CHARACTER_NAMES if control_characters else ())
    kind = draw(st.integers(0, 12))
    if kind == 11:
        return draw(st.sampled_from(odd))
    if kind == 12:
        whole = wal_file_names(anchors, servers) if draw(st.booleans()) else st.sampled_from(odd)
        return _as_file_name(draw(edited(whole)), control_characters=control_characters)
    if anchors and kind <= 8:
        group, near = draw(st.sampled_from(tuple(anchors)))
        digits = draw(timestamp_texts(near))
    else:
        group, digits = draw(group_names(servers)), draw(timestamp_texts())
    return f"{group}.{digits}{draw(st.sampled_from(GOOD_SUFFIXES if draw(st.integers(0, 7)) else NAME_SUFFIXES))}"
