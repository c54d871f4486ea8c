"""Logging of a run: everything goes to standard error, so that standard output contains only the result."""

import logging
import sys
import time
from typing import TextIO

LEVELS = ("debug", "info", "warning", "error")

# Libraries that log too much at INFO or WARNING; below these levels their messages do not concern the operator.
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
        level: one of `LEVELS`; applies to walsafe's own modules and to libraries that `_TAMED` does not list.
    """
    handler = _AboveBars(sys.stderr)
    formatter = logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%SZ")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    handler.addFilter(_is_wanted)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(capture=True)


class _AboveBars(logging.StreamHandler[TextIO]):
    """Writes a line above the bars of `pipelines.common.progress`, if a terminal shows any."""

    def emit(self, record: logging.LogRecord) -> None:
        if "tqdm" not in sys.modules:
            super().emit(record)
            return
        from tqdm import tqdm

        with tqdm.external_write_mode(self.stream):
            super().emit(record)


def _is_wanted(record: logging.LogRecord) -> bool:
    """Filters records by `_TAMED`; a filter, because some libraries set the levels of their loggers when imported."""
    return record.levelno >= _TAMED.get(record.name.partition(".")[0], logging.NOTSET)
