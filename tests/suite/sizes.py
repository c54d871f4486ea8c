"""The sizes of the suite: which tests each one runs, and how many examples Hypothesis draws for them.

A test without a marker is ordinary. Plain pytest runs the ordinary size, or all of what is named on its command line.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

RECORD = Path(__file__).with_name("measured.json")
"""What the sizes cost when they were last recorded (tests/suite/measure.py)."""
FEW, MORE, MANY = 15, 30, 50
"""Examples of a property: of the ordinary sizes, of `--all`, and of `--deep`."""


@dataclass(frozen=True)
class Size:
    """What `--size` chooses.

    Attributes:
        markers: pytest's expression of markers.
        examples: of a property that says nothing else.
        more: the sentence under pytest's summary, about what this size leaves out.
        quick: whether it also leaves out the tests that were costly when the ordinary size was last recorded.
    """

    markers: str
    examples: int
    more: str = ""
    quick: bool = False


_ORDINARY = (
    "./tests/run also runs the tests on a real HBase, HDFS, ZooKeeper and Thrift, and those that are marked slow or "
    "were costly when they were last recorded. "
)
_ALL = (
    "./tests/run --all also runs the tests that are marked long (faults and kills on the real systems, HBase 2, "
    "Kerberos, Airflow, YARN, older lakes, other engines) and draws more examples of each property; it takes 17 to 45 "
    "minutes."
)
SIZES = {
    "fast": Size("not realhbase and not slow and not long and not deep", FEW, _ORDINARY + _ALL, quick=True),
    "ordinary": Size("not long and not deep", FEW, _ALL),
    "all": Size("not deep", MORE),
    "deep": Size("deep", MANY),
}

for _name, _size in SIZES.items():
    # the blob in a failure's message repeats the example anywhere; a slow machine must not fail a test
    settings.register_profile(
        _name,
        max_examples=_size.examples,
        print_blob=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


def examples(many: int) -> int:
    """How many examples a test that needs its own number draws in the size that runs.

    Args:
        many: the number with `--deep`.
    """
    return max(1, many * settings().max_examples // MANY)


def choose(config: pytest.Config) -> None:
    """Selects the tests of the size, and Hypothesis's profile of the same name."""
    if config.option.size is None:
        named = config.args_source is pytest.Config.ArgsSource.ARGS
        config.option.size = "all" if named else "ordinary"
    size = SIZES[config.option.size]
    settings.load_profile(config.option.size)
    # also in each process of xdist: it reads the command line for itself
    asked = config.option.markexpr
    config.option.markexpr = f"({asked}) and ({size.markers})" if asked else size.markers


def leave_out_costly(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects the tests that this size leaves out because of their recorded costs."""
    if not SIZES[config.option.size].quick:
        return
    costly = set(json.loads(RECORD.read_text(encoding="utf-8"))["ordinary"]["costly"])
    left_out = [item for item in items if item.nodeid in costly]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item.nodeid not in costly]
