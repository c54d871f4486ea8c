"""Defines the version that walsafe writes to `runs.walsafe_version`."""

VERSION = "0.1.0"
