"""Restricts the source `simulated`: simulated state must never decide about files of a real cluster."""

from jobs.cli.config.capture_section import CaptureSection

_PARTS = ("queues", "state")


def simulated_fault(capture: CaptureSection, wal_root: str) -> str | None:
    """Returns why these sources and this root are not a valid simulated cluster; None = valid, or nothing is simulated.

    Args:
        capture: the capture section with the sources.
        wal_root: full URI.
    """
    simulated = [name for name in _PARTS if getattr(capture, name).source == "simulated"]
    if not simulated:
        return None
    said = f"{simulated[0]}.source simulated is a directory that plays a cluster"
    if len(simulated) < len(_PARTS):
        other = next(name for name in _PARTS if name not in simulated)
        real = getattr(capture, other).source
        return f"{said}, and {other}.source {real} asks a real one: give both as simulated, or neither"
    if wal_root.partition(":")[0].lower() != "file":
        return (
            f"{said}, and wal_root {wal_root} is not on this machine: made-up answers would decide about files of a "
            "real cluster. Give its own sources of queues and state, or the file: root of the simulated one"
        )
    if capture.files.source != "hadoop":
        return f"{said}: its files are listed by files.source hadoop, not by {capture.files.source}"
    return None
