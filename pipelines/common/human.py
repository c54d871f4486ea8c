"""Formats sizes, durations, instants and counts for people."""

from pipelines.common.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, format_instant, is_instant

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def human_bytes(size: int) -> str:
    """Formats a size in bytes: 1536 becomes `1.5 KiB`."""
    value = float(size)
    for unit in _UNITS[:-1]:
        if abs(value) < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} {_UNITS[-1]}"


def human_duration(ms: int) -> str:
    """Formats a duration in ms with at most two units: 97_200_000 becomes `1 d 3 h`; less than a second is `0 s`."""
    if ms < 0:
        return f"-{human_duration(-ms)}"
    if ms >= DAY_MS:
        return f"{ms // DAY_MS} d {ms % DAY_MS // HOUR_MS} h"
    if ms >= HOUR_MS:
        return f"{ms // HOUR_MS} h {ms % HOUR_MS // MINUTE_MS} min"
    if ms >= MINUTE_MS:
        return f"{ms // MINUTE_MS} min {ms % MINUTE_MS // SECOND_MS} s"
    return f"{ms // SECOND_MS} s"


def human_instant(ms: int) -> str:
    """Formats ms since the epoch to the minute: `2026-11-21 02:00 UTC`; out of range as `format_instant`."""
    text = format_instant(ms)
    return f"{text[:10]} {text[11:16]} UTC" if is_instant(ms) else text


def human_count(number: int, noun: str) -> str:
    """Formats a count with its noun: `1 file`, `12,000 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def human_amount(files: int, size: int, noun: str = "file") -> str:
    """Formats a count of files and their size in bytes: `12 files, 1.5 KiB`."""
    return f"{human_count(files, noun)}, {human_bytes(size)}"
