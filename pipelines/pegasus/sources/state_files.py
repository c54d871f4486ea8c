"""Reads states of a cluster from a file system: state files, and captures of Pegasus's own output."""

from collections.abc import Sequence
from itertools import pairwise

from pipelines.common.errors import UsageError
from pipelines.files.file_reader import DirectoryEntry, FileReader
from pipelines.pegasus.domain.state.capture import CAPTURED, parse_capture
from pipelines.pegasus.domain.state.model import ClusterState
from pipelines.pegasus.domain.state.reading import parse_state


def states_at(files: FileReader, uri: str) -> Sequence[ClusterState]:
    """Returns states in time order.

    Args:
        files: reads the file system.
        uri: a state file, a capture, or a directory with any number of both.

    Raises:
        UsageError: there is no state, a file is invalid, or two states belong to different clusters or have the
            same time.
    """
    states = sorted(_found(files, uri.rstrip("/")), key=lambda one: one.observed_at)
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


def _found(files: FileReader, uri: str) -> list[ClusterState]:
    entries = files.entries(uri)
    if entries is None:
        return [parse_state(files.read(uri), uri)]
    if _is_capture(entries):
        return [_capture(files, uri, entries)]
    states = []
    for entry in entries:
        path = f"{uri}/{entry.name}"
        below = (files.entries(path) or ()) if entry.is_directory else ()
        if _is_capture(below):
            states.append(_capture(files, path, below))
        elif not entry.is_directory and entry.name.endswith(".json"):
            states.append(parse_state(files.read(path), path))
    return states


def _capture(files: FileReader, uri: str, entries: Sequence[DirectoryEntry]) -> ClusterState:
    names = [one.name for one in entries if not one.is_directory]
    return parse_capture({name: files.read(f"{uri}/{name}") for name in names}, uri)


def _is_capture(entries: Sequence[DirectoryEntry]) -> bool:
    return any(one.name == CAPTURED for one in entries)
