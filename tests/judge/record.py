"""What the last long run was: kept in record.json, and shown in docs/judge.md."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.judge.states import one_line_each

RECORD = Path(__file__).with_name("record.json")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "judge.md"
BEGIN, END = "<!-- generated from tests/judge/record.json -->\n", "<!-- end -->\n"


@dataclass
class Record:
    """Counts of one long run.

    Attributes:
        finished: UTC day.
        seeds: of hypothesis, first and last; a round for each.
        seconds: of asking and comparing, without the cluster's start.
        kinds: files by kind (`tests.judge.corpus`).
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

    def write(self) -> None:
        """Keep it, and show it."""
        document = asdict(self)
        document["kinds"] = dict(sorted(self.kinds.items()))
        RECORD.write_text(one_line_each(document), encoding="utf-8")
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        _, _, after = rest.partition(END)
        PAGE.write_text(before + block(json.loads(RECORD.read_text(encoding="utf-8"))) + after, encoding="utf-8")


def block(record: Mapping[str, Any]) -> str:
    """The generated part of docs/judge.md."""
    an_hour = record["states"] * 3600 // max(record["seconds"], 1)
    files_an_hour = record["files"] * 3600 // max(record["seconds"], 1)
    rows = "".join(f"| {kind} | {files:,} |\n" for kind, files in record["kinds"].items())
    return (
        f"{BEGIN}"
        f"{record['finished']}, HBase {record['hbase']}: {record['states']:,} states with {record['files']:,} files in "
        f"{record['seconds']:,} s, {an_hour:,} states and {files_an_hour:,} files an hour; seeds "
        f"{record['seeds'][0]} to {record['seeds'][1]}, {record['states_per_round']:,} states each; "
        f"**{record['mismatches']} mismatches**.\n\n"
        f"| walsafe, HBase, transcription where it differs | files |\n|---|---:|\n{rows}{END}"
    )
