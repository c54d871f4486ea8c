"""Reads state files from a file system."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

from pipelines.common.errors import UsageError
from pipelines.pegasus.domain.state.model import ClusterState
from pipelines.pegasus.domain.state.reading import parse_state


class StateDirectoryEntry(Protocol):
    """An entry of a directory."""

    @property
    def name(self) -> str:
        """Returns the name of the entry without its path."""
        ...


class StateFileSystem(Protocol):
    """The file system operations that reading state files needs."""

    def entries(self, path: str) -> Sequence[StateDirectoryEntry] | None:
        """Returns the entries of a directory; None = there is no such directory."""
        ...

    def read(self, path: str) -> bytes:
        """Returns the content of a file."""
        ...


class StateFiles:
    """Reads state files."""

    def __init__(self, files: StateFileSystem) -> None:
        self._files = files

    def states(self, uri: str) -> Sequence[ClusterState]:
        """Returns the states of a file, or of every `*.json` of a directory, in time order.

        Raises:
            UsageError: there is no state, a file is invalid, or two states belong to different clusters or have the
                same time.
        """
        entries = self._files.entries(uri)
        names = [uri] if entries is None else [f"{uri.rstrip('/')}/{one.name}" for one in entries]
        paths = [name for name in names if entries is None or name.endswith(".json")]
        if not paths:
            raise UsageError(f"{uri} contains no *.json; docs/split-state.md describes state files")
        states = sorted((parse_state(self._files.read(path), path) for path in paths), key=lambda one: one.observed_at)
        for one, other in pairwise(states):
            if one.cluster != other.cluster:
                raise UsageError(
                    f"{other.where} belongs to cluster {other.cluster}, {one.where} to {one.cluster}; give the "
                    "states of one cluster"
                )
            if one.observed_at == other.observed_at:
                raise UsageError(f"{one.where} and {other.where} have the same time; remove one of them")
        return states
