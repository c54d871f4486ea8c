"""Builds the archive that ships the project to the cluster (`spark-submit --py-files`)."""

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

SHIPPED = ("conf", "jobs", "pipelines", "schemas")
_OLDEST = (1980, 1, 1, 0, 0, 0)  # the earliest date that a zip can store: the same tree must give the same bytes


def build_archive(project: Path, cache: Path, scratch: Path) -> Path:
    """Packs the shipped folders, unless an archive of the same content exists.

    Args:
        project: the root of the project.
        cache: the archive is kept here.
        scratch: the folder to use if `cache` is not writable.

    Returns:
        `<cache>/archive/walsafe-<digest of the content>.zip`, or a file of that name in `scratch`.
    """
    files = {str(path.relative_to(project)): path.read_bytes() for path in _files(project)}
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    name = f"walsafe-{digest.hexdigest()[:16]}.zip"
    target = cache / "archive" / name
    if target.exists():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return _write(target, files)
    except OSError:  # no permission, or a read-only file system
        return _write(scratch / name, files)


def _files(project: Path) -> Iterator[Path]:
    for folder in SHIPPED:
        for path in sorted((project / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."):
                yield path


def _write(target: Path, files: dict[str, bytes]) -> Path:
    """Writes a temporary file and renames it, because another start may be reading the target."""
    handle, temporary = tempfile.mkstemp(prefix=".archive-", dir=target.parent)
    with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _OLDEST)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    Path(temporary).chmod(0o644)
    Path(temporary).replace(target)
    return target
