"""Removes expired directories of lists and snapshots through Hadoop's FileSystem.

A directory is removed only if its format proves what it is: it lies directly in a folder of lists or snapshots, it is
not reached through a symbolic link, its manifest.json or snapshot.json is complete, and it contains no other file. It
is renamed to a hidden name first, so a reader never sees part of it. If maintain dies in between, a later run removes
the hidden directory.
"""

import hashlib
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UsageError
from pipelines.common.names import NAME
from pipelines.common.strict_json import read_json
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject, java_errors
from pipelines.lake.retention import LEFTOVER, LIST, SNAPSHOT, FileTotals, StoredDirectory
from pipelines.maintain.found_directories import FoundDirectories, UntouchedEntry, delete, found_or_untouched
from pipelines.reconcile.delete_list import MANIFEST, parse_manifest
from pipelines.snapshot.snapshot_json import SNAPSHOT_JSON, parse_snapshot

SECOND_LOOKS = "second looks"
"""The folder below a lake where a clean-up keeps the snapshots of its second look until it ends."""
_HEX = "[0-9a-f]{32}"
_EXPIRED = ".expired-"
# hidden names given by pipelines/reconcile/list_writer.py, pipelines/snapshot/target.py and `remove` below, and the
# folder names that pipelines/files/scratch.py makes below a hidden folder
_LEFTOVERS = {
    LIST: re.compile(rf"\.staging-{_HEX}|\.unfinished-{NAME.pattern}-{_HEX}|{re.escape(_EXPIRED)}{_HEX}"),
    SNAPSHOT: re.compile(rf"\.(?s:.+)\.{_HEX}\.making|{re.escape(_EXPIRED)}{_HEX}"),
    SECOND_LOOKS: re.compile(_HEX),
}
_DEEPEST = 2


class HadoopDirectories:
    """The directories below one folder of lists or of snapshots.

    Args:
        hadoop: the interface to Spark's JVM.
        root: the folder, as any Hadoop URI.
        kind: LIST for `<root>/<cluster>/<run_id>`; SNAPSHOT for `<root>/<any>` and `<root>/<any>/<any>`; SECOND_LOOKS
            for `<root>/<random>`, which contains only directories left by dead jobs.
        expected: whether the folder must exist; if not, a missing one is empty.
    """

    def __init__(self, hadoop: HadoopJvm, root: str, kind: str, *, expected: bool = True) -> None:
        self._hadoop = hadoop
        self._kind = kind
        self._expected = expected
        with java_errors(root):
            path = hadoop.path(root)
            self._files: JavaObject = path.getFileSystem(hadoop.conf)
            self._root: JavaObject = self._files.makeQualified(path)
            uri = self._root.toUri()
            self._context: JavaObject = hadoop.view.org.apache.hadoop.fs.FileContext.getFileContext(uri, hadoop.conf)

    def find(self) -> FoundDirectories:
        """Returns every entry below the folder; those that are not a list, snapshot or leftover are left alone.

        Raises:
            UsageError: the folder is expected and does not exist.
        """
        with java_errors(str(self._root.toString())):
            if not self._files.exists(self._root):
                if not self._expected:
                    return FoundDirectories((), ())
                raise UsageError(
                    f"{self._root.toString()}: no such folder; check maintain.lists and maintain.snapshots"
                )
            found = list(self._below(self._root, 1))
        return FoundDirectories.of(found)

    def measure(self, stored: StoredDirectory) -> FileTotals | UntouchedEntry | None:
        """Returns the size of a directory, or `UntouchedEntry` if it contains files that are not part of it."""
        total = FileTotals()
        with java_errors(stored.uri):
            path = self._hadoop.path(stored.uri)
            if not self._files.exists(path):
                return None
            for name, status in self._walk(path):
                hidden = name.rpartition("/")[2].startswith(".")
                if stored.kind != LEFTOVER and not hidden and name not in stored.names:
                    return UntouchedEntry(stored.uri, f"it contains {name}, which is not part of a {stored.kind}")
                total += FileTotals(1, int(status.getLen()))
        return total

    def remove(self, stored: StoredDirectory) -> None:
        """Removes the whole directory; a reader sees all of it or nothing.

        Raises:
            RefusedError: the directory is not in a place where `find` looks.
            UnavailableError: the file system did not delete it.
        """
        with java_errors(stored.uri):
            path = self._hadoop.path(stored.uri)
            self._check_place(path)
            if stored.kind != LEFTOVER:
                path = self._hide(path)
            delete(self._files, path, recursive=True)
            parent = path.getParent()
            # remove the emptied folder of a fleet's night; keep a cluster's folder of lists, because a run may be about
            # to write there
            if stored.kind == SNAPSHOT and not parent.equals(self._root) and not self._files.listStatus(parent):
                self._files.delete(parent, False)  # fails if a capture wrote there in the meantime

    def _below(self, folder: JavaObject, depth: int) -> Iterator[StoredDirectory | UntouchedEntry]:
        for status in self._files.listStatus(folder):
            yield from found_or_untouched(self._files, status.getPath(), self._entry(status, depth))

    def _entry(self, status: JavaObject, depth: int) -> Iterator[StoredDirectory | UntouchedEntry]:
        path = status.getPath()
        name, uri = str(path.getName()), str(path.toString())
        if self._is_link(path):
            yield UntouchedEntry(uri, "a symbolic link")
        elif not status.isDirectory():
            return
        elif _LEFTOVERS[self._kind].fullmatch(name):
            yield StoredDirectory(LEFTOVER, uri, self._changed(status))
        elif name.startswith(".") or self._kind == SECOND_LOOKS:
            yield UntouchedEntry(uri, "walsafe does not give such a name")
        elif self._kind == LIST and depth == 1:
            yield from self._below(path, depth + 1)
        else:
            yield from self._read(path, depth)

    def _read(self, path: JavaObject, depth: int) -> Iterator[StoredDirectory | UntouchedEntry]:
        uri = str(path.toString())
        main = MANIFEST if self._kind == LIST else SNAPSHOT_JSON
        file = self._hadoop.path(f"{uri}/{main}")
        if not self._files.exists(file):
            if self._kind == SNAPSHOT and depth < _DEEPEST:
                yield from self._below(path, depth + 1)
            else:
                yield UntouchedEntry(uri, f"it has no {main}")
            return
        content = self._content(file)
        try:
            yield _list(uri, content) if self._kind == LIST else _snapshot(uri, content)
        except (RefusedError, ValueError) as error:
            yield UntouchedEntry(uri, str(error))

    def _content(self, file: JavaObject) -> bytes:
        stream = self._files.open(file)
        try:
            return bytes(self._hadoop.view.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def _changed(self, folder: JavaObject) -> int:
        """Returns the newest modification time (ms) of a folder and the files below it; the folder records none."""
        times = [int(status.getModificationTime()) for _, status in self._walk(folder.getPath())]
        return max([int(folder.getModificationTime()), *times])

    def _walk(self, folder: JavaObject) -> Iterator[tuple[str, JavaObject]]:
        """Yields every file below a folder, with its path relative to the folder.

        On the local disk Hadoop follows symbolic links, so files behind a link are yielded too; `measure` does not
        accept them as part of a list or snapshot.
        """
        prefix = f"{self._files.makeQualified(folder).toString()}/"
        files = self._files.listFiles(folder, True)
        while files.hasNext():
            status = files.next()
            yield str(status.getPath().toString()).removeprefix(prefix), status

    def _hide(self, path: JavaObject) -> JavaObject:
        hidden = self._hadoop.view.org.apache.hadoop.fs.Path(path.getParent(), f"{_EXPIRED}{uuid.uuid4().hex}")
        options = self._hadoop.gateway.new_array(self._hadoop.view.org.apache.hadoop.fs.Options.Rename, 0)
        self._context.rename(path, hidden, options)
        return hidden

    def _check_place(self, path: JavaObject) -> None:
        """Checks again that a path is at most `_DEEPEST` levels below the root, with no symbolic link on the way."""
        one = self._files.makeQualified(path)
        for _ in range(_DEEPEST):
            if one is None or self._is_link(one):
                break
            one = one.getParent()
            if one is not None and one.equals(self._root):
                return
        raise RefusedError(
            Condition.DIRECTORY_UNKNOWN, f"{path.toString()} is not below {self._root.toString()}; nothing was removed"
        )

    def _is_link(self, path: JavaObject) -> bool:
        if path.toUri().getScheme() == "file":  # on the local disk Hadoop never reports a symbolic link
            return Path(str(path.toUri().getPath())).is_symlink()
        return bool(self._context.getFileLinkStatus(path).isSymlink())


def _list(uri: str, content: bytes) -> StoredDirectory:
    manifest = parse_manifest(content.decode("utf-8"), MANIFEST)
    if uri.split("/")[-2:] != [manifest.cluster, manifest.run_id]:
        raise RefusedError(
            Condition.DIRECTORY_UNKNOWN, f"its {MANIFEST} belongs to {manifest.cluster}/{manifest.run_id}"
        )
    names = frozenset({MANIFEST, *(part.name for part in manifest.parts)})
    return StoredDirectory(
        LIST, uri, manifest.not_after, manifest.cluster, manifest.run_id, manifest.snapshot_sha256, names
    )


def _snapshot(uri: str, content: bytes) -> StoredDirectory:
    snapshot = parse_snapshot(read_json(content, SNAPSHOT_JSON))
    if not snapshot.steps:
        raise RefusedError(Condition.DIRECTORY_UNKNOWN, f"its {SNAPSHOT_JSON} has no steps")
    taken = max(step.finished_at for step in snapshot.steps)
    names = frozenset({SNAPSHOT_JSON, *snapshot.contents})
    return StoredDirectory(SNAPSHOT, uri, taken, snapshot.cluster, None, hashlib.sha256(content).hexdigest(), names)
