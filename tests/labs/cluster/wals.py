"""Calls HBase's own writer, replication's own reader and its own filters for single WAL files."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.labs.cluster.hbase import HBaseCluster
from tests.labs.cluster.jvm import JavaObject, Jvm

_PRINTED = re.compile(r"^[\[,]?(\{.*\})edit heap size: \d+\nposition: (\d+)$", re.MULTILINE)


class HBaseCell(NamedTuple):
    """One cell; of its value only the length and CRC-32."""

    row: bytes
    family: bytes
    qualifier: bytes
    timestamp: int
    type: int
    value_length: int
    value_crc: int


class HBaseEntry(NamedTuple):
    """One entry as replication's reader returns it."""

    end: int
    region: str
    table: str
    sequence_id: int
    write_time: int
    scopes: dict[str, int]
    cell_count: int
    clusters: int
    cells: tuple[HBaseCell, ...]
    is_sent: bool


class PrintedCell(NamedTuple):
    """One cell as WALPrettyPrinter shows it: bytes that are not printable ASCII as `\\xNN`."""

    row: str
    family: str
    qualifier: str
    timestamp: int
    type: str
    value_length: int
    value: str


class PrintedEntry(NamedTuple):
    """One entry as WALPrettyPrinter shows it; it omits entries without a cell."""

    end: int
    region: str
    table: str
    sequence_id: int
    cells: tuple[PrintedCell, ...]


class HBaseWals:
    """Asks the classes of an HBase JVM.

    Args:
        jvm: from `start_hbase_jvm`.
        cluster: whose peers are asked; without one, files alone can be written and read.
    """

    def __init__(self, jvm: Jvm, cluster: HBaseCluster | None = None) -> None:
        view = jvm.view.walsafe.cluster
        alone = {"hbase.rootdir": f"file:{jvm.work}", "hbase.unsafe.stream.capability.enforce": "false"}
        self._java: JavaObject = view.Wals(cluster.harness if cluster else view.Harness(alone, None))

    def write(self, path: str, properties: Mapping[str, str], entries: int, seed: int) -> None:
        """Writes random entries of every kind."""
        self._java.write(path, dict(properties), entries, seed)

    def read(self, path: str, *, start: int = -1, peer: str = "", cells: bool = False) -> tuple[list[HBaseEntry], str]:
        """Returns all entries from an offset on, and the state in which the file ends.

        Args:
            path: the full URI of the file.
            start: the offset; -1 = the first entry.
            peer: the peer whose filters determine which entries are sent.
            cells: whether to read the cells too.
        """
        *lines, end = self._java.read(path, start, peer, cells)
        return [_entry(line) for line in lines], str(end).partition("\t")[2]

    def printed(self, path: str) -> list[PrintedEntry]:
        """Returns all entries with a cell, as `WALPrettyPrinter -j -p` prints them."""
        text = str(self._java.prettyPrinted(path))
        return [_printed(json.loads(entry), int(end)) for entry, end in _PRINTED.findall(text)]

    def truncations(self, path: str, scratch: str) -> list[tuple[int, str]]:
        """Cuts the file at every possible length; returns the number of entries and the ending for each."""
        pairs = (str(line).split("\t") for line in self._java.truncations(path, scratch))
        return [(int(entries), state) for entries, state in pairs]

    def set_rule(
        self, peer: str, *, replicate_all: bool, namespaces: Sequence[str], tables: Mapping[str, Sequence[str]]
    ) -> None:
        """Sets the tables that a peer replicates or excludes."""
        families = {table: list(names) for table, names in tables.items()}
        self._java.setRule(peer, replicate_all, list(namespaces), families)


def _printed(entry: Mapping[str, Any], end: int) -> PrintedEntry:
    """Parses an entry of the tool's JSON, in which longs are texts."""
    cells = tuple(
        PrintedCell(
            action["row"],
            action["family"],
            action["qualifier"],
            int(action["timestamp"]),
            action["type"],
            action["vlen"],
            action["value"],
        )
        for action in entry["actions"]
    )
    return PrintedEntry(end, entry["region"], entry["table"]["nameAsString"], int(entry["sequence"]), cells)


def _entry(line: str) -> HBaseEntry:
    _, end, region, table, sequence_id, write_time, scopes, count, clusters, cells, sent = line.split("\t")
    return HBaseEntry(
        int(end),
        region,
        table,
        int(sequence_id),
        int(write_time),
        {family: int(scope) for family, scope in (pair.split("=") for pair in scopes.split(",") if pair)},
        int(count),
        int(clusters),
        tuple(_cell(cell) for cell in cells.split(";") if cell),
        sent == "true",
    )


def _cell(text: str) -> HBaseCell:
    row, family, qualifier, timestamp, kind, length, value_crc = text.split(",")
    names = (base64.b64decode(name) for name in (row, family, qualifier))
    return HBaseCell(*names, int(timestamp), int(kind), int(length), int(value_crc))
