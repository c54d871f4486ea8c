"""Defines the form of cluster names and run ids."""

import re

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Valid cluster names and run ids."""
LATEST = "latest"
"""`--run-id latest` of a job that acts on an earlier run; no run has this name."""
