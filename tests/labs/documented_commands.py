"""The pages, and the commands that stand on them."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.labs.places import DOCS, PROJECT

PAGES = sorted([*PROJECT.glob("*.md"), *DOCS.rglob("*.md"), *(PROJECT / "benchmarks").glob("*.md")])
IDS = [str(page.relative_to(PROJECT)) for page in PAGES]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ABBREVIATED = re.compile(r"…|\bJOB\b|--set-up")


def text_of(page: Path) -> str:
    """Returns the text of a page."""
    return page.read_text(encoding="utf-8")


def blocks(page: Path, *languages: str) -> list[str]:
    """Returns the code blocks of a page that are in one of these languages."""
    return [block[2] for block in FENCE.finditer(text_of(page)) if block[1] in languages]


def commands() -> Iterator[tuple[str, str, bool]]:
    """Yields each `./spark-submit.sh …` or `walsafe …` in a code block or code span, lines joined, without `> FILE`.

    The last value says whether the page, down to the end of the block, sets `WALSAFE_CONFIG`.
    """
    for page, name in zip(PAGES, IDS, strict=True):
        text = text_of(page).replace("\\\n", " ")
        for block in FENCE.finditer(text):
            body = block[2]
            for rest in re.findall(r"^[^#\n]*\./spark-submit\.sh((?:(?! > )[^\n])*)", body, re.MULTILINE):
                yield name, rest, "export WALSAFE_CONFIG=" in text[: block.end()]
            for rest in re.findall(r"^walsafe( [^\n]*)", body, re.MULTILINE):
                yield name, rest, False
        for rest in re.findall(r"`\./spark-submit\.sh ([^`\n]+)`", FENCE.sub("", text)):
            yield name, rest, "export WALSAFE_CONFIG=" in text
