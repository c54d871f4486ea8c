"""Provides seeds for the deep tests: new ones every day, recorded with the run (docs/deep.md)."""

import os
import time
from collections.abc import Callable

Say = Callable[[str, object], None]
"""pytest's `record_property`: what is said so stands in the record."""
SEED_ENV = "WALSAFE_DEEP_SEED"
SEED = int(os.environ.get(SEED_ENV, int(time.time()) // 86_400))
"""Days since 1970, unless the environment gives the one of a run to be repeated."""
