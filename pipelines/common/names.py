"""Defines the form of cluster names and run ids, and what the command is called."""

import re

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Valid cluster names and run ids."""
PROGRAM = "walsafe"
"""What a person types before the name of a job, where no caller says how walsafe was installed."""
LATEST = "latest"
"""`--run-id latest` of a job that acts on an earlier run; no run has this name."""
