"""The image of the Dockerfile, without a daemon: its steps run in a root of their own, made of Linux's namespaces.

There are two bases. A bare Debian: then apt-get, pip and Ivy fetch what they install, as in Docker; this needs root. Or
quickly, this machine's /usr with a copy of /etc, and its .venv: then apt-get only tells what it should install, and pip
finds that all is there. What runs in the root sees no network, unless it asks for it.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.labs.places import PROJECT

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SIOCSIFFLAGS = 0x8914
_TMPFS = "rw,nosuid,nodev,exec"  # the page names `exec`; the others are Docker's own
_LOOPBACK_UP = (
    f"import fcntl, socket, struct; fcntl.ioctl(socket.socket(), {_SIOCSIFFLAGS}, struct.pack('16sh14x', b'lo', 1))"
)


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """Returns the instructions of a Dockerfile, each with its text in one line."""
    lines = (line for line in dockerfile.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(name, text) for name, _, text in (line.partition(" ") for line in joined.splitlines())]


def context_of(folder: Path) -> list[Path]:
    """Returns the files that .dockerignore leaves in the build's context, relative to it."""
    rules = [
        (not line.startswith("!"), _pattern(line.lstrip("!")))
        for line in (folder / ".dockerignore").read_text().splitlines()
        if line and not line.startswith("#")
    ]

    def ignored(path: Path) -> bool:
        verdict = False
        for ignores, pattern in rules:
            if any(pattern.fullmatch(str(one)) for one in (path, *path.parents)):
                verdict = ignores
        return verdict

    def below(top: Path) -> Iterator[Path]:
        for path in sorted(top.iterdir()):
            if path.is_dir() and not path.is_symlink():
                if path.name not in {".git", ".venv", ".venv-airflow", ".cache", ".jars", "__pycache__"}:
                    yield from below(path)
            elif not ignored(path.relative_to(folder)):
                yield path.relative_to(folder)

    return list(below(folder))


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*"))


@dataclass
class Image:
    """An image and what its Dockerfile says.

    Attributes:
        folder: for its root.
        context: the folder of Dockerfile and .dockerignore.
        arguments: of the build.
        base: the root folder of a bare Debian; None = this machine's /usr and .venv.
        reached: a folder that the build can read, as it could read a server.
        added: how many bytes each instruction added to a bare Debian.
    """

    folder: Path
    context: Path
    arguments: Mapping[str, str] = field(default_factory=dict)
    base: Path | None = None
    reached: Path | None = None
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": _PATH})
    said: dict[str, str] = field(default_factory=dict)
    added: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lay_out()
        size = self._size()
        files = context_of(self.context)
        for name, text in instructions((self.context / "Dockerfile").read_text()):
            self.said[name] = text
            if name == "WORKDIR":
                self._inside(text).mkdir(parents=True, exist_ok=True)
            elif name == "COPY":
                self._copy(shlex.split(text), files)
            elif name == "ENV":
                self.environment |= dict(pair.split("=", 1) for pair in shlex.split(text))
            elif name == "RUN":
                self._step(text)
            before, size = size, self._size()
            self.added.append((f"{name} {text}", size - before))

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def apt(self) -> str:
        """What the build asked of apt-get."""
        return self._inside("/stub/asked").read_text()

    def start(
        self,
        arguments: Sequence[str] = (),
        *,
        entrypoint: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        volumes: Mapping[str, Path | None] | None = None,
        network: bool = False,
    ) -> subprocess.Popen[str]:
        """Starts a container: a read-only root, the user of the image.

        Args:
            arguments: of the entry point.
            entrypoint: another one than that of the image.
            environment: more of it.
            volumes: what is mounted where; None = an empty folder in memory, as `docker run --tmpfs /tmp:exec` has it.
            network: whether it sees that of this machine, or none.
        """
        command = [*(entrypoint or json.loads(self.said["ENTRYPOINT"])), *arguments]
        script = self._enter(volumes or {}, read_only=True)
        user, _, group = self.said["USER"].partition(":")
        start = ["unshare", f"--map-user={user}", f"--map-group={group}", *self._env(environment or {}), *command]
        return self._unshare(script + f"exec {shlex.join(start)}\n", network=network)

    def _lay_out(self) -> None:
        if self.base is not None:
            subprocess.run(["cp", "--archive", str(self.base), str(self.root)], check=True)
            self._inside("/walsafe-installed").unlink()  # of `installed`
            return
        for name in ("dev", "opt", "proc", "root", "run", "stub", "tmp", "usr", "var"):
            (self.root / name).mkdir(parents=True)
        for entry in Path("/").iterdir():
            if entry.is_symlink():
                (self.root / entry.name).symlink_to(entry.readlink())
        subprocess.run(
            ["cp", "-r", "--preserve=mode,links", "/etc", str(self.root)], check=False, stderr=subprocess.DEVNULL
        )
        apt = self._inside("/stub/apt-get")
        apt.write_text('#!/bin/sh\necho "$@" >> /stub/asked\n')
        apt.chmod(0o755)

    def _inside(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def _copy(self, words: Sequence[str], files: Sequence[Path]) -> None:
        *sources, target = words
        there = self._inside(self.said["WORKDIR"]) / target
        for source in sources:
            pattern = _pattern(source)
            chosen = [
                path for path in files if source == "." or any(pattern.fullmatch(str(p)) for p in (path, *path.parents))
            ]
            assert chosen or "*" in source, f"COPY {source}: .dockerignore leaves nothing of it"
            for path in chosen:
                of_folder = source != "." and (self.context / source).is_dir()
                copied = there / (path.relative_to(source) if of_folder else path)
                copied.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self.context / path, copied)

    def _step(self, text: str) -> None:
        home = self.said.get("WORKDIR", "/")
        start = [
            *self._env(self.arguments),
            "/bin/sh",
            "-c",
            f"PATH={'' if self.base else '/stub:'}$PATH; cd {home} && {text}",
        ]
        volumes = {str(self.reached): self.reached} if self.reached else {}
        script = self._enter(volumes, read_only=False) + f"exec {shlex.join(start)}\n"
        step = self._unshare(script, network=self.base is not None, as_root=self.base is not None)
        told = step.communicate()
        assert step.returncode == 0, f"RUN {text}\n{told}"

    def _env(self, more: Mapping[str, str]) -> list[str]:
        return [
            "env",
            "--ignore-environment",
            *(f"{name}={value}" for name, value in {**self.environment, **more}.items()),
        ]

    def _enter(self, volumes: Mapping[str, Path | None], *, read_only: bool) -> str:
        """Returns the lines that make the root the root of all that follows."""
        there = shlex.quote(str(self.root))
        lower: dict[str, Path] = {}
        if self.base is None:
            lower = {"/usr": Path("/usr"), **{str(home): home for home in _interpreters()}}
            if "WORKDIR" in self.said:
                lower[f"{self.said['WORKDIR']}/.venv"] = (PROJECT / ".venv").resolve()
        lines = ["set -eu", f"mount --bind {there} {there}"]
        for target, source in lower.items():
            self._inside(target).mkdir(parents=True, exist_ok=True)
            lines += _bind(source, f"{self.root}{target}", read_only=True)
        for target in volumes:
            if not target.startswith("/tmp/"):  # noqa: S108 - of the container
                self._inside(target).mkdir(parents=True, exist_ok=True)
        if read_only:
            lines.append(f"mount -o remount,bind,ro {there}")
        for target, source in sorted(volumes.items()):
            place = shlex.quote(f"{self.root}{target}")
            if source is None:
                lines.append(f"mount -t tmpfs -o {_TMPFS} tmpfs {place}")
            else:
                lines += [
                    f"mkdir -p {place}",
                    *_bind(source, f"{self.root}{target}", read_only=target.startswith("/etc")),
                ]
        lines += [f"mount -t proc proc {there}/proc", f"mount --rbind /dev {there}/dev"]
        lines += [f"cd {there}", "pivot_root . .", "umount -l .", f"cd {self.said.get('WORKDIR', '/')}"]
        return "\n".join(lines) + "\n"

    def _size(self) -> int:
        if self.base is None:
            return 0
        told = subprocess.run(
            ["du", "--summarize", "--bytes", str(self.root)], check=True, capture_output=True, text=True
        )
        return int(told.stdout.split()[0])

    @staticmethod
    def _unshare(script: str, *, network: bool, as_root: bool = False) -> subprocess.Popen[str]:
        # dpkg gives files to users that a namespace of one user does not have
        user = [] if as_root else ["--user", "--map-root-user"]
        command = ["unshare", *user, "--mount", "--pid", "--fork", "--kill-child"]
        if not network:
            command.append("--net")
            script = f"{shlex.join([sys.executable, '-c', _LOOPBACK_UP])}\n{script}"
        return subprocess.Popen(
            [*command, "bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )


def _bind(source: Path, target: str, *, read_only: bool) -> list[str]:
    place = shlex.quote(target)
    lines = [f"mount --rbind {shlex.quote(str(source))} {place}"]
    return [*lines, f"mount -o remount,bind,ro {place}"] if read_only else lines


def _interpreters() -> list[Path]:
    """Where Python and Java are, if not below /usr."""
    homes = [Path(sys.base_prefix).resolve(), Path(os.environ.get("JAVA_HOME") or "/usr").resolve()]
    return [home for home in homes if not home.is_relative_to("/usr")]
