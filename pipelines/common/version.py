"""The version that stands in `runs.walsafe_version`."""

VERSION = "0.1.0"
