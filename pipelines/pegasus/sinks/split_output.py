"""Stores the output of an offline split: staged by task with a manifest each, then published by one rename."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from uuid import uuid4

from pydantic import TypeAdapter

from pipelines.common.errors import UnavailableError, UsageError
from pipelines.pegasus.domain.offline.model import MANIFEST, PartFile, PartitionResult
from pipelines.pegasus.domain.offline.ranges import SplitTask

_PART, _INPUTS = "part.json", "inputs.json"
_PARTS = TypeAdapter(list[PartitionResult])


@dataclass(frozen=True, slots=True)
class StagedPart:
    """What one attempt at a task has finished.

    Attributes:
        folder: the name of its directory.
        results: the results of the task's partitions.
    """

    folder: str
    results: Sequence[PartitionResult]


@dataclass(frozen=True, slots=True)
class StagedParts:
    """The results of all partitions.

    Attributes:
        results: the results by partition.
        folders: the name of the directory by the beginning of its files' names.
        published: whether an earlier run has published them.
    """

    results: Sequence[PartitionResult]
    folders: Mapping[str, str]
    published: bool = False


class SplitOutput:
    """Writes `<out>/<cluster>/<app>` in Pegasus's bulk-load layout, or the same layout with Parquet files.

    Until the output is complete it is named `<out>/<cluster>/.<app>.staging`, and `lock` locks `.<app>.lock` beside
    it. A task that has its manifest is not done again. Each attempt at a task has a directory of its own, because Spark
    may run two at once, and one that it has given up may still write.
    """

    def __init__(self, out: str, cluster: str, app: str, inputs: str) -> None:
        """Creates the object, without touching the disk; `inputs` is a digest of the inputs of the split."""
        self.final = Path(out) / cluster / app
        self.staging = Path(out) / cluster / f".{app}.staging"
        self._inputs = inputs

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keeps other jobs from writing this output; a job that dies loses its lock, whose file stays.

        Raises:
            UnavailableError: another job is writing this output, or the file system fails.
        """
        with ExitStack() as stack:
            try:
                self.final.parent.mkdir(parents=True, exist_ok=True)
                file = stack.enter_context(self.final.with_name(f".{self.final.name}.lock").open("w"))
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UnavailableError(
                    f"{self.final}: another job is writing this output; wait for its end, or give another --out"
                ) from None
            except OSError as error:
                raise UnavailableError(f"{self.final} cannot be written: {error.strerror}") from None
            yield

    def begin(self) -> StagedParts | None:
        """Creates the staging directory, or returns the parts if an output of the same inputs exists already.

        Raises:
            UsageError: an output of other inputs exists, or one whose files have changed since.
            UnavailableError: the directory cannot be created.
        """
        if self.final.exists():
            results = self._published()
            shutil.rmtree(self.staging, ignore_errors=True)  # of an attempt that outlived its run
            return StagedParts(results, {}, published=True)
        try:
            self.staging.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UnavailableError(f"{self.staging} cannot be created: {error.strerror}") from None
        return None

    def _published(self) -> list[PartitionResult]:
        """Returns what an earlier run has published; see `begin`."""
        manifest = self.final / MANIFEST
        try:
            said = json.loads(manifest.read_text()) if manifest.is_file() else {}
            if said.get("inputs") != self._inputs:
                raise UsageError(
                    f"{self.final} exists already and was made of other inputs or with other options; move it away or "
                    "give another --out"
                )
            results = [replace(part, resumed=True) for part in _PARTS.validate_python(said["parts"])]
        except (ValueError, KeyError):
            raise UsageError(f"{manifest} is damaged; move {self.final} away or give another --out") from None
        for file in (file for part in results for file in part.files):
            if _size(_place(self.final, file)) != file.bytes:
                raise UsageError(
                    f"{self.final} exists already, but {file.partition}/{file.file} is no longer the file that was "
                    "written; move it away or give another --out"
                )
        return results

    def tidy(self, tasks: Iterable[SplitTask], prints: Mapping[int, str]) -> None:
        """Removes what earlier runs have left, except the parts that a task takes over."""
        found = (self.kept(task, prints) for task in tasks)
        taken = {part.folder for part in found if part is not None}
        for path in self.staging.glob("part-*"):
            if path.name not in taken:
                shutil.rmtree(path, ignore_errors=True)

    def part(self, name: str) -> Path:
        """Creates a directory for one attempt at the files whose names begin with `name`."""
        folder = self.staging / f"part-{name}.{uuid4().hex}"
        folder.mkdir(parents=True)
        return folder

    def kept(self, task: SplitTask, prints: Mapping[int, str]) -> StagedPart | None:
        """Returns what an earlier attempt has finished of a task.

        Args:
            task: the old partitions and the range of their keys.
            prints: the digest of the inputs of every old partition.

        Returns:
            None = no attempt has finished the task with these inputs, or its files are no longer whole.
        """
        for manifest in sorted(self.staging.glob(f"part-{task.name}.*/{_PART}")):
            folder = manifest.parent
            parts = [replace(part, resumed=True) for part in _PARTS.validate_json(manifest.read_bytes(), strict=False)]
            if (folder / _INPUTS).read_text() == _inputs(task, parts, prints) and all(
                _size(_place(folder, file)) == file.bytes for part in parts for file in part.files
            ):
                return StagedPart(folder.name, parts)
        return None

    def keep(
        self, folder: Path, task: SplitTask, parts: Sequence[PartitionResult], prints: Mapping[int, str]
    ) -> StagedPart:
        """Marks an attempt as complete: writes its manifest last, by rename."""
        (folder / _INPUTS).write_text(_inputs(task, parts, prints))
        _write(folder / _PART, [asdict(part) for part in parts])
        return StagedPart(folder.name, parts)

    def publish(self, app_id: int, app: str, count: int, staged: StagedParts, *, parquet: bool) -> None:
        """Collects all files and publishes the output by one rename.

        Raises:
            UnavailableError: the file system fails, or a file has another size than its task wrote.
        """
        try:
            whole = self.staging / "whole"
            shutil.rmtree(whole, ignore_errors=True)  # left by an attempt that died here, maybe with other parts
            whole.mkdir()
            files = [file for part in staged.results for file in part.files]
            for partition in range(count):
                mine = [file for file in files if file.partition == partition]
                folder = whole / str(partition)
                folder.mkdir()
                for file in mine:
                    source = self.staging / staged.folders[file.file.rpartition("-")[0]]
                    _link(_place(source, file), folder / file.file, file.bytes)
                if not parquet:
                    listed = [{"name": file.file, "size": file.bytes, "md5": file.md5} for file in mine]
                    total = sum(file.bytes for file in mine)
                    _write(folder / "bulk_load_metadata", {"files": listed, "file_total_size": total})
            if not parquet:
                _write(whole / "bulk_load_info", {"app_id": app_id, "app_name": app, "partition_count": count})
            parts = [asdict(part) for part in staged.results]
            _write(
                whole / MANIFEST, {"inputs": self._inputs, "data_version": 1, "partition_count": count, "parts": parts}
            )
            whole.rename(self.final)
        except OSError as error:
            raise UnavailableError(
                f"{error.filename}: {error.strerror}; start the job again, and it continues"
            ) from None
        shutil.rmtree(self.staging, ignore_errors=True)  # an attempt that Spark has given up may still write there


def _place(folder: Path, file: PartFile) -> Path:
    return folder / str(file.partition) / file.file


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


def _link(source: Path, target: Path, size: int) -> None:
    """Creates a hard link, so that the part stays complete until the output is; copies if links do not work."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
    if _size(target) != size:
        raise UnavailableError(
            f"{source} has {_size(target)} bytes, but its task wrote {size}; start the job again, and it writes the "
            "file again"
        )


def _write(target: Path, document: object) -> None:
    scratch = target.with_name(f".{target.name}.new")
    with scratch.open("w", encoding="utf-8") as stream:
        stream.write(json.dumps(document))
        stream.flush()
        os.fsync(stream.fileno())
    scratch.replace(target)


def _inputs(task: SplitTask, parts: Iterable[PartitionResult], prints: Mapping[int, str]) -> str:
    """Returns the digests of all inputs on which these results depend."""
    partitions = sorted({index for part in parts for index in (part.partition, *part.owners)})
    keys = [task.begin.hex(), None if task.end is None else task.end.hex()]
    # an earlier attempt may have had more partitions
    return json.dumps([keys, [[index, prints.get(index)] for index in partitions]])
