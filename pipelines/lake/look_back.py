"""How far back every job reads the lake for what happened before."""

from datetime import timedelta

LOOK_BACK = timedelta(days=40)
"""Rows of an older `run_date` are ignored: they are no earlier night, no earlier audit and no earlier finding."""
