"""What is changed in a source, and that a change is in its place while the tests run."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.mutation.in_place import changed
from tests.mutation.mutants import Source

SOURCE = '''
"""A module."""
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache

LIMIT = 3


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Box:
    size: int = 1

    @property
    def full(self):
        """Whether nothing fits in."""
        return self.size >= LIMIT

    @cached_property
    def colour(self):
        return Colour.RED


@lru_cache
def both(one, other):
    if one and other:
        return "both"
    raise ValueError(f"not {one + 1}")


def rest(values, but=0):
    return [value for value in values if value != but]
'''


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    file = tmp_path / "tests_changed_module.py"
    file.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = loaded
    spec.loader.exec_module(loaded)
    yield loaded
    del sys.modules[file.stem]


def test_every_kind_of_change_is_made_once(module: ModuleType) -> None:
    keys = [mutant.key for mutant in Source(module).mutants()]
    assert len(set(keys)) == len(keys)
    assert keys == [
        "LIMIT: 3 -> 4",
        "LIMIT: 3 -> 2",
        "Box.size: 1 -> 2",
        "Box.size: 1 -> 0",
        "Box.full: return self.size >= LIMIT -> return None",
        "Box.full: return self.size >= LIMIT -> return self.size > LIMIT",
        "Box.colour: return Colour.RED -> return None",
        "Box.colour: return Colour.RED -> return Colour.BLUE",
        "both: if one and other: -> if one:",
        "both: if one and other: -> if other:",
        "both: if one and other: -> if True:",
        "both: if one and other: -> if False:",
        "both: if one and other: -> if one or other:",
        "both: return 'both' -> return None",
        "both: raise ValueError(f'not {one + 1}') -> pass",
        "rest.but: 0 -> 1",
        "rest: return [value for value in values if value != but] -> return None",
        "rest: return [value for value in values if value != but] -> return [value for value in values]",
        "rest: return [value for value in values if value != but] -> return [value for value in values if value == but]",  # noqa: E501
    ]


def test_functions_that_make_words_are_left_alone(module: ModuleType) -> None:
    assert not [mutant for mutant in Source(module, ("both",)).mutants() if mutant.place.qualname == "both"]


def test_a_change_is_in_its_place_until_it_is_taken_back(module: ModuleType) -> None:
    def both(*pair: int) -> object:
        try:
            return module.both(*pair)
        except ValueError:
            return "raised"

    def answers() -> list[object]:
        module.both.cache_clear()
        box = module.Box()
        said = [both(1, 0), both(0, 1), both(1, 1), box.colour and box.colour.name]
        return [module.LIMIT, box.size, module.Box(3).full, *said, module.rest([0, 1])]

    before = answers()
    assert before == [3, 1, True, "raised", "raised", "both", "RED", [1]]
    for mutant in Source(module).mutants():
        with changed(mutant, module) as problem:
            assert problem is None
            assert answers() != before, mutant.key
        assert answers() == before
