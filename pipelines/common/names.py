"""Defines the form of cluster names and run ids."""

import re

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Valid cluster names and run ids."""
