"""A capture of a Pegasus cluster: the samples of docs/split-state.md, by file."""

import re

from tests.labs.places import DOCS

PAGE = (DOCS / "split-state.md").read_text(encoding="utf-8")
NAMES = re.search(r"^(`captured\.json`.*):$", PAGE, re.MULTILINE)
assert NAMES is not None
FILES: dict[str, str] = dict(
    zip(
        re.findall(r"`([^`]+)`", NAMES[1]),
        re.findall(r"^```(?:json|text)\n(.*?)^```$", PAGE[NAMES.end() :], re.MULTILINE | re.DOTALL),
        strict=True,
    )
)
