"""Great Expectations, as the gate loads it."""

import subprocess
import sys

from tests.labs.places import PROJECT

LOADED = """
import sys
from pipelines.decide.gate.validation import great_expectations
great_expectations()
assert "scipy.stats" not in sys.modules, "it takes 1.8 of the 4.9 CPU seconds of the import"
from scipy.stats.qmc import Halton
import scipy.stats
before = sys.modules["scipy.stats"]
from great_expectations.expectations.core.expect_column_kl_divergence_to_be_less_than import stats
assert stats.norm.cdf(0) == stats.uniform.cdf(0.5) == 0.5
assert sys.modules["scipy.stats"] is before
"""


def test_statistics_are_loaded_by_whoever_uses_them() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
