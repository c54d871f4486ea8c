"""Simulates the clean-up's file system in memory, so that a test can stop, kill or overtake a job at each side effect.

Every call that changes something is a *step* with a name (`Process.step`); a call for many files is a step for each.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from pipelines.cleanup.ports import FileState, Move
from pipelines.cleanup.quarantine import runs_in
from pipelines.common.errors import UnavailableError
from pipelines.files.file_batch import FileBatch

T = TypeVar("T")


class Killed(BaseException):
    """Simulates SIGKILL: no `except Exception` sees it, and a dead process changes nothing in its `finally` either."""


@dataclass(frozen=True)
class Kill:
    """The step at which a process dies, and whether it dies before or after it."""

    step: int
    after: bool


@dataclass
class Process:
    """One job as a process.

    Attributes:
        kill: the step at which it dies; None = it does not die.
        meanwhile: what happens just before the step with that number, while this job sleeps.
        steps: the names of the steps so far.
        behind: answers its reads from an earlier state of the file system; None = from the present state.
    """

    kill: Kill | None = None
    meanwhile: Mapping[int, Callable[[], object]] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    dead: bool = False
    behind: "Behind | None" = None

    def step(self, name: str, effect: Callable[[], T]) -> T:
        """Executes a step, which has an effect that others can see, and dies before or after it if that is planned."""
        self.alive()
        number = len(self.steps)
        self.steps.append(name)
        if number in self.meanwhile:
            self.meanwhile[number]()
        self._die(Kill(number, after=False))
        done = effect()
        self._die(Kill(number, after=True))
        return done

    def alive(self) -> None:
        if self.dead:
            raise Killed

    def _die(self, now: Kill) -> None:
        if self.kill == now:
            self.dead = True
            raise Killed


@dataclass(frozen=True)
class Entry:
    """A file; only small files have a `text`."""

    length: int
    modification_time: int
    text: str = ""


@dataclass(frozen=True)
class Picture:
    """The content of a file system at one moment."""

    files: Mapping[str, Entry]
    directories: AbstractSet[str]

    def look(self, uri: str) -> FileState | None:
        entry = self.files.get(uri)
        if entry is not None:
            return FileState(entry.length, entry.modification_time)
        return FileState(0, 0, is_file=False) if uri in self.directories else None

    def below(self, directory: str) -> dict[str, Entry]:
        return {uri: self.files[uri] for uri in sorted(self.files) if uri.startswith(f"{directory}/")}

    def names(self, directory: str) -> list[str]:
        inside = (uri for uri in (*self.files, *self.directories) if uri.startswith(f"{directory}/"))
        return sorted({uri[len(directory) + 1 :].partition("/")[0] for uri in inside})


@dataclass
class Behind:
    """A client whose reads are answered from an earlier state of the file system.

    Attributes:
        lags: how far each read is behind, in changes of the file system; once they are used up, reads are current.
        back: whether a read may show an older state than the read before it, as with two observers in turn.
    """

    lags: Sequence[int]
    back: bool = False
    looks: int = 0
    seen_up_to: int = 0

    def picture(self, disk: "Disk") -> Picture:
        lag = self.lags[self.looks] if self.looks < len(self.lags) else 0
        self.looks += 1
        at = max(0, len(disk.past) - lag)
        if not self.back:
            at = max(at, self.seen_up_to)
        self.seen_up_to = at
        return disk.past[at] if at < len(disk.past) else disk.picture


@dataclass
class Disk:
    """A file system in memory.

    Attributes:
        now: the time, ms.
        taken: the highest lease whose holder ever gave a run's directory its name.
        unfenced: the changes that a holder made to files of a run after a later holder had taken it; must stay empty.
        past: the content after each change so far, for clients that read behind.
    """

    now: int
    files: dict[str, Entry] = field(default_factory=dict)
    directories: set[str] = field(default_factory=set)
    taken: dict[str, int] = field(default_factory=dict)
    unfenced: list[str] = field(default_factory=list)
    past: list["Picture"] = field(default_factory=list)

    @property
    def picture(self) -> "Picture":
        """Returns the present content; it changes with the disk."""
        return Picture(self.files, self.directories)

    def remember(self) -> None:
        """Stores the present content for clients that read behind."""
        self.past.append(Picture(dict(self.files), set(self.directories)))

    def make(self, directory: str) -> None:
        while directory.count("/") > 2 and directory not in self.directories:
            self.directories.add(directory)
            directory = directory.rpartition("/")[0]

    def below(self, directory: str) -> dict[str, Entry]:
        return self.picture.below(directory)

    def names(self, directory: str) -> list[str]:
        return self.picture.names(directory)

    def take(self, directory: str) -> None:
        lease, run = _at_work(directory)
        if run:
            self.taken[run] = max(lease, self.taken.get(run, 0))

    def touched(self, *uris: str) -> None:
        for uri in uris:
            lease, run = _at_work(uri)
            if run and lease < self.taken.get(run, 0):
                self.unfenced.append(uri)


def _at_work(uri: str) -> tuple[int, str]:
    name = next((element for element in uri.split("/") if element.startswith(".at-work-")), "")
    run = next(iter(runs_in([name])), "") if name else ""
    return (int(name.split("-")[2]), run) if run else (0, "")


class MemoryStore:
    """Implements `WalStore` for one process; changes apply to the present state, as on an active name node."""

    def __init__(self, disk: Disk, process: Process) -> None:
        self._disk = disk
        self._process = process

    def _step(self, name: str, effect: Callable[[], T]) -> T:
        def remembered() -> T:
            self._disk.remember()
            return effect()

        return self._process.step(name, remembered)

    def _picture(self) -> Picture:
        """Returns the content that a read shows."""
        self._process.alive()
        behind = self._process.behind
        return behind.picture(self._disk) if behind else self._disk.picture

    def seen(self, uris: Sequence[str]) -> list[FileState | None]:
        picture = self._picture()
        return [picture.look(uri) for uri in uris]

    def _look(self, uri: str) -> FileState | None:
        return self._disk.picture.look(uri)

    def move(self, moves: Sequence[Move]) -> list[str | None]:
        return [self._step(f"move {_name(one.source)}", partial(self._move, one)) for one in moves]

    def _move(self, move: Move) -> str | None:
        disk = self._disk
        if self._picture().look(move.source) is None or move.source not in disk.files:
            return "FileNotFoundException"  # both stores look before they rename
        if self._look(move.target) is not None:
            return "FileAlreadyExistsException"
        if move.target.rpartition("/")[0] not in disk.directories:
            return "FileNotFoundException: no parent"
        disk.files[move.target] = disk.files.pop(move.source)
        disk.touched(move.source, move.target)
        return None

    def delete(self, uris: Sequence[str]) -> list[str | None]:
        return [self._step(f"delete {_name(uri)}", partial(self._delete, uri)) for uri in uris]

    def _delete(self, uri: str) -> str | None:
        # both stores look before they delete
        if self._picture().look(uri) is not None and self._disk.files.pop(uri, None) is not None:
            self._disk.touched(uri)
        return None

    def walk(self, directory: str) -> Iterator[FileBatch]:
        found = self._picture().below(directory)
        yield FileBatch(
            [uri[len(directory) + 1 :] for uri in found],
            [entry.length for entry in found.values()],
            [entry.modification_time for entry in found.values()],
        )

    def make_directories(self, uris: Sequence[str]) -> None:
        for uri in uris:
            self._step(f"make_directories {_name(uri)}", partial(self._make, uri))

    def _make(self, uri: str) -> None:
        self._disk.make(uri)
        self._disk.take(uri)

    def remove_empty(self, directory: str) -> bool:
        return self._step(f"remove_empty {_name(directory)}", lambda: self._remove(directory))

    def _remove(self, directory: str) -> bool:
        if self._disk.below(directory):
            return False
        inside = f"{directory}/"
        self._disk.directories -= {one for one in self._disk.directories if f"{one}/".startswith(inside)}
        return True

    def names(self, directory: str) -> list[str]:
        return self._picture().names(directory)

    def rename_directory(self, source: str, target: str) -> bool:
        return self._step(f"rename_directory {_name(source)}", lambda: self._rename(source, target))

    def _rename(self, source: str, target: str) -> bool:
        disk = self._disk
        if source not in self._picture().directories or source not in disk.directories:
            return False
        if self._look(target) is not None:
            raise UnavailableError(f"{target} exists")
        inside = f"{source}/"
        disk.files = {_moved(uri, inside, target): entry for uri, entry in disk.files.items()}
        disk.directories = {_moved(f"{one}/", inside, target).removesuffix("/") for one in disk.directories}
        disk.take(target)
        return True

    def create(self, uri: str, text: str) -> bool:
        made = self._step(f"create {_name(uri)}", lambda: self._create(uri))
        if made:  # a creator that dies here leaves an empty file
            self._step(f"write {_name(uri)}", lambda: self._write(uri, text))
        return made

    def _create(self, uri: str) -> bool:
        if uri in self._disk.files:
            return False
        self._write(uri, "")
        return True

    def replace(self, uri: str, text: str) -> None:
        self._step(f"replace {_name(uri)}", lambda: self._write(uri, text))

    def _write(self, uri: str, text: str) -> None:
        self._disk.make(uri.rpartition("/")[0])
        self._disk.files[uri] = Entry(len(text), self._disk.now, text)

    def read(self, uri: str) -> str | None:
        entry = self._picture().files.get(uri)
        return None if entry is None else entry.text


def _name(uri: str) -> str:
    return uri.rpartition("/")[2]


def _moved(uri: str, inside: str, target: str) -> str:
    return f"{target}/{uri[len(inside) :]}" if uri.startswith(inside) else uri
