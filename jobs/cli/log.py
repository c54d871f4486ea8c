"""Logging of a run: everything on standard error, so that standard output carries the job's answer alone."""

import logging
import sys
import time

LEVELS = ("debug", "info", "warning", "error")

# Libraries that tell their own story at INFO or WARNING; below these levels it is never the operator's concern.
_TAMED = {
    "py4j": logging.ERROR,
    "hdfs": logging.WARNING,
    "great_expectations": logging.ERROR,
    "matplotlib": logging.ERROR,
    "urllib3": logging.ERROR,
    "thriftpy2": logging.ERROR,
    "py": logging.ERROR,  # `py.warnings`: deprecations inside libraries, which the tests watch
}


def set_up(level: str) -> None:
    """Sets up the root logger once for this process.

    Args:
        level: one of `LEVELS`, for walsafe's own modules and for libraries that are not tamed here.
    """
    handler = logging.StreamHandler(sys.stderr)
    formatter = logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%SZ")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    handler.addFilter(_is_wanted)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(capture=True)


def _is_wanted(record: logging.LogRecord) -> bool:
    """A filter, because some of these libraries set their loggers' levels themselves when they are imported."""
    return record.levelno >= _TAMED.get(record.name.partition(".")[0], logging.NOTSET)
