"""Lists inputs that are hard for HBase's parsers and comparisons: names, timestamps, offsets and rows, valid or not.

This is the only list of these for the benchmarks and the property tests; every new trap is added here.
"""

from jobs.demo.cluster.parts import POISON_NAME
from pipelines.hbase.replication_queues import QUEUE_FAMILY, Cell
from pipelines.hbase.server_names import MAX_LONG, ServerName
from pipelines.hbase.wal_names import encode_prefix

VALID_FORMS = ("{group}.{ts}.copy", "{group}.0{ts}", "{group}.{short}", "{group}.{ts}.syncrep", "{group}.{ts}.7")
"""Valid names outside the form <group>.<13 digits>; `short` is a timestamp in seconds."""
INVALID_FORMS = ("{group}.{ts}.a.b", "{group}.{ts}.", "{group}.{ts}.tmp~", "{group}")
"""What `AbstractFSWALProvider.validateWALFilename` refuses, so that HBase deletes it."""
TIMESTAMP = 1_664_096_778_778
TRAP_SERVERS = tuple(
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
    POISON_NAME,
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
TRAP_PEERS = ("1", "2", "10", "peer_0", "1x")
"""Ids of which one is the beginning of another."""
OFFSETS = (-1, 0, 443, -7, MAX_LONG)
MALFORMED_CELLS = (
    Cell(b"1", QUEUE_FAMILY, b"g", b"g.1:0"),
    Cell(b"1-", QUEUE_FAMILY, b"g", b"g.1:0"),
    Cell(b"1-h1", QUEUE_FAMILY, b"g", b"g.1:0"),
    Cell(b"1-h1,16020,5/", QUEUE_FAMILY, b"g", b"g.1:0"),
    Cell(b"1-h1,16020,5-h2,16020,6", QUEUE_FAMILY, b"g", b"g.1:0"),
    Cell(b"1-h1,16020,5\th2,16020,6", QUEUE_FAMILY, b"g", b"g.1:0"),
    Cell(b"1-h1,16020,5/h2,16020,6/h3,16020,7", QUEUE_FAMILY, b"g", b"g.1:0"),
    Cell(b"1-h1,16020,5", QUEUE_FAMILY, b"g", b"g.1"),
    Cell(b"1-h1,16020,5", QUEUE_FAMILY, b"g", b""),
    Cell(b"1-h1,16020,5", QUEUE_FAMILY, b"g", b"g.1:"),
    Cell(b"1-h1,16020,5", QUEUE_FAMILY, b"g", b"g.1:1x"),
    Cell(b"1-h1,16020,5", QUEUE_FAMILY, b"g", b"g.99999999999999999999:0"),
    Cell(b"1-h1,16020,5", QUEUE_FAMILY, b"g", b"g.1:9223372036854775808"),
    Cell(b"1-\xff,16020,5", QUEUE_FAMILY, b"g", b"g.1:0"),
)
OTHER_FAMILIES = (
    Cell(b"1", b"sid", b"d41d8cd98f00b204e9800998ecf8427e", bytes.fromhex("0000000000000384")),
    Cell(b"1", b"hfileref", b"testHFile1", b""),
)


def encodings(server: ServerName) -> tuple[str, ...]:
    """Returns the forms of a server at the start of a file name: HBase's own first, then those that decode to it."""
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
    """Returns the WAL groups of one server: those of every provider, and names that only look like a group."""
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
