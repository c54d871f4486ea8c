"""Puts a change in its place in the running program, and takes it out again."""

import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, ModuleType
from typing import Any

from tests.mutation.mutants import Mutant, Place

PRODUCT = ("pipelines", "jobs", "schemas", "tests")
"""Packages in which an imported constant is changed, too."""


@contextmanager
def changed(mutant: Mutant, module: ModuleType) -> Iterator[str | None]:
    """The program with the change; what it gives says why it cannot be made at all, which is a failure as well."""
    try:
        undo = _put(mutant.place, mutant.code(), module)
    except Exception as error:  # noqa: BLE001 - a value that cannot be computed
        yield f"{type(error).__name__}"
        return
    try:
        yield None
    finally:
        undo()


def _put(place: Place, code: CodeType, module: ModuleType) -> Callable[[], None]:
    if not place.name:
        function = _function(module, place.qualname)
        kept = function.__code__
        function.__code__ = _code_of(code, kept, place.qualname)
        return lambda: setattr(function, "__code__", kept)
    value = eval(code, {**vars(module), **_class_names(module, place.qualname)})  # noqa: S307 - our own code
    if not place.qualname:
        return _put_constant(module, place.name, value)
    owner = _owner(module, place.qualname)
    if isinstance(owner, type):
        if place.name in getattr(owner, "__dataclass_fields__", {}):
            return _put_default(owner.__init__, place.name, value)  # type: ignore[misc]
        old = owner.__dict__[place.name]
        setattr(owner, place.name, value)
        return lambda: setattr(owner, place.name, old)
    return _put_default(_unwrapped(owner), place.name, value)


def _class_names(module: ModuleType, qualname: str) -> dict[str, object]:
    owner = getattr(module, qualname.partition(".")[0], None) if qualname else None
    return dict(vars(owner)) if isinstance(owner, type) else {}


def _put_constant(module: ModuleType, name: str, value: object) -> Callable[[], None]:
    """The constant wherever it was imported."""
    old = getattr(module, name)
    places = [
        vars(one)
        for path, one in list(sys.modules.items())
        if (one is module or path.partition(".")[0] in PRODUCT) and name in getattr(one, "__dict__", ())
    ]
    places = [namespace for namespace in places if namespace[name] is old]
    for namespace in places:
        namespace[name] = value

    def undo() -> None:
        for namespace in places:
            namespace[name] = old

    return undo


def _put_default(function: types.FunctionType, name: str, value: object) -> Callable[[], None]:
    kept = (function.__defaults__, function.__kwdefaults__)
    if function.__kwdefaults__ and name in function.__kwdefaults__:
        function.__kwdefaults__ = {**function.__kwdefaults__, name: value}
    else:
        code, defaults = function.__code__, list(function.__defaults__ or ())
        names = code.co_varnames[: code.co_argcount][-len(defaults) :]
        defaults[names.index(name)] = value
        function.__defaults__ = tuple(defaults)

    def undo() -> None:
        function.__defaults__, function.__kwdefaults__ = kept

    return undo


def _owner(module: ModuleType, qualname: str) -> Any:  # noqa: ANN401 - a class or a function
    found: Any = module
    for part in qualname.split("."):
        found = vars(found)[part]
    return found


def _function(module: ModuleType, qualname: str) -> types.FunctionType:
    return _unwrapped(_owner(module, qualname))


def _unwrapped(found: Any) -> types.FunctionType:  # noqa: ANN401 - what a decorator has made
    if isinstance(found, property):
        found = found.fget
    elif isinstance(found, functools.cached_property):
        found = found.func
    elif isinstance(found, staticmethod | classmethod):
        found = found.__func__
    found = inspect.unwrap(found)
    assert isinstance(found, types.FunctionType)
    return found


def _code_of(code: CodeType, like: CodeType, qualname: str) -> CodeType:
    """The code of a function in that of its module: the one of its name at its line."""
    for name in qualname.split(".")[:-1]:
        code = next(one for one in code.co_consts if isinstance(one, CodeType) and one.co_name == name)
    return next(
        one
        for one in code.co_consts
        if isinstance(one, CodeType) and (one.co_name, one.co_firstlineno) == (like.co_name, like.co_firstlineno)
    )
