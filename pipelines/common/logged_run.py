"""The id of the run that a thread works on, for each line of the log."""

from threading import current_thread, main_thread

_RUN: dict[str, str] = {}


def log_of_run(run_id: str) -> None:
    """Sets the run id of the lines that this thread logs from now on.

    Threads that never call it use the run id of the main thread.
    """
    _RUN[current_thread().name] = run_id


def logged_run() -> str | None:
    """Returns the run id for a line of this thread; None as long as it is not known."""
    return _RUN.get(current_thread().name, _RUN.get(main_thread().name))
