"""What the site needs otherwise than GitHub: links and lists. Standard library only; `scripts/site_hooks.py` calls it.

The pages are written for GitHub: a link is relative to the file that has it, and may leave `docs/`. The site has only
what lies below `docs/`, so a file outside of it that a page links to becomes a file of the site, below `project/`.
"""

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path

DOCS, OUTSIDE = "docs/", "project/"
_PARTS = re.compile(r"^```.*?^```$|`[^`\n]*`|\]\(([^)\s]+)\)", re.MULTILINE | re.DOTALL)
"""Code, which is left alone, or the target of a link."""
_FENCE, _LIST, _TEXT = "```", re.compile(r"- |1\. "), re.compile(r"[^\s|<#-]")


def anchor(heading: str, separator: str = "-") -> str:
    """The anchor that GitHub gives to a heading; `separator` stands for a space."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").strip().lower()).replace(" ", separator)


def targets(text: str) -> list[str]:
    """The targets of all links in a page that are relative paths, without their anchors."""
    found = (match[1] for match in _PARTS.finditer(text) if match[1])
    return [target.partition("#")[0] for target in found if _is_path(target)]


def outside_files(project: Path, pages: Iterable[str]) -> list[str]:
    """The files outside of `docs/` that the pages link to, and the pages among those, and so on.

    Args:
        project: the root of the project.
        pages: relative to it.

    Returns:
        Paths relative to the project; of files that exist.
    """
    found: set[str] = set()
    waiting = list(pages)
    while waiting:
        page = waiting.pop()
        for target in targets((project / page).read_text(encoding="utf-8")):
            there = _resolved(page, target)
            if there not in found and not there.startswith(DOCS) and (project / there).is_file():
                found.add(there)
                waiting += [there] if there.endswith(".md") else []
    return sorted(found)


def for_the_site(page: str, text: str) -> str:
    """The text of a page as the site needs it.

    Args:
        page: relative to the project.
        text: what stands in it.
    """

    def changed(match: re.Match[str]) -> str:
        target = match[1]
        if not target or not _is_path(target):
            return match[0]
        path, mark, fragment = target.partition("#")
        there = site_path(_resolved(page, path))
        return f"]({posixpath.relpath(there, posixpath.dirname(site_path(page)) or '.')}{mark}{fragment})"

    return lists_apart(_PARTS.sub(changed, text))


def lists_apart(text: str) -> str:
    """The text with an empty line before each list: without it Python-Markdown, unlike GitHub, sees no list."""
    lines: list[str] = []
    fenced, in_list = False, False
    for line in text.split("\n"):
        if not fenced and _LIST.match(line) and not in_list and lines and _TEXT.match(lines[-1]):
            lines.append("")
        fenced ^= line.startswith(_FENCE)
        in_list = bool(line) and not fenced and (in_list or bool(_LIST.match(line)))
        lines.append(line)
    return "\n".join(lines)


def site_path(path: str) -> str:
    """Where a file of the project stands in the site's sources."""
    return path.removeprefix(DOCS) if path.startswith(DOCS) else f"{OUTSIDE}{path}"


def _is_path(target: str) -> bool:
    return "://" not in target and not target.startswith(("#", "mailto:"))


def _resolved(page: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
