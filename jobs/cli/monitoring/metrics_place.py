"""Where metrics go: a folder of textfiles, or a Pushgateway (docs/metrics.md)."""

from urllib.parse import urlsplit


def check_metrics(place: str) -> str:
    """Returns a value of `--metrics`.

    Raises:
        ValueError: it is a file, or a URL with a password in it.
    """
    if place.endswith(".prom"):
        raise ValueError("expected a folder: each job of each cluster has a file of its own there. Remove this file")
    if is_gateway(place) and "@" in urlsplit(place).netloc:
        raise ValueError("a URL with a password belongs into an environment variable; write $NAME of this variable")
    return place


def is_gateway(place: str) -> bool:
    """Tells whether a place is a Pushgateway; `$NAME` is one whose URL is in an environment variable."""
    return place.lower().startswith(("http://", "https://", "$"))
