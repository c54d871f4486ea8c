"""The jars of jars.lock: which of them a Spark needs, and how they are fetched, once.

They come into `.jars` of a clone (scripts/set_up.py), or into the user's cache folder.

Standard library only: it runs before any package is installed. It may be killed at any moment and started twice at
once: one of the two waits, and whatever is half-done is done again.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

IVY_SETTINGS_ENV = "WALSAFE_IVY_SETTINGS"


class StepError(Exception):
    """A step failed; the message says which step and what to do."""


@dataclass(frozen=True)
class Jar:
    """One line of jars.lock."""

    sha256: str
    organisation: str
    module: str
    revision: str

    @property
    def name(self) -> str:
        """Returns the name of the jar's file."""
        return f"{self.organisation}_{self.module}-{self.revision}.jar"

    @property
    def spark(self) -> str | None:
        """Returns the version of Spark that it is for, such as `4.2`; None for a jar that fits every version."""
        match = re.fullmatch(r"delta-spark_(\d+\.\d+)_2\.13", self.module)
        return match[1] if match else None

    @property
    def place(self) -> Path:
        """Returns its path in the folder of the jars, where each version of Spark has a folder of its own."""
        return Path(f"spark-{self.spark}" if self.spark else "", self.name)


def read_lock(lock: Path) -> list[Jar]:
    """Returns the jars that jars.lock names."""
    jars = []
    for line in lock.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            sha256, coordinate = line.split()
            jars.append(Jar(sha256, *coordinate.split(":")))
    return jars


def spark_of(jars: Path) -> str | None:
    """Returns the version of the Spark whose jars are in a folder, such as `4.2`; None if they are not Spark's."""
    found = (re.fullmatch(r"spark-core_2\.13-(\d+\.\d+)\..+\.jar", jar.name) for jar in jars.glob("spark-core_*.jar"))
    return next((match[1] for match in found if match), None)


def supported_sparks(lock: Path) -> list[str]:
    """Returns the versions of Spark for which jars.lock has a jar of Delta; the last is that of the locked pyspark."""
    return [jar.spark for jar in read_lock(lock) if jar.spark]


def jars_for(lock: Path, folder: Path, spark: str) -> list[Path]:
    """Returns the fetched jars that a version of Spark needs: those of jars.lock without Delta's for other versions.

    If the folder is a link, the paths are those behind it. Java uses an archive of loaded classes only if the class
    path names the same paths as when the archive was written, and a checkout that links to the jars has other paths.
    """
    real = folder.resolve()
    return sorted(real / jar.place for jar in read_lock(lock) if jar.spark in {None, spark})


def fetch_jars(
    lock: Path,
    target: Path,
    cache: Path,
    java: str,
    find_spark_jars: Callable[[], Path],
    tell: Callable[[str], None],
) -> None:
    """Makes a folder of exactly the jars of jars.lock, unless it is there.

    The jars come into a temporary folder first, and the whole folder is then moved into place.

    Args:
        lock: jars.lock.
        target: the folder.
        cache: an existing folder on the same file system.
        java: the java command.
        find_spark_jars: returns the folder of Spark's jars, which has Ivy.
        tell: tells a person what is fetched, before it is.

    Raises:
        StepError: a jar could not be fetched, or is another file than jars.lock names.
    """
    if are_there(lock, target):
        return
    wanted = read_lock(lock)
    tell(f"walsafe: fetching Delta's jars into {target} (30 MiB); later starts need no network")
    for leftover in cache.glob("jars-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix="jars-", dir=cache))
    _retrieve(wanted, work, cache / "ivy", java, find_spark_jars())
    damaged = _damaged(work, wanted)
    if damaged:
        raise StepError(
            f"{damaged[0]} is not the file that jars.lock names; clear {cache / 'ivy'}, check which repository serves "
            "it, and start again"
        )
    shutil.copyfile(lock, work / "jars.lock")
    work.chmod(0o755)
    if target.exists():
        target.rename(cache / f"jars-old-{os.getpid()}")
    work.rename(target)
    shutil.rmtree(cache / f"jars-old-{os.getpid()}", ignore_errors=True)


def are_there(lock: Path, target: Path) -> bool:
    """Tells whether a folder has exactly the jars of jars.lock; it writes nothing."""
    same = _text(target / "jars.lock") == lock.read_text(encoding="utf-8")
    return same and not _damaged(target, read_lock(lock))


def _retrieve(wanted: Sequence[Jar], work: Path, home: Path, java: str, spark_jars: Path) -> None:
    """Fetches jars with the Ivy that pyspark ships, each jar alone.

    It omits Delta's dependencies, because pyspark has newer versions of them.
    """
    ivy = next(iter(sorted(spark_jars.glob("ivy-*.jar"))), None)
    if ivy is None:
        raise StepError(f"Spark has no Ivy in {spark_jars}: install pyspark again (a clone: remove .venv)")
    module = ET.Element("ivy-module", version="2.0")
    ET.SubElement(module, "info", organisation="walsafe", module="jars")
    ET.SubElement(ET.SubElement(module, "configurations"), "conf", name="default")
    dependencies = ET.SubElement(module, "dependencies")
    for jar in wanted:
        attributes = {"org": jar.organisation, "name": jar.module, "rev": jar.revision}
        ET.SubElement(dependencies, "dependency", attributes, conf="default->master(default)", transitive="false")
    description = work / "ivy.xml"
    description.write_bytes(ET.tostring(module))
    command = [
        java,
        *proxy_options(os.environ),
        f"-Divy.default.ivy.user.dir={home}",
        "-jar",
        str(ivy),
        "-ivy",
        str(description),
        "-warn",
    ]
    command += ["-cache", str(home / "cache"), "-confs", "default"]
    command += ["-retrieve", str(work / "[organisation]_[artifact]-[revision].[ext]")]
    if os.environ.get(IVY_SETTINGS_ENV):
        command += ["-settings", os.environ[IVY_SETTINGS_ENV]]
    run_step(
        command,
        "Delta's jars could not be fetched; see above, check the network (a repository of your own: Ivy settings file "
        f"in {IVY_SETTINGS_ENV}), and start again",
    )
    description.unlink()
    for jar in wanted:
        target = work / jar.place
        target.parent.mkdir(exist_ok=True)
        work.joinpath(jar.name).rename(target)


def proxy_options(environ: Mapping[str, str]) -> list[str]:
    """Returns Java's options for the proxies that the environment names for pip, which Java does not read.

    Java reaches a proxy only by HTTP, so a proxy with another scheme is left out.

    Raises:
        StepError: the address of a proxy has no valid form.
    """
    options = []
    for scheme in ("http", "https"):
        given = _variable(environ, f"{scheme}_proxy")
        try:
            proxy = urlsplit(given if "://" in given else f"http://{given}")
            host, port = proxy.hostname, proxy.port or 80
        except ValueError as error:
            raise StepError(f"{scheme}_proxy or {scheme.upper()}_PROXY is not like http://host:port: {error}") from None
        if host and proxy.scheme == "http":
            options += [f"-D{scheme}.proxyHost={host}", f"-D{scheme}.proxyPort={port}"]
    names = [name.strip().lstrip(".") for name in _variable(environ, "no_proxy").split(",")]
    direct = [re.sub("^([^:]+):[0-9]+$", r"\1", name) for name in names if name]
    if options and direct:
        hosts = "|".join(f"{name}|*.{name}" for name in direct)
        options.append(f"-Dhttp.nonProxyHosts={hosts}")  # of https, too
    return options


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name) or environ.get(name.upper(), "")


def _damaged(folder: Path, wanted: Sequence[Jar]) -> list[str]:
    """Returns the names of the jars that are missing or have another content."""
    names = []
    for jar in wanted:
        file = folder / jar.place
        if not file.exists() or hashlib.sha256(file.read_bytes()).hexdigest() != jar.sha256:
            names.append(jar.name)
    return names


@contextmanager
def one_at_a_time(cache: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Lets only one first start work at a time; the kernel frees the lock if it is killed and its step has ended."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "set-up.lock").open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("walsafe: another start is preparing walsafe; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        os.set_inheritable(file.fileno(), True)  # a step holds the lock, too: pip works on after its start was killed
        yield


def run_step(command: Sequence[str], problem: str) -> None:
    """Runs a step; its output is shown only if it fails.

    Raises:
        StepError: it failed; the message is `problem`.
    """
    done = subprocess.run(command, check=False, close_fds=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.stderr.buffer.write(done.stdout)
        sys.stderr.flush()
        raise StepError(problem)


def _text(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None
