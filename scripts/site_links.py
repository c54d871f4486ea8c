"""Converts links and lists where the site differs from GitHub. Standard library only; `scripts/site_hooks.py` calls it.

The pages are written for GitHub: a link is relative to the file that has it, and may leave `docs/`. The site has only
the files below `docs/`, so a file outside to which a page links becomes a file of the site, below `project/`.
"""

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path

DOCS, OUTSIDE = "docs/", "project/"
_PARTS = re.compile(r"^```.*?^```$|`[^`\n]*`|\]\(([^)\s]+)\)", re.MULTILINE | re.DOTALL)
"""Matches code, which is left unchanged, or the target of a link."""
_FENCE, _LIST, _TEXT = "```", re.compile(r"- |1\. "), re.compile(r"[^\s|<#-]")


def anchor(heading: str, separator: str = "-") -> str:
    """Returns the anchor that GitHub gives to a heading; `separator` replaces a space."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").strip().lower()).replace(" ", separator)


def targets(text: str) -> list[str]:
    """Returns the targets of all links in a page that are relative paths, without their anchors."""
    found = (match[1] for match in _PARTS.finditer(text) if match[1])
    return [target.partition("#")[0] for target in found if _is_path(target)]


def outside_files(project: Path, pages: Iterable[str]) -> list[str]:
    """Returns the files outside `docs/` to which the pages link, directly or through other such pages.

    Args:
        project: the root of the project.
        pages: the paths of the pages, relative to the project.

    Returns:
        The paths of existing files, relative to the project.
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
    """Returns the text of a page in the form that the site needs.

    Args:
        page: the path of the page, relative to the project.
        text: the text of the page.
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
    """Returns the text with an empty line before each list; Python-Markdown, unlike GitHub, needs it to see a list."""
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
    """Returns the place of a project's file in the site's sources."""
    return path.removeprefix(DOCS) if path.startswith(DOCS) else f"{OUTSIDE}{path}"


def _is_path(target: str) -> bool:
    return "://" not in target and not target.startswith(("#", "mailto:"))


def _resolved(page: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
