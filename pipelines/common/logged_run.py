"""The id of the run that this process works on, for each line of its log."""

from threading import current_thread, main_thread

_RUN: dict[str, str] = {}


def log_of_run(run_id: str) -> None:
    """Says that the lines of this thread from now on are of this run; the main thread says it for all others."""
    _RUN[current_thread().name] = run_id


def logged_run() -> str | None:
    """Returns the id of the run; None as long as it is not known."""
    return _RUN.get(current_thread().name, _RUN.get(main_thread().name))
