"""Fixtures of the whole suite, and its sizes."""

import gc
import json
import sys
import traceback
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession
from xdist.remote import Producer

from jobs.cli.leave import NEW_OBJECTS
from pipelines.lake import findings
from pipelines.lake.run_summary import FindingRow
from pipelines.pegasus.domain import rule_violations
from scripts.finding_evidence import EVIDENCE, EvidenceValue
from scripts.split_evidence import SPLIT_EVIDENCE
from tests.labs.spark.evaluation import INTERPRETED
from tests.labs.spark.local_session import local_session
from tests.suite import sizes
from tests.suite.processes import SharedTogether, order

# a process of xdist has a main module of no file, which pyspark takes for its own doctests, and exits
if not hasattr(sys.modules["__main__"], "__file__"):
    sys.modules["__main__"].__file__ = str(Path(pytest.__file__).with_name("__main__.py"))

gc.set_threshold(NEW_OBJECTS)  # as in the processes of jobs: unit tests take a twentieth less CPU time

# To mark the place of an error below its line, Python 3.11 parses the line with ast.parse. Errors are shown also while
# Python collects garbage; if the collection began in another ast.parse, that one fails. So no places are marked
vars(traceback)["_extract_caret_anchors_from_line_segment"] = lambda _segment: None

# a slow machine makes the suite slow, not red
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

TYPES: Mapping[str, tuple[type, type | None]] = {
    "string": (str, None),
    "number": (int, None),
    "fraction": (float, None),
    "boolean": (bool, None),
    "list of strings": (list, str),
    "list of numbers": (list, int),
    "list of objects": (list, dict),
    "object": (dict, None),
}
"""JSON types by their words in the page, with the Python type of the value and of the elements of a list."""

# the real HBase, HDFS, ZooKeeper, Kerberos and Thrift
pytest_plugins = ["tests.labs.cluster.fixtures"]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One local session with Delta for all tests; small data, so the JVM's optimizing compiler stays off."""
    session = local_session(tmp_path_factory.mktemp("spark"), memory="2g", extra=INTERPRETED)
    yield session
    session.stop()


@pytest.fixture(scope="session", autouse=True)
def documented_evidence() -> Iterator[None]:
    """Every finding that a test produces has the evidence that docs/findings.md or docs/split-rules.md tells of."""
    shapes = {**EVIDENCE, **SPLIT_EVIDENCE}

    def checked(*values: object) -> FindingRow:
        row = partial(FindingRow, *values)()
        is_real = row.code in shapes or row.code.startswith(rule_violations.MARK)
        fault = evidence_fault(row.code, shapes[row.code], json.loads(row.evidence)) if is_real else None
        assert fault is None, fault
        return row

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(findings, "FindingRow", checked)
        patch.setattr(rule_violations, "FindingRow", checked)
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    """What ./tests/run gives on."""
    parser.addoption("--size", choices=sizes.SIZES, help="which tests run: see ./tests/run --help")


def pytest_configure(config: pytest.Config) -> None:
    """One size for the markers and for Hypothesis."""
    sizes.choose(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Under pytest's summary, what was left out."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    more = sizes.SIZES[config.option.size].more
    if terminal is not None and more and not config.option.collectonly:
        terminal.write_line(more)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes longest; a file's tests stay together, since they share what they set up in a cluster."""
    sizes.leave_out_costly(config, items)
    items.sort(key=lambda item: order(item.location[0]))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> SharedTogether:
    """What shares a cluster runs in one process."""
    return SharedTogether(config, log)


def evidence_fault(code: str, shape: Mapping[str, EvidenceValue], evidence: Mapping[str, object]) -> str | None:
    """Returns how the evidence of a finding differs from its documented shape, or None."""
    lacking = {name for name, value in shape.items() if value.always} - set(evidence)
    if lacking or set(evidence) - set(shape):
        return f"{code}: has {sorted(evidence)}, is documented with {sorted(shape)}"
    for name, value in evidence.items():
        if not (value is None and shape[name].may_be_null) and not _is(value, *TYPES[shape[name].kind]):
            return f"{code}: {name} is {value!r}, is documented as {shape[name].kind}"
    return None


def _is(value: object, kind: type, of: type | None) -> bool:
    """Returns whether a value has this type; true and false are no numbers."""
    if of is not None:
        return isinstance(value, list) and all(_is(one, of, None) for one in value)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
