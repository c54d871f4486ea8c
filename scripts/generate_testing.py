"""Writes docs/testing.md: scripts/testing_head.md, with every promise of the pages and the tests that prove it.

A promise is a comment behind the sentence that makes it, `<!-- promise: some-id -->`; a test that proves it carries
`@pytest.mark.promise("some-id")`. Both are read as text: no test is imported.

Run: .venv/bin/python -m scripts.generate_testing
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scripts.site_links import anchor
from tests.mutation.record import section

PROJECT = Path(__file__).resolve().parent.parent
TARGET = PROJECT / "docs" / "testing.md"
HEAD = PROJECT / "scripts" / "testing_head.md"
TESTS = PROJECT / "tests"
CLUSTERS = TESTS / "labs" / "cluster" / "fixtures.py"
RECORD = TESTS / "suite" / "measured.json"
SIZES = ("long", "deep")
"""Markers of tests that an ordinary run leaves out; the page shows them."""
SOME_VARIANTS = {size: f"some variants {size}" for size in SIZES}
"""What the page says of a test that has the marker for some parameters only, its own or those of its fixtures."""
_MARKER = "pytest.mark.promise"
_COMMENT = re.compile(r"<!-- promise: ([a-z0-9-]+) -->")
_HEADING = re.compile(r"^#+ (.+)$")


@dataclass(frozen=True, slots=True)
class Promise:
    """A sentence that a user relies on.

    Attributes:
        name: the id of the promise.
        page: the path of the page, relative to the project.
        section: the heading above the sentence.
    """

    name: str
    page: str
    section: str


@dataclass(frozen=True, slots=True)
class Proof:
    """A test that is marked with promises.

    Attributes:
        test: the test's id in pytest, without parameters.
        promises: the ids of the promises.
        sizes: see `sizes_of`.
    """

    test: str
    promises: tuple[str, ...]
    sizes: tuple[str, ...] = ()


def promises_of(page: str, text: str) -> Iterator[Promise]:
    """Yields the promises of a page, in their order."""
    section, fenced = "", False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        heading = None if fenced else _HEADING.match(line)
        if heading:
            section = heading.group(1)
        for name in _COMMENT.findall(line):
            yield Promise(name, page, section)


def proofs_of(path: str, text: str) -> Iterator[Proof]:
    """Yields the marked tests of a file.

    Raises:
        ValueError: a marker is not on a test, or its ids are not written as literals.
    """
    tree = _parsed(text)
    found = 0
    for name, test in tests_of(tree):
        marks = [one for one in test.decorator_list if isinstance(one, ast.Call) and ast.unparse(one.func) == _MARKER]
        found += len(marks)
        arguments = [argument for one in marks for argument in one.args]
        names = [one.value for one in arguments if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if len(names) != len(arguments) or any(one.keywords or not one.args for one in marks):
            raise ValueError(f"{path}::{name}: {_MARKER} takes ids in quotes")
        if names:
            yield Proof(f"{path}::{name}", tuple(names), sizes_of(tree, test))
    markers = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "promise"]
    if found != sum(ast.unparse(node) == _MARKER for node in markers):
        raise ValueError(f"{path}: {_MARKER} belongs directly on a test function")


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def tests_of(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yields the tests of a file by name, with the class if they are in one."""
    for node in tree.body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        for one in inside:
            if isinstance(one, ast.FunctionDef) and one.name.startswith("test_"):
                yield (f"{node.name}::{one.name}" if isinstance(node, ast.ClassDef) else one.name), one


def sizes_of(tree: ast.Module, test: ast.FunctionDef) -> tuple[str, ...]:
    """Returns `deep` or `long` if the test has the marker, and what `SOME_VARIANTS` says if some variants have one."""
    of_the_file = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(isinstance(one, ast.Name) and one.id == "pytestmark" for one in node.targets)
    ]
    whole = {_size(one) for node in (*of_the_file, *test.decorator_list) for one in _listed(node)}
    if "deep" in whole:
        return ("deep",)
    decorated = (test, *_fixtures(tree, test))
    inside = {_size(node) for one in decorated for mark in one.decorator_list for node in ast.walk(mark)} - whole
    return (*(("long",) if "long" in whole else ()), *(said for size, said in SOME_VARIANTS.items() if size in inside))


def _fixtures(tree: ast.Module, test: ast.FunctionDef) -> Iterator[ast.FunctionDef]:
    """Yields the fixtures that a test uses, also through others: those in its own file and in `CLUSTERS`."""
    bodies = (*_parsed(CLUSTERS.read_text(encoding="utf-8")).body, *tree.body)
    known = {one.name: one for one in bodies if isinstance(one, ast.FunctionDef)}
    wanted = [argument.arg for argument in test.args.args]
    for mark in test.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.usefixtures":
            wanted += map(ast.literal_eval, mark.args)
    while wanted:
        fixture = known.pop(wanted.pop(), None)
        if fixture is not None:
            yield fixture
            wanted += [argument.arg for argument in fixture.args.args]


def _size(node: ast.AST) -> str | None:
    is_marker = isinstance(node, ast.Attribute) and node.attr in SIZES and ast.unparse(node.value) == "pytest.mark"
    return node.attr if is_marker else None


def _listed(node: ast.expr) -> Sequence[ast.expr]:
    return node.elts if isinstance(node, ast.List | ast.Tuple) else [node]


def pages() -> list[str]:
    """Returns every page that may contain promises, relative to the project: all pages but the generated one."""
    docs = sorted(page for page in TARGET.parent.glob("*.md") if page != TARGET)
    return ["README.md", *(str(page.relative_to(PROJECT)) for page in docs)]


def promises() -> list[Promise]:
    """Returns all promises, page by page."""
    return [one for page in pages() for one in promises_of(page, (PROJECT / page).read_text(encoding="utf-8"))]


def proofs() -> list[Proof]:
    """Returns all marked tests, file by file."""
    return [
        one
        for file in sorted(TESTS.rglob("test_*.py"))
        for one in proofs_of(str(file.relative_to(PROJECT)), file.read_text(encoding="utf-8"))
    ]


def faults(made: Iterable[Promise], proven: Iterable[Proof]) -> list[str]:
    """Returns what is wrong with promises and markers, a sentence for each fault; empty = every promise has a test."""
    pages = {one.name: one.page for one in made}
    counts = Counter(one.name for one in made)
    marked = {name: proof.test for proof in proven for name in proof.promises}
    return [
        *(f"{pages[name]}: two promises are called {name}" for name, count in counts.items() if count > 1),
        *(f"{page}: no test proves {name}" for name, page in pages.items() if name not in marked),
        *(f"{test}: no page promises {name}" for name, test in marked.items() if name not in pages),
    ]


def render(made: Sequence[Promise], proven: Sequence[Proof]) -> str:
    """Returns the text of the whole page."""
    parts = {
        "PROMISES": promises_table(made, proven),
        "FAST": costly(),
        "LONG": left_out(),
        "DEEP": only_deep(),
        "MEASURED": measured(),
        "MUTATION": mutation(),
    }
    page = HEAD.read_text(encoding="utf-8")
    for name, part in parts.items():
        page = page.replace(f"{{{{{name}}}}}", part)
    return page


def promises_table(made: Sequence[Promise], proven: Sequence[Proof]) -> str:
    """Returns a table of the promises, each with a link to its section and the tests that prove it."""
    tests: dict[str, list[str]] = {}
    for proof in proven:
        for name in proof.promises:
            sizes = f" ({', '.join(proof.sizes)})" if proof.sizes else ""
            tests.setdefault(name, []).append(f"`{proof.test.removeprefix('tests/')}`{sizes}")
    rows = [
        f"| {one.name} | [{one.page}: {one.section}]({_link(one)}) | {'<br>'.join(tests.get(one.name, []))} |"
        for one in made
    ]
    return "\n".join(["| promise | made in | proven by, below `tests/` |", "|---|---|---|", *rows])


def _link(promise: Promise) -> str:
    """Returns a link from docs/testing.md to the section; GitHub makes the anchor from the heading."""
    page = promise.page.removeprefix("docs/") if promise.page.startswith("docs/") else f"../{promise.page}"
    return f"{page}#{anchor(promise.section)}"


def costly() -> str:
    """Returns a table of the tests that `--fast` leaves out because of their recorded costs, file by file."""
    names = json.loads(RECORD.read_text(encoding="utf-8"))["ordinary"]["costly"]
    lines = ["| below `tests/` | tests | what the file proves |", "|---|---|---|"]
    for file, count in sorted(Counter(name.partition("::")[0] for name in names).items()):
        if (PROJECT / file).exists():
            lines.append(f"| `{file.removeprefix('tests/')}` | {count} | {_says(PROJECT / file)} |")
    return "\n".join(lines)


def _says(file: Path) -> str:
    """Returns the first line of a module's docstring, for a cell of a table."""
    return (ast.get_docstring(_parsed(file.read_text(encoding="utf-8"))) or "").partition("\n")[0].replace("|", "\\|")


def left_out() -> str:
    """Returns a table of the tests that only `--all` runs, file by file: whole files, or the number of their tests."""
    lines = ["| below `tests/` | tests | what the file proves |", "|---|---|---|"]
    for file in sorted(TESTS.rglob("test_*.py")):
        tree = _parsed(file.read_text(encoding="utf-8"))
        sizes = [sizes_of(tree, test) for _, test in tests_of(tree)]
        long = sum("long" in one for one in sizes)
        variants = sum(SOME_VARIANTS["long"] in one for one in sizes)
        if long or variants:
            tests = "all" if long == sum("deep" not in one for one in sizes) else f"{long} of {len(sizes)}"
            tests += f", variants of {variants}" if variants else ""
            lines.append(f"| `{file.relative_to(TESTS)}` | {tests} | {_says(file)} |")
    return "\n".join(lines)


def only_deep() -> str:
    """Returns a table of the tests that only `--deep` runs, by name; of some it runs only a part of the variants."""
    lines = ["| below `tests/` | tests | what the file proves |", "|---|---|---|"]
    for file in sorted(TESTS.rglob("test_*.py")):
        tree = _parsed(file.read_text(encoding="utf-8"))
        names = []
        for name, test in tests_of(tree):
            sizes = sizes_of(tree, test)
            if "deep" in sizes:
                names.append(f"`{name}`")
            elif SOME_VARIANTS["deep"] in sizes:
                names.append(f"`{name}` (some of its variants)")
        if names:
            lines.append(f"| `{file.relative_to(TESTS)}` | {'<br>'.join(names)} | {_says(file)} |")
    return "\n".join(lines)


def measured() -> str:
    """Returns the costs of the last recorded run of each size, which `./tests/run --record` wrote."""
    known = json.loads(RECORD.read_text(encoding="utf-8"))
    lines = [
        "| size | tests | minutes | CPU seconds | cores | loop | JVMs started | clusters started | measured |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for size, one in known.items():
        clusters = ", ".join(f"{count} {name}" for name, count in one["clusters"].items()) or "none"
        lines.append(
            f"| {size} | {one['tests']:,} | {one['wall_seconds'] / 60:.1f} | {one['cpu_seconds']:,} | {one['cores']} "
            f"| {_loops(one.get('loop_seconds', ()))} | {sum(one['jvms'].values())} | {clusters} | {one['date']} |"
        )
    lines += [
        "",
        "*loop* is what Python needed to add ten million numbers before and after the run: a virtual machine can be",
        "half as fast as an hour before, and the other columns change with it.",
    ]
    for size, one in known.items():
        if one["slow"]:
            lines += ["", f"Tests of the size `{size}` that took more than ten seconds:", ""]
            lines += ["| test | seconds | CPU seconds | why |", "|---|---|---|---|"]
            lines += [f"| `{name}` | {seconds} | {cpu} | {why} |" for name, seconds, cpu, why in one["slow"]]
        if one["starts"]:
            lines += ["", f"What tests of the size `{size}` share, if it took more than three seconds:", ""]
            lines += ["| fixture | seconds | CPU seconds | what it is |", "|---|---|---|---|"]
            lines += [f"| `{name}` | {seconds} | {cpu} | {says} |" for name, seconds, cpu, says in one["starts"]]
    return "\n".join(lines)


def _loops(seconds: Sequence[float]) -> str:
    return ", ".join(f"{one:.2f} s" for one in seconds) or "not measured"


def mutation() -> str:
    """Returns the results of mutation testing; see `tests.mutation.record.section`."""
    return section().rstrip("\n")


if __name__ == "__main__":
    TARGET.write_text(render(promises(), proofs()), encoding="utf-8")
