"""The manifest of a delete-safe list, format 1; without a manifest there is no list."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, SnapshotError
from pipelines.common.instants import format_instant, parse_instant
from pipelines.common.json_object import JsonObject, read_json
from pipelines.common.names import NAME

FORMAT = 1
MANIFEST = "manifest.json"
_PART_NAME = re.compile(r"part-[0-9]{5,}\.txt")
_SHA256 = re.compile(r"[0-9a-f]{64}")


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


def part_name(number: int) -> str:
    """Returns `part-00000.txt` and so on; names have more digits only from part 100,000 on."""
    return f"part-{number:05d}.txt"


def manifest_json(manifest: Manifest) -> str:
    """Returns the text of manifest.json."""
    document = {
        "format": FORMAT,
        "cluster": manifest.cluster,
        "cluster_id": manifest.cluster_id,
        "run_id": manifest.run_id,
        "snapshot_sha256": manifest.snapshot_sha256,
        "decided_at": format_instant(manifest.decided_at),
        "not_after": format_instant(manifest.not_after),
        "files": manifest.files,
        "bytes": manifest.bytes,
        "parts": [{"name": part.name, "lines": part.lines, "sha256": part.sha256} for part in manifest.parts],
    }
    return json.dumps(document, indent=1) + "\n"


def parse_manifest(text: str, where: str) -> Manifest:
    """Parses manifest.json.

    Raises:
        RefusedError: it is not a complete manifest of format 1.
    """
    try:
        form = JsonObject(read_json(text, where), where)
        if form.integer("format") != FORMAT:
            raise RefusedError(Condition.FORMAT_UNKNOWN, f"{where}: only format {FORMAT} is known")
        manifest = Manifest(
            cluster=form.matching("cluster", NAME),
            cluster_id=form.optional_text("cluster_id"),
            run_id=form.matching("run_id", NAME),
            snapshot_sha256=form.matching("snapshot_sha256", _SHA256),
            decided_at=parse_instant(form.text("decided_at")),
            not_after=parse_instant(form.text("not_after")),
            files=form.count("files"),
            bytes=form.count("bytes"),
            parts=_parts(form.parts("parts")),
        )
        form.no_other_keys()
    except SnapshotError as error:
        raise RefusedError(Condition.LIST_DAMAGED, f"{error}; reconcile again under another --run-id") from None
    except ValueError as error:
        raise RefusedError(
            Condition.LIST_DAMAGED, f"{where}: not a manifest ({error}); reconcile again under another --run-id"
        ) from None
    return manifest


def _parts(forms: Sequence[JsonObject]) -> tuple[ListPart, ...]:
    parts = []
    for form in forms:
        parts.append(ListPart(form.matching("name", _PART_NAME), form.count("lines"), form.matching("sha256", _SHA256)))
        form.no_other_keys()
    return tuple(parts)
