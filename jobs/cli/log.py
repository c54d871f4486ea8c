"""Logging of a run: everything goes to standard error, so that standard output contains only the result."""

import json
import logging
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TextIO

from pipelines.common.logged_run import logged_run

LEVELS = ("debug", "info", "warning", "error")
TEXT, JSON = "text", "json"
FORMATS = (TEXT, JSON)
LOG_FORMAT_ENV = "WALSAFE_LOG_FORMAT"
"""Chooses the appender in conf/log4j2.properties, for the lines of the JVM."""
_TIME = "%Y-%m-%dT%H:%M:%SZ"

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


class JsonFormatter(logging.Formatter):
    """Makes one JSON object of a record: time, level, logger, message, run_id; a traceback as `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter.format`."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).strftime(_TIME),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "run_id": logged_run(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class JsonLines:
    """Makes a JSON object of every line that spark-submit and the driver write.

    A line of the JVM gets the run id that the driver's lines had last. Any other text, like a traceback of Python
    itself, becomes a message.
    """

    def __init__(self) -> None:
        self._run_id: object = None

    def __call__(self, line: bytes) -> bytes:
        """Returns the line as one JSON object; an empty line becomes nothing."""
        text = line.decode("utf-8", "replace").rstrip()
        if not text:
            return b""
        try:
            known = json.loads(text)
        except ValueError:
            known = None
        if not isinstance(known, dict) or "message" not in known:
            now = datetime.now(UTC).strftime(_TIME)  # noqa: TID251 - the clock of a log
            known = {"time": now, "level": "INFO", "logger": "stderr", "message": text}
        self._run_id = known.get("run_id") or self._run_id
        return json.dumps({**known, "run_id": self._run_id}, ensure_ascii=False).encode() + b"\n"


def set_up(level: str, form: str = TEXT) -> None:
    """Sets up the root logger once for this process.

    Args:
        level: one of `LEVELS`; applies to walsafe's own modules and to libraries that `_TAMED` does not list.
        form: one of `FORMATS`.
    """
    handler = _AboveBars(sys.stderr)
    formatter: logging.Formatter = JsonFormatter()
    if form == TEXT:
        formatter = logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s", _TIME)
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


def say(line: str, level: int = logging.INFO) -> None:
    """Writes a line for a person to standard error; a record of this level if the log is JSON."""
    handler = next(iter(logging.getLogger().handlers), None)
    if handler is not None and isinstance(handler.formatter, JsonFormatter):
        logging.getLogger("walsafe").log(level, line)
    else:
        with suppress(OSError):  # a full disk or a closed pipe: who has something to say goes on
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()


def _is_wanted(record: logging.LogRecord) -> bool:
    """Filters records by `_TAMED`; a filter, because some libraries set the levels of their loggers when imported."""
    return record.levelno >= _TAMED.get(record.name.partition(".")[0], logging.NOTSET)
