"""Options of the split jobs that work on rows."""

from argparse import ArgumentParser
from collections.abc import Sequence
from datetime import datetime

from pipelines.common.errors import UsageError


def add_identity(parser: ArgumentParser) -> None:
    """Which cluster and table the answer is about."""
    parser.add_argument("--cluster", default="pegasus", metavar="NAME", help="for the tables; default: pegasus")
    parser.add_argument("--table", required=True, metavar="NAME", help="name of the Pegasus table")


def add_instant(parser: ArgumentParser) -> None:
    """When the rows were exported, for what has expired."""
    parser.add_argument(
        "--at", metavar="INSTANT", help="judge what has expired at this instant (2026-11-21T02:00:00Z); default: now"
    )


def instant_ms(text: str | None, now_ms: int) -> int:
    """`--at` in ms since the epoch.

    Raises:
        UsageError: no instant, or one without a time zone.
    """
    if text is None:
        return now_ms
    try:
        read = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise UsageError(f"--at {text}: give an instant such as 2026-11-21T02:00:00Z") from None
    if read.tzinfo is None:
        raise UsageError(f"--at {text}: say which time zone; Z is UTC")
    return int(read.timestamp() * 1000)


def versions(texts: Sequence[str]) -> dict[int, int]:
    """`--version INDEX=VERSION`.

    Raises:
        UsageError: not two numbers.
    """
    found = {}
    for text in texts:
        index, _, version = text.partition("=")
        try:
            found[int(index)] = int(version)
        except ValueError:
            raise UsageError(f"--version {text}: give partition and version, such as 3=-1") from None
    return found
