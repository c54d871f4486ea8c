"""Parses queue ids of HBase 1.x and 2.x (HBase `ReplicationQueueInfo`).

`tests/golden/hbase/names.tsv`, section "zk queue info", records the answers of that class.
"""

import re
from dataclasses import dataclass

from pipelines.common.errors import MalformedError
from pipelines.hbase.server_names import ServerName

_FULL_SERVER_NAME = re.compile(r"[^,]+,[0-9]+,[0-9]+")


@dataclass(frozen=True, slots=True, order=True)
class ZkQueueId:
    """`<peer>`, or `<peer>-<server>-<server>…` for a claimed queue.

    Attributes:
        text: the znode's name, verbatim.
        peer_id: the part before the first `-`.
        recovered: whether some server has claimed the queue at least once.
        dead_servers: the former owners, the first one first; names that HBase cannot parse are left out, as HBase does.
    """

    text: str
    peer_id: str
    recovered: bool
    dead_servers: tuple[ServerName, ...]


def parse_zk_queue_id(text: str) -> ZkQueueId:
    """Returns the parts of a queue's name; like HBase's parser it never fails."""
    peer_id, dash, servers = text.partition("-")
    return ZkQueueId(text, peer_id, bool(dash), tuple(_dead_servers(servers)))


def _dead_servers(text: str) -> list[ServerName]:
    """Splits the names at each `-` that follows a second comma, because host names contain hyphens too."""
    found: list[ServerName] = []
    commas = start = 0
    for at, char in enumerate(text):
        if char == ",":
            commas += 1
        elif char == "-" and commas >= 2:
            if at > start:
                found += _server(text[start:at])
                start = at + 1
            commas = 0
    if start < len(text) - 1:
        found += _server(text[start:])
    return found


def _server(text: str) -> list[ServerName]:
    if _FULL_SERVER_NAME.fullmatch(text) is None:
        return []
    try:
        return [ServerName.parse(text)]
    except MalformedError:
        return []
