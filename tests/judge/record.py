"""What the last long run was: kept in record.json, and shown in docs/judge.md."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.judge.states import one_line_each
from tests.labs.places import DOCS

PAGE = DOCS / "judge.md"
END = "<!-- end -->\n"


@dataclass(frozen=True)
class Place:
    """Where a record is kept, and where docs/judge.md shows it."""

    name: str

    @property
    def path(self) -> Path:
        """Its file."""
        return Path(__file__).with_name(self.name)

    @property
    def begin(self) -> str:
        """The line before the generated part of the page."""
        return f"<!-- generated from tests/judge/{self.name} -->\n"

    def shown(self) -> str:
        """The generated part of the page as it is."""
        inside = PAGE.read_text(encoding="utf-8").partition(self.begin)[2].partition(END)[0]
        return f"{self.begin}{inside}{END}"


TABLE, ZOOKEEPER = Place("record.json"), Place("record_zookeeper.json")


@dataclass
class Record:
    """Counts of one long run.

    Attributes:
        finished: UTC day.
        seeds: of hypothesis, first and last; a round for each.
        seconds: of asking and comparing, without the cluster's start.
        kinds: files by kind (`tests.judge.storage`).
    """

    finished: str = ""
    hbase: str = ""
    seeds: tuple[int, int] = (0, 0)
    states_per_round: int = 0
    seconds: int = 0
    states: int = 0
    files: int = 0
    mismatches: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    def write(self, place: Place = TABLE) -> None:
        """Keep it, and show it."""
        document = asdict(self)
        document["kinds"] = dict(sorted(self.kinds.items()))
        place.path.write_text(one_line_each(document), encoding="utf-8")
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(place.begin)
        _, _, after = rest.partition(END)
        shown = block(json.loads(place.path.read_text(encoding="utf-8")), place)
        PAGE.write_text(before + shown + after, encoding="utf-8")


def block(record: Mapping[str, Any], place: Place = TABLE) -> str:
    """The generated part of docs/judge.md."""
    an_hour = record["states"] * 3600 // max(record["seconds"], 1)
    files_an_hour = record["files"] * 3600 // max(record["seconds"], 1)
    rows = "".join(f"| {kind} | {files:,} |\n" for kind, files in record["kinds"].items())
    return (
        f"{place.begin}"
        f"{record['finished']}, HBase {record['hbase']}: {record['states']:,} states with {record['files']:,} files in "
        f"{record['seconds']:,} s, {an_hour:,} states and {files_an_hour:,} files an hour; seeds "
        f"{record['seeds'][0]} to {record['seeds'][1]}, {record['states_per_round']:,} states each; "
        f"**{record['mismatches']} mismatches**.\n\n"
        f"| walsafe, HBase, transcription where it differs | files |\n|---|---:|\n{rows}{END}"
    )
