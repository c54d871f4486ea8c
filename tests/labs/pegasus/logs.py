"""Makes private logs of a small table that was split from 4 to 8 without faults; tests damage them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipelines.pegasus.domain.keys import encode_key, key_hash
from tests.labs.pegasus import private_logs as made
from tests.labs.pegasus.private_logs import Entry, LogWriter

APP, PARENT, CHILD, OLD = 2, 1, 5, 4
SYNC, COMMITTED, CHILD_BALLOT = 6, 8, 4
NODES = ("n1", "n2")


def keys_of(partition: int, count: int, number: int) -> list[bytes]:
    """Returns raw keys that a partition owns."""
    found: list[bytes] = []
    tried = 0
    while len(found) < number:
        key = encode_key(b"user%d" % tried, b"s")
        tried += 1
        if key_hash(key) % count == partition:
            found.append(key)
    return found


PARENTS = keys_of(PARENT, 8, 8)
CHILDREN = keys_of(CHILD, 8, 8)
BEFORE = [
    Entry(1, (made.put(PARENTS[0], b"a"),)),
    Entry(2, (made.put(CHILDREN[0], b"b"), made.put(PARENTS[1], b"c"))),
    Entry(3),
    Entry(4, (made.remove(CHILDREN[0]),)),
    Entry(5, (made.put(CHILDREN[1], b"d"),)),
    Entry(6),
    Entry(7, (made.put(PARENTS[2], b"e"),)),
    Entry(8, (made.put(CHILDREN[2], b"f"),)),
]
"""What the parent did before its child was registered; 6 is the sync point."""
PARENT_AFTER = [Entry(9, (made.put(PARENTS[3], b"g"),)), Entry(10, (made.put(PARENTS[4], b"h"),), ballot=4)]
CHILD_AFTER = [Entry(9, ballot=CHILD_BALLOT), Entry(10, (made.put(CHILDREN[3], b"i"),), ballot=CHILD_BALLOT)]


def as_copy(entry: Entry) -> Entry:
    return replace(entry, gpid=None)


@dataclass
class Logs:
    """The entries of each replica, by node and partition, in files."""

    entries: dict[tuple[str, int], list[list[Entry]]]

    @classmethod
    def good(cls, nodes: Sequence[str] = NODES) -> "Logs":
        entries: dict[tuple[str, int], list[list[Entry]]] = {}
        for node in nodes:
            entries[node, PARENT] = [BEFORE[:4], [*BEFORE[4:], *PARENT_AFTER], []]
            # decrees 1 and 2 came with the parent's checkpoint
            entries[node, CHILD] = [[as_copy(one) for one in BEFORE[2:]], CHILD_AFTER]
        return cls(entries)

    def edit(self, node: str, partition: int, change: Callable[[Entry], Sequence[Entry]]) -> "Logs":
        """Replaces each entry of a replica by the entries that `change` makes of it, and returns the logs."""
        files = self.entries[node, partition]
        self.entries[node, partition] = [[new for entry in file for new in change(entry)] for file in files]
        return self

    def write(self, root: Path) -> Path:
        for (node, partition), files in self.entries.items():
            folder = root / node / "replica" / "reps" / f"{APP}.{partition}.pegasus" / "plog"
            folder.mkdir(parents=True, exist_ok=True)
            start, before = 0, 0
            for index, entries in enumerate(files, 1):
                writer = LogWriter(APP, partition, start, before)
                for entry in entries:
                    writer.add(entry)
                (folder / f"log.{index}.{start}").write_bytes(writer.data)
                start, before = writer.end, max([before, *(entry.decree for entry in entries)])
        return root


def replicas(nodes: Sequence[str]) -> list[dict[str, object]]:
    return [
        {"node": f"{node}/replica/reps", "pidx": partition, "last_durable_decree": 9}
        for node in nodes
        for partition in (PARENT, CHILD)
    ]


def facts(root: Path, change: Mapping[str, Any] | None = None) -> Path:
    """Writes the file of facts and returns its path."""
    document = {
        "format": 1,
        "cluster": "onebox",
        "app_id": APP,
        "old_count": OLD,
        "groups": [
            {"parent": PARENT, "child_ballot": CHILD_BALLOT, "sync_point": SYNC, "committed": COMMITTED},
        ],
        "replicas": replicas(NODES),
        "duplicating": False,
        **(change or {}),
    }
    target = root / "facts.json"
    target.write_text(json.dumps(document))
    return target
