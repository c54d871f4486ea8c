"""Runs the tests that judge a change against it: in a process of its own, or in this one where Spark runs.

pytest collects the tests once, and the product is imported once. A change of a function is put in the place of its
code, so whoever has imported the function has the changed one. The tests that come by the changed line are known from
one run of all of them, and the quickest is asked first.
"""

import ast
import contextlib
import functools
import importlib
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import hypothesis
import pytest
from _pytest.runner import runtestprotocol

from tests.mutation.in_place import PRODUCT, changed
from tests.mutation.mutants import Mutant, Source
from tests.mutation.process_control import again, again_after, forked, jvm_has_ended
from tests.mutation.targets import Group

_ENDLESS = "it does not end"
_JVM_ENDED = "Spark's JVM ended"
_ENDED_WITH = "WALSAFE_JVM_ENDED_WITH"
"""The change with which it ended last, for the same command started again."""
_GRACE_S = 30.0
_EXAMPLES = 25
"""Of hypothesis, the same ones every time; a change that only thousands would find has to have a test of its own."""
_SPACE = 3 << 30
_LATELY = 40


class Judged:
    """A plugin of pytest that runs a trial in the place of the tests.

    Args:
        group: whose modules are changed.
        wanted: says of a target's name and a mutant's key whether it is tried.
        tell: takes each answer: name of the target, the mutant, the test that failed or None.
    """

    def __init__(
        self,
        group: Group,
        wanted: Callable[[str, str], bool],
        tell: Callable[[str, Mutant, str | None], None],
    ) -> None:
        self._group = group
        self._wanted = wanted
        self._tell = tell
        self.failed: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Without tests that this group leaves out."""
        items[:] = [one for one in items if not any(part in one.nodeid for part in self._group.leave_out)]
        for item in items:
            kind = getattr(item, "cls", None)
            for holder, name in ((getattr(item, "obj", None), "_hypothesis_internal_use_settings"), (kind, "settings")):
                drawn = getattr(holder, name, None)
                if isinstance(drawn, hypothesis.settings):
                    fewer = hypothesis.settings(drawn, max_examples=min(drawn.max_examples, _EXAMPLES))
                    setattr(holder, name, fewer)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """The trial."""
        modules = {one.name: importlib.import_module(one.module) for one in self._group.targets}
        every = list(session.items)
        seen = self._seen(every, set(modules.values()))
        assert not (self._group.spark and jvm_has_ended()), "the tests could not be run as things are"
        self.failed = [nodeid for nodeid, (_, failed, _) in seen.items() if failed]
        items = [item for item in every if item.nodeid not in self.failed]
        items.sort(key=lambda item: seen[item.nodeid][0])
        caches = _caches()
        lately: list[str] = []
        for target in self._group.targets:
            module = modules[target.name]
            for mutant in Source(module, target.words).mutants():
                if not self._wanted(target.name, mutant.key):
                    continue
                judges = _judges(mutant, module, items, {one: seen[one][2] for one in seen})
                if not judges:
                    self._tell(target.name, mutant, None)
                    continue
                # what has failed lately is likely to fail again: it saves the quick tests that come by everything
                judges.sort(key=lambda item: lately.index(item.nodeid) if item.nodeid in lately else len(lately))
                limit = _GRACE_S + 5 * sum(seen[item.nodeid][0] for item in judges)
                if self._group.spark:
                    with again_after(limit, functools.partial(self._tell, target.name, mutant, _ENDLESS)):
                        by = _in_this_process(mutant, module, judges, caches)
                else:
                    by = _in_its_own(mutant, module, judges, caches, limit)
                if by is not None:
                    lately = [by, *(one for one in lately if one != by)][:_LATELY]
                if self._group.spark and jvm_has_ended():  # without it, each test that is still to come would fail
                    if os.environ.get(_ENDED_WITH) == mutant.key:  # for the second time: it is the change
                        self._tell(target.name, mutant, _JVM_ENDED)
                    os.environ[_ENDED_WITH] = mutant.key
                    again()
                self._tell(target.name, mutant, by)
        return True

    def _seen(
        self, items: Sequence[pytest.Item], modules: set[ModuleType]
    ) -> Mapping[str, tuple[float, bool, Mapping[str, list[int]]]]:
        """Of each test how long it takes, whether it fails as things are, and the lines that it comes by."""
        files = {str(module.__file__) for module in modules}
        if self._group.spark:
            return {item.nodeid: _traced(item, files) for item in items}
        found = forked(lambda: json.dumps({item.nodeid: _traced(item, files) for item in items}), 3_600)
        assert found is not None, "the tests could not be run as things are"
        return json.loads(found)  # type: ignore[no-any-return]


def _at(lines: Mapping[str, list[int]], module: ModuleType) -> set[int]:
    return set(lines.get(str(module.__file__), ()))


def _judges(
    mutant: Mutant, module: ModuleType, items: list[pytest.Item], lines: Mapping[str, Mapping[str, list[int]]]
) -> list[pytest.Item]:
    """The tests that come by a change, in their order: by its line, or by its function where no line is told apart."""
    if mutant.place.name:
        return items  # a constant or a default: any test may see it
    at_line = [item for item in items if mutant.line in _at(lines[item.nodeid], module)]
    around = _statement(Path(str(module.__file__)), mutant.line)
    return at_line or [item for item in items if around & _at(lines[item.nodeid], module)]


@functools.lru_cache(maxsize=4)
def _statements(file: Path) -> dict[int, set[int]]:
    """By line the lines of the statement that it is part of; of one with a body, those before the body."""
    found: dict[int, set[int]] = {}
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            lines = set(range(node.lineno, max(last, node.lineno) + 1))
            for line in lines:
                if line not in found or len(lines) < len(found[line]):
                    found[line] = lines
    return found


def _statement(file: Path, line: int) -> set[int]:
    return _statements(file).get(line, {line})


class _Chain:
    """Stands for the next test: what its node and the nodes above it have set up stays."""

    def __init__(self, item: pytest.Item) -> None:
        self._nodes = item.listchain()[:-1]

    def listchain(self) -> list[Any]:
        return self._nodes


def _passes(item: pytest.Item) -> bool:
    state = item.session._setupstate
    state.teardown_exact(item)  # what a test of another module had set up
    reports = runtestprotocol(item, log=False, nextitem=_Chain(item))  # type: ignore[arg-type]
    return not any(report.failed for report in reports)


def _traced(item: pytest.Item, files: set[str]) -> tuple[float, bool, Mapping[str, list[int]]]:
    lines: dict[str, set[int]] = {file: set() for file in files}

    def trace(frame: FrameType, _event: str, _argument: object) -> Any:  # noqa: ANN401 - a tracing function
        found = lines.get(frame.f_code.co_filename)
        if found is None:
            return None
        found.add(frame.f_lineno)

        def local(frame: FrameType, event: str, _argument: object) -> Any:  # noqa: ANN401
            if event == "line":
                found.add(frame.f_lineno)
            return local

        return local

    began = time.monotonic()
    threading.settrace(trace)
    sys.settrace(trace)
    try:
        passed = _passes(item)
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
    return time.monotonic() - began, not passed, {file: sorted(found) for file, found in lines.items() if found}


def _in_its_own(
    mutant: Mutant, module: ModuleType, judges: Sequence[pytest.Item], caches: Sequence[Any], limit: float
) -> str | None:
    """The test that fails, "time" for one that does not end, None for a change that survives."""

    def tried() -> str:
        resource.setrlimit(resource.RLIMIT_AS, (_SPACE, _SPACE))
        for cache in caches:
            cache.cache_clear()
        with changed(mutant, module) as problem:
            return problem or next((item.nodeid for item in judges if not _passes(item)), "")

    answer = forked(tried, limit)
    return _ENDLESS if answer is None else answer or None


def _in_this_process(
    mutant: Mutant, module: ModuleType, judges: Sequence[pytest.Item], caches: Sequence[Any]
) -> str | None:
    for cache in caches:
        cache.cache_clear()
    with changed(mutant, module) as problem:
        found = problem or next((item.nodeid for item in judges if not _passes(item)), None)
    for cache in caches:
        cache.cache_clear()
    return found


def _caches() -> list[Any]:
    """What remembers answers in the product and in its tests."""
    found: dict[int, Any] = {}
    for path, module in list(sys.modules.items()):
        if path.partition(".")[0] not in PRODUCT or not isinstance(module, ModuleType):
            continue
        for one in list(vars(module).values()):
            for value in [one, *(vars(one).values() if isinstance(one, type) else ())]:
                cached = getattr(value, "__func__", value)
                if isinstance(cached, functools._lru_cache_wrapper):
                    found[id(cached)] = cached
    return list(found.values())


def judge(
    group: Group,
    root: Path,
    wanted: Callable[[str, str], bool],
    tell: Callable[[str, Mutant, str | None], None],
) -> list[str]:
    """Try all changes of a group's modules that are wanted.

    Returns:
        Tests that fail as things are; they judge nothing.
    """
    quick = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile(
        "mutation", derandomize=True, database=None, phases=quick, report_multiple_bugs=False, deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    hypothesis.settings.load_profile("mutation")
    plugin = Judged(group, wanted, tell)
    tests = [str(root / one) for one in group.tests]
    options = ["-q", "--rootdir", str(root), "-p", "no:cacheprovider"]
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        code = pytest.main([*options, *tests], plugins=[plugin])
    assert code in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}, code
    return plugin.failed
