"""Builds the archive that ships the project to the cluster (`spark-submit --py-files`)."""

import hashlib
import marshal
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.util import MAGIC_NUMBER, source_hash
from io import BytesIO
from pathlib import Path

from jobs.cli.result_file import replace_file

# of conf, only what a driver reads: other files there may be an operator's, with passwords
SHIPPED = ("conf/demo.yaml", "jobs", "pipelines", "schemas")
_UNCHECKED_HASH = 0b01  # the flags of a `.pyc`
_OLDEST = (1980, 1, 1, 0, 0, 0)  # the earliest date that a zip can store: the same tree must give the same bytes


def build_archive(project: Path, cache: Path, scratch: Path) -> Path:
    """Packs what is shipped, unless an archive of the same content exists.

    The archive also has each module compiled, because Python compiles a source in an archive at every start. A Python
    of another version, for instance on an executor, takes the source.

    Args:
        project: the root of the project.
        cache: the archive is kept here.
        scratch: the folder to use if `cache` is not writable.

    Returns:
        `<cache>/archive/walsafe-<digest of the content and of Python's version>.zip`, or a file of that name in
        `scratch`, without the compiled modules.
    """
    files = {str(path.relative_to(project)): path.read_bytes() for path in _files(project)}
    digest = hashlib.sha256(MAGIC_NUMBER)
    for name, content in files.items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    name = f"walsafe-{digest.hexdigest()[:16]}.zip"
    target = cache / "archive" / name
    try:
        if target.exists():
            return target
        return _write(target, files, compiled=True)
    except OSError:  # no permission, or a read-only file system: this archive serves one start only
        return _write(scratch / name, files, compiled=False)


def _files(project: Path) -> Iterator[Path]:
    for name in SHIPPED:
        shipped = project / name
        for path in [shipped, *sorted(shipped.rglob("*"))]:
            if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."):
                yield path


def _write(target: Path, files: Mapping[str, bytes], *, compiled: bool) -> Path:
    written = BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**files, **(_compiled(target.name, files) if compiled else {})}.items():
            entry = zipfile.ZipInfo(name, _OLDEST)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    replace_file(target, written.getvalue())  # another start may be reading it
    return target


def _compiled(archive: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Returns the `.pyc` of each module that compiles, such that Python does not look at the source (PEP 552)."""
    found = {}
    for name, source in files.items():
        if name.endswith(".py"):
            with suppress(SyntaxError, ValueError):  # whoever imports it gets the error
                code = compile(source, f"{archive}/{name}", "exec", dont_inherit=True, optimize=0)
                flags = _UNCHECKED_HASH.to_bytes(4, "little")
                found[f"{name}c"] = MAGIC_NUMBER + flags + source_hash(source) + marshal.dumps(code)
    return found
