"""The form of names of clusters and runs."""

import re

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What a cluster and a run_id may be called."""
