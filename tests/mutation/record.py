"""The record of the changes tried, with the reason for each that no test fails with (tests/mutation/record.json)."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.mutation.targets import GROUPS

RECORD = Path(__file__).with_name("record.json")


@dataclass
class Module:
    """Of one module.

    Attributes:
        mutants: how many changes there are.
        digest: the digest of the changes; see `digest_of`.
        survivors: the changes with which no test fails, each with the reason why none has to.
    """

    mutants: int = 0
    digest: str = ""
    survivors: dict[str, str] = field(default_factory=dict)

    @property
    def killed(self) -> int:
        """With how many of the changes a test fails."""
        return self.mutants - len(self.survivors)


def digest_of(keys: Iterable[str]) -> str:
    """Returns a digest of the keys of a module's mutants: a line that is edited has other mutants, even if as many."""
    return hashlib.sha256("\n".join(sorted(keys)).encode()).hexdigest()[:16]


def read_record() -> dict[str, Module]:
    """By the name of the target."""
    document: Mapping[str, Mapping[str, Any]] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    return {name: Module(**one) for name, one in document.items()}


def write_record(record: Mapping[str, Module]) -> None:
    """In the order of the targets."""
    names = [target.name for group in GROUPS for target in group.targets]
    document = {name: vars(record[name]) for name in names if name in record}
    RECORD.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def section() -> str:
    """The record in Markdown, for the page on testing."""
    record = read_record()
    modules = {target.name: target.module for group in GROUPS for target in group.targets}
    tried = sum(one.mutants for one in record.values())
    killed = sum(one.killed for one in record.values())
    lines = [
        f"{tried:,} changes of {len(record)} modules were tried, one at a time. A test fails with {killed:,} of them.",
        f"The other {tried - killed:,} stand below, each with the reason why no test has to.",
        "",
        "| module | changes | a test fails | explained |",
        "|---|--:|--:|--:|",
    ]
    lines += [
        f"| `{modules[name]}` | {one.mutants:,} | {one.killed:,} | {len(one.survivors):,} |"
        for name, one in record.items()
    ]
    for name, one in record.items():
        if one.survivors:
            lines += ["", f"### `{modules[name]}`", ""]
            lines += [f"- `` {key} ``: {why}" for key, why in one.survivors.items()]
    return "\n".join(lines) + "\n"
