"""Names of servers, WAL groups and files: HBase's own forms, what only looks like them, and garbage."""

from collections.abc import Sequence

from hypothesis import strategies as st

from pipelines.domain.server_names import MAX_LONG, ServerName
from pipelines.domain.wal_names import encode_prefix
from tests.strategies.garbage import edited

TIMESTAMP = 1_664_096_778_778
SERVERS = tuple(
    ServerName.parse(text)
    for text in (
        "h1.example.org,16020,1664092120094",
        "h1.example.org,16020,16640921200941",  # a startcode that begins with another one
        "h1.example.org,1602,1664092120094",
        "h1.example.org,16020,1664092999999",  # the same address, a later life
        "ip-10-0-0-1.ec2.internal,16020,5",
        "2001:db8::1,16020,5",
        "rep,16020,166",
        "a b,1,2",  # a host that URL-encodes to "a+b"
        "h1,0,0",
    )
)
TIMESTAMPS = (0, 1, 5, 999_999_999_999, TIMESTAMP - 1, TIMESTAMP, TIMESTAMP + 1, 10_000_000_000_000, MAX_LONG)
GOOD_SUFFIXES = ("", "", ".syncrep", ".copy")
NAME_SUFFIXES = (".meta", ".1", ".1664096778778", ".syncrep.ren", ".a.b", ".", " ")
ODD_NAMES = (
    # valid names in which HBase finds no server, or which it cannot parse
    "wal.1234567890123",
    "10.20.20.171%3A60020.1277499063250",
    "1.1.1.1,60020.1234",
    "hbase:meta.12",
    "h1%ZZ.123",
    "h1%2C16020%2C166%.1664096778778",
    "h1%2C16020%2C166%2.1664096778778",
    "h1%2C99999%2C5.1664096778778",
    "h1%2C16020%2C99999999999999999999.1664096778778",
    "h%C3%A91%2C16020%2C5.1664096778778",
    "%2C16020%2C5.1664096778778",
    "h1%2C16020%2C.1664096778778",
    "+%2C1%2C2.3",
    "h1%00%2C16020%2C5.1664096778778",
    "%FF%2C16020%2C5.1664096778778",
    # not WALs: HBase deletes these, or has another cleaner for them
    "whatever",
    "0000000000000016310",
    ".123",
    "x.\u0661\u0662",
    "x\u2028.123",
    "\U0001f600.12",
    "\ufb00.12",
    "h1%2C16020%2C166. 1664096778778",
    "h1%2C16020%2C166.-5",
    "h1%2C16020%2C166.+1664096778778",
    "h1%2C16020%2C166.1664096778778$masterlocalwal$",
    "h1%2C16000%2C1664092120094.1664096778778.$masterlocalwal$",
    "$masterlocalwal$",
    "pv2-00000000000000000001.log",
    "h1-pv2-00000000000000000001.log",
    "pv2-00000000000000000001xlog",
    "pv2-1.log",
    "pv2-00000000000000000001.log.5",
    # ends like a pv2 or master-local file, yet is a WAL
    "h1%2C0%2C0.pv2-00000000000000000001.1664096778778",
    "a%2Bb%2C1%2C2.3",
    "hbase.meta.1.meta",
    "wal.99999999999999999999.meta",
)
CONTROL_CHARACTER_NAMES = ("x\n.123", "x.123\n", "x\r.123", "x\x85.123", "x\t.123", "x\x00.123", "x\x7f.123")


def encodings(server: ServerName) -> tuple[str, ...]:
    """How a server may stand at the start of a file name: HBase's own form first, then what decodes to the same."""
    standard = encode_prefix(str(server))
    host, port, startcode = encode_prefix(server.host), server.port, server.startcode
    return (
        standard,
        standard,
        standard,
        standard.upper() if "%" not in host else standard,
        f"{host.upper() if '%' not in host else host}%2C{port}%2C{startcode}",
        standard.replace("%2C", "%2c"),
        standard.replace("%2C", ","),
        f"{host}%2C0{port}%2C{startcode}",
        f"{host}%2C{port}%2C00{startcode}",
        f"%{ord(server.host[0]):02X}{encode_prefix(server.host[1:])}%2C{port}%2C{startcode}",
    )


def groups_of(encoded: str) -> tuple[str, ...]:
    """The WAL groups of one server: every provider, and what only looks like one."""
    return (
        encoded,
        encoded,
        encoded,
        f"{encoded}.{encoded}.regiongroup-0",
        f"{encoded}.{encoded}.regiongroup-1",
        f"{encoded}.{encoded}.default",
        f"{encoded}.{encoded}.rep",  # a user namespace called rep: tracked
        f"{encoded}.rep",
        f"{encoded}.{encoded}.rep.regiongroup-0",
        f"{encoded}.{encoded}.rep.default",
        f"{encoded}.{encoded.upper()}.rep.regiongroup-0",
        f"{encoded}.REP",
        f"{encoded}.x.rep",
        f"{encoded}.meta",
        f"{encoded}.d41d8cd98f00b204e9800998ecf8427e",
        f"{encoded}-1664096770000-1",
        f"{encoded}-1664096770001-1",
        f"{encoded}.default",
        f"{encoded}.null.default",
        f"{encoded}.{TIMESTAMP}",  # the timestamp is the extra suffix of `<name>.<ts>.1`
        f"{encoded}1",  # a digit more: another startcode
        f"{encoded}\u00e9\U0001f600",
    )


server_names = st.sampled_from(SERVERS)


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
