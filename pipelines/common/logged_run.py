"""The id of the run that this process works on, for each line of its log."""

_RUN: dict[str, str] = {}


def log_of_run(run_id: str) -> None:
    """Says that the lines from now on are of this run."""
    _RUN["id"] = run_id


def logged_run() -> str | None:
    """Returns the id of the run; None as long as it is not known."""
    return _RUN.get("id")
