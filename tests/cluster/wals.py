"""HBase's own writer, replication's own reader and its own filters, for single WAL files."""

import base64
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.cluster.hbase import HBaseCluster
from tests.cluster.jvm import JavaObject, Jvm


class HBaseCell(NamedTuple):
    """One cell, its value by length and CRC-32."""

    row: bytes
    family: bytes
    qualifier: bytes
    timestamp: int
    type: int
    value_length: int
    value_crc: int


class HBaseEntry(NamedTuple):
    """One entry as replication's reader gives it."""

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
        """All entries from an offset on, and the state in which the file ends.

        Args:
            path: full URI.
            start: -1 = the first entry.
            peer: whose filters say which entries are sent.
            cells: read them too.
        """
        *lines, end = self._java.read(path, start, peer, cells)
        return [_entry(line) for line in lines], str(end).partition("\t")[2]

    def truncations(self, path: str, scratch: str) -> list[tuple[int, str]]:
        """Entries and end of every beginning of a file."""
        pairs = (str(line).split("\t") for line in self._java.truncations(path, scratch))
        return [(int(entries), state) for entries, state in pairs]

    def set_rule(
        self, peer: str, *, replicate_all: bool, namespaces: Sequence[str], tables: Mapping[str, Sequence[str]]
    ) -> None:
        """Gives a peer the tables that it replicates, or leaves out."""
        families = {table: list(names) for table, names in tables.items()}
        self._java.setRule(peer, replicate_all, list(namespaces), families)


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
