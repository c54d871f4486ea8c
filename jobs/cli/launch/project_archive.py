"""Builds the archive that ships the project to the cluster (`spark-submit --py-files`)."""

import hashlib
import marshal
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path

SHIPPED = ("conf", "jobs", "pipelines", "schemas")
_UNCHECKED_HASH = 0b01  # the flags of a `.pyc`
_OLDEST = (1980, 1, 1, 0, 0, 0)  # the earliest date that a zip can store


def build_archive(project: Path, cache: Path, scratch: Path) -> Path:
    """Packs the shipped folders, unless an archive of the same content exists.

    Each module is also in it as this Python compiles it, or every start would compile it again; another Python, such as
    that of an executor, takes the source.

    Args:
        project: the root of the project.
        cache: the archive is kept here.
        scratch: the folder to use if `cache` is not writable.

    Returns:
        `<cache>/archive/walsafe-<digest of the content>.zip`, or a file of that name in `scratch`.
    """
    files = {str(path.relative_to(project)): path.read_bytes() for path in _files(project)}
    digest = hashlib.sha256(sys.implementation.cache_tag.encode())
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
        compiled = {f"{name}c": _compiled(name, content) for name, content in files.items() if name.endswith(".py")}
        for name, content in {**files, **compiled}.items():
            entry = zipfile.ZipInfo(name, _OLDEST)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    Path(temporary).chmod(0o644)
    Path(temporary).replace(target)
    return target


def _compiled(name: str, source: bytes) -> bytes:
    """Returns the content of a `.pyc` that Python takes without looking at the source (PEP 552)."""
    code = compile(source, name, "exec", dont_inherit=True)
    return MAGIC_NUMBER + _UNCHECKED_HASH.to_bytes(4, "little") + source_hash(source) + marshal.dumps(code)
