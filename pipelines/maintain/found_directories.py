"""Values that describe the entries that maintain finds below a folder of lists or snapshots."""

from dataclasses import dataclass

from pipelines.lake.retention import StoredDirectory


@dataclass(frozen=True, slots=True)
class UntouchedEntry:
    """An entry of a folder of lists or snapshots that maintain does not touch, and the reason."""

    uri: str
    why: str


@dataclass(frozen=True, slots=True)
class FoundDirectories:
    """The entries below a folder."""

    stored: tuple[StoredDirectory, ...]
    left_alone: tuple[UntouchedEntry, ...]
