"""The manifest of a delete-safe list, format 1; without a manifest there is no list."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Annotated

from pydantic import StringConstraints, TypeAdapter

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, SnapshotError
from pipelines.common.forms import VERSION, Count, Form, Instant, Many, Name, Sha256, Text, WrittenAs, value_of
from pipelines.common.instants import format_instant
from pipelines.common.strict_json import read_json

FORMAT = 1
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class ListPart:
    """One file of the list."""

    name: str
    lines: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of one list; instants in ms since the epoch."""

    cluster: str
    cluster_id: str | None
    run_id: str
    snapshot_sha256: str
    decided_at: int
    not_after: int
    files: int
    bytes: int
    parts: tuple[ListPart, ...]


@dataclass(frozen=True, slots=True)
class ListRequest:
    """The manifest fields of one cluster's delete-safe list; instants in ms since the epoch."""

    cluster: str
    cluster_id: str | None
    run_id: str
    wal_root: str
    snapshot_sha256: str
    decided_at: int
    not_after: int
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class StagedLines:
    """The lines of one list in a hidden folder, where nothing can mistake them for a list."""

    folder: str
    parts: tuple[ListPart, ...]


@dataclass(frozen=True, slots=True)
class StagedLists:
    """The staged lines by cluster; a request without `files` has none."""

    requests: tuple[ListRequest, ...]
    lines: Mapping[str, StagedLines]


class _Part(Form):
    name: Annotated[str, StringConstraints(pattern=r"^part-[0-9]{5,}\.txt$")]
    lines: Count
    sha256: Sha256


class _Manifest(Form):
    format: int
    cluster: Name
    cluster_id: Text | None = None
    run_id: Name
    snapshot_sha256: Sha256
    decided_at: Instant
    not_after: Instant
    files: Count
    bytes: Count
    parts: Many[Annotated[ListPart, WrittenAs(_Part)]]


_MANIFEST: TypeAdapter[Manifest] = TypeAdapter(Annotated[Manifest, WrittenAs(_Manifest, without="format")])


def part_name(number: int) -> str:
    """Returns `part-00000.txt` and so on; names have more digits only from part 100,000 on."""
    return f"part-{number:05d}.txt"


def manifest_json(manifest: Manifest) -> str:
    """Returns the text of manifest.json."""
    document = {
        "format": FORMAT,
        **asdict(manifest),
        "decided_at": format_instant(manifest.decided_at),
        "not_after": format_instant(manifest.not_after),
    }
    return json.dumps(document, indent=1) + "\n"


def list_sha256(manifest: Manifest) -> str:
    """Returns the digest of a whole list: of its manifest, which has the digest of every part."""
    return sha256(manifest_json(manifest).encode()).hexdigest()


def parse_manifest(text: str, where: str) -> Manifest:
    """Parses manifest.json.

    Raises:
        RefusedError: it is not a complete manifest of format 1.
    """
    try:
        document = read_json(text, where)
        if value_of(VERSION, document, where) != FORMAT:
            raise RefusedError(Condition.FORMAT_UNKNOWN, f"{where}: only format {FORMAT} is known")
        return value_of(_MANIFEST, document, where)
    except SnapshotError as error:
        raise RefusedError(Condition.LIST_DAMAGED, f"{error}; reconcile again under another --run-id") from None
