"""Writes the answer of a job, and its JSON object or its metrics to any Hadoop URI, atomically."""

import logging
import sys
import uuid
from pathlib import Path

from jobs.cli import log
from jobs.cli.context import JobContext
from pipelines.common.errors import EXIT_UNAVAILABLE, UnavailableError
from pipelines.files.local_paths import path_here

_READABLE = 0o644


def write_answer(text: str, code: int, file: str | None = None) -> int:
    """Writes what a job says to standard output, or to a file of this machine.

    A full disk or a closed pipe must not keep the job from its messages and metrics, nor hide how it ended.

    Returns:
        The exit code: the one given, or 4 instead of 0 if the text could not be written.
    """
    try:
        if file:
            Path(file).write_text(text, encoding="utf-8")
        else:
            sys.stdout.write(text)
            sys.stdout.flush()
    except OSError as error:
        log.say(f"walsafe: the answer could not be written: {error}", logging.ERROR)
        return code or EXIT_UNAVAILABLE
    return code


def write_result(uri: str, text: str, context: JobContext, option: str = "--result") -> None:
    """Writes `text` and renames the file into place.

    A bare path is a local path, which needs no Hadoop. In cluster mode, the launcher lets the driver write elsewhere,
    and writes this file itself.

    Args:
        uri: a path on this machine, or a URI of any file system that Hadoop supports.
        text: the whole content.
        context: gives the session for file systems other than the local one.
        option: the option that names the file, for messages.

    Raises:
        UnavailableError: the file cannot be written.
        UsageError: Hadoop has no file system for its name.
    """
    path = path_here(uri)
    if path is None:
        from pipelines.files.text_files import write_text

        write_text(context.spark, uri, text)
        return
    try:
        replace_file(path, text.encode("utf-8"))
    except OSError as error:
        raise UnavailableError(f"{option} {uri} cannot be written: {error}") from error


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file under a temporary name in its directory, which is created if it is missing, and renames it.

    Args:
        path: the file.
        content: the whole content; everybody may read it.

    Raises:
        OSError: it cannot be written; no temporary file is left then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        temporary.write_bytes(content)
        temporary.chmod(_READABLE)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
