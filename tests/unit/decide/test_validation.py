"""Great Expectations, as the gate loads it."""

import subprocess
import sys

from tests.labs.places import PROJECT

PROGRAM = """
import sys
from pipelines.decide.gate.validation import great_expectations
great_expectations()
assert "scipy.stats._stats_py" not in sys.modules, "it takes longer than all the rest"
from scipy import stats
assert stats.norm.cdf(0) == 0.5
import scipy.stats
assert scipy.stats.norm.cdf(0) == 0.5
"""


def test_statistics_are_loaded_by_whoever_uses_them() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
