"""Lets Great Expectations validate a small frame of numbers. Importing the library takes seconds: functions do it."""

import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from types import ModuleType
from typing import Any

_STATISTICS = "scipy.stats"
"""The library imports it when it is loaded, for expectations that walsafe does not use."""
_LOADING = Lock()


@dataclass(frozen=True, slots=True)
class ColumnsEqual:
    """Requires that two columns are equal in every row."""

    name: str
    description: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class ColumnAtMost:
    """Requires that a column lies between 0 and a limit in every row."""

    name: str
    description: str
    column: str
    limit: float = 0


class _LoadedWhenUsed(ModuleType):
    """Stands for a module until somebody asks for something in it."""

    def __getattr__(self, name: str) -> object:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def validate(
    columns: Mapping[str, Sequence[object]],
    rules: Sequence[ColumnsEqual | ColumnAtMost],
    suite_name: str,
    index: Sequence[str],
) -> Any:  # noqa: ANN401 - GX ships no types
    """Returns the library's validation result.

    Args:
        columns: the frame.
        rules: the expectations; each result carries the name of its rule in `expectation_config.meta`.
        suite_name: the name of the suite.
        index: the columns that name a row that breaks an expectation.
    """
    import pandas as pd  # noqa: PLC0415 - half a second to import

    gx = great_expectations()
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    asset = context.data_sources.add_pandas(name="walsafe").add_dataframe_asset(name=suite_name)
    batch = asset.add_batch_definition_whole_dataframe("run")
    suite = context.suites.add(_suite(rules, suite_name))
    validation = context.validation_definitions.add(gx.ValidationDefinition(name=suite_name, data=batch, suite=suite))
    return validation.run(
        batch_parameters={"dataframe": pd.DataFrame(columns)},
        result_format={"result_format": "COMPLETE", "unexpected_index_column_names": list(index)},
    )


def documents_of(
    outcome: Any,  # noqa: ANN401 - GX ships no types
    rules: Sequence[ColumnsEqual | ColumnAtMost],
    suite_name: str,
) -> dict[str, object]:
    """Returns `suite` and `validation` as Great Expectations writes them as JSON."""
    return {"suite": _suite(rules, suite_name).to_json_dict(), "validation": outcome.to_json_dict()}


def great_expectations() -> Any:  # noqa: ANN401 - GX ships no types
    """Imports the library, and keeps its log quiet."""
    with _LOADING:
        # measured: the import takes 3.1 CPU seconds instead of 4.9
        stand_in = _LoadedWhenUsed(_STATISTICS)
        sys.modules.setdefault(_STATISTICS, stand_in)
        import great_expectations as gx  # noqa: PLC0415 - seconds to import
        import great_expectations.expectations  # noqa: PLC0415 - is not loaded with its parent

        if sys.modules.get(_STATISTICS) is stand_in:
            del sys.modules[_STATISTICS]  # others that import it get the real one
    for name in ("great_expectations", "great_expectations.data_context"):
        logging.getLogger(name).setLevel(logging.WARNING)
    return gx


def _suite(rules: Sequence[ColumnsEqual | ColumnAtMost], name: str) -> Any:  # noqa: ANN401 - GX ships no types
    return great_expectations().ExpectationSuite(name=name, expectations=[_expectation(rule) for rule in rules])


def _expectation(rule: ColumnsEqual | ColumnAtMost) -> Any:  # noqa: ANN401 - GX ships no types
    expect = great_expectations().expectations
    told = {"meta": {"name": rule.name}, "description": rule.description}
    if isinstance(rule, ColumnsEqual):
        return expect.ExpectColumnPairValuesToBeEqual(
            column_A=rule.left, column_B=rule.right, ignore_row_if="neither", **told
        )
    return expect.ExpectColumnValuesToBeBetween(column=rule.column, min_value=0, max_value=rule.limit, **told)
