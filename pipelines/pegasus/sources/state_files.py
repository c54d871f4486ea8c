"""Reads states of a cluster from a file system: state files, and captures of Pegasus's own output."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

from pipelines.common.errors import UsageError
from pipelines.pegasus.domain.state.capture import CAPTURED, parse_capture
from pipelines.pegasus.domain.state.model import ClusterState
from pipelines.pegasus.domain.state.reading import parse_state


class StateDirectoryEntry(Protocol):
    """An entry of a directory."""

    @property
    def name(self) -> str:
        """Returns the name of the entry without its path."""
        ...

    @property
    def is_directory(self) -> bool:
        """Returns whether the entry is a directory."""
        ...


class StateFileSystem(Protocol):
    """The file system operations that reading states needs."""

    def entries(self, path: str) -> Sequence[StateDirectoryEntry] | None:
        """Returns the entries of a directory; None = there is no such directory."""
        ...

    def read(self, path: str) -> bytes:
        """Returns the content of a file."""
        ...


class StateFiles:
    """Reads states."""

    def __init__(self, files: StateFileSystem) -> None:
        self._files = files

    def states(self, uri: str) -> Sequence[ClusterState]:
        """Returns states in time order.

        Args:
            uri: a state file, a capture, or a directory with any number of both.

        Raises:
            UsageError: there is no state, a file is invalid, or two states belong to different clusters or have the
                same time.
        """
        states = sorted(self._found(uri.rstrip("/")), key=lambda one: one.observed_at)
        if not states:
            raise UsageError(f"{uri} contains no *.json and no capture; docs/split-state.md describes both")
        for one, other in pairwise(states):
            if one.cluster != other.cluster:
                raise UsageError(
                    f"{other.where} belongs to cluster {other.cluster}, {one.where} to {one.cluster}; give the "
                    "states of one cluster"
                )
            if one.observed_at == other.observed_at:
                raise UsageError(f"{one.where} and {other.where} have the same time; remove one of them")
        return states

    def _found(self, uri: str) -> list[ClusterState]:
        entries = self._files.entries(uri)
        if entries is None:
            return [parse_state(self._files.read(uri), uri)]
        if _is_capture(entries):
            return [self._capture(uri, entries)]
        states = []
        for entry in entries:
            path = f"{uri}/{entry.name}"
            below = (self._files.entries(path) or ()) if entry.is_directory else ()
            if _is_capture(below):
                states.append(self._capture(path, below))
            elif not entry.is_directory and entry.name.endswith(".json"):
                states.append(parse_state(self._files.read(path), path))
        return states

    def _capture(self, uri: str, entries: Sequence[StateDirectoryEntry]) -> ClusterState:
        names = [one.name for one in entries if not one.is_directory]
        return parse_capture({name: self._files.read(f"{uri}/{name}") for name in names}, uri)


def _is_capture(entries: Sequence[StateDirectoryEntry]) -> bool:
    return any(one.name == CAPTURED for one in entries)
