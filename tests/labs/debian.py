"""A Debian of another release in a folder, for its Python and its Java. It needs root and `debootstrap`."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.labs.installed import installed
from tests.labs.places import PROJECT
from tests.labs.spark.submitter import Submitter

_NETWORK = ("etc/hosts", "etc/resolv.conf", "etc/pip.conf")
_OF_THIS_MACHINE = (*_NETWORK, "etc/ssl/certs/ca-certificates.crt")


def debian(release: str, *packages: str) -> Path:
    """Returns the root folder of a Debian release with packages; the first call downloads some 300 MB.

    The packages come from the mirror of this machine's own Debian.
    """
    root = PROJECT / ".cache" / "-".join(("debian", release, *packages))
    include = ",".join(["ca-certificates", "python3-venv", *packages])

    _bootstrapped(root, release, include)
    for name in _OF_THIS_MACHINE:
        if Path("/", name).exists():
            shutil.copy(Path("/", name), root / name)
    return root


def bare_debian(release: str) -> Path:
    """Returns the root folder of a Debian release with nothing but its base system, like Docker's `debian` images.

    Like theirs, it keeps no downloaded packages. It knows this machine's network, and the certificate authorities that
    were added to this machine.
    """
    root = PROJECT / ".cache" / f"debian-{release}-bare"
    _bootstrapped(root, release)
    for package in (root / "var/cache/apt/archives").glob("*.deb"):
        package.unlink()
    (root / "etc/apt/apt.conf.d/clean").write_text('DPkg::Post-Invoke {"rm -f /var/cache/apt/archives/*.deb";};\n')
    for name in (*_NETWORK, "usr/local/share/ca-certificates"):
        source, target = Path("/", name), root / name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif source.exists():
            shutil.copy(source, target)
    return root


def _bootstrapped(root: Path, release: str, include: str = "") -> None:
    def install() -> None:
        more = [f"--include={include}"] if include else []
        command = ["debootstrap", "--variant=minbase", *more, release, str(root), _mirror()]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    installed(root, include, install)


@dataclass(frozen=True)
class DebianSubmitter(Submitter):
    """`spark-submit.sh` in another root, as if on a machine of its own.

    Attributes:
        root: from `debian`.
        folders: what it sees of this machine, under the same names; the project's own folder is one of them.
    """

    root: Path
    folders: tuple[Path, ...]

    def command(self, *arguments: str) -> list[str]:
        return [*inside(self.root, self.folders), *super().command(*arguments)]


def inside(root: Path, folders: Sequence[Path]) -> list[str]:
    """Returns what to put before a command that shall run in another root.

    Args:
        root: from `debian`.
        folders: what it sees of this machine, under the same names.
    """
    binds = [
        f"mkdir -p '{root}{folder}' && mount --rbind '{folder}' '{root}{folder}'" for folder in (*folders, Path("/dev"))
    ]
    script = " && ".join([*binds, f"mount -t proc proc '{root}/proc'", f"exec chroot '{root}' \"$@\""])
    return ["unshare", "--mount", "--pid", "--fork", "bash", "-c", script, "bash"]


def java_8(work: Path, folders: Sequence[Path]) -> list[str]:
    """Returns the command that starts a Java 8, in a root of its own.

    Args:
        work: its working directory.
        folders: what it sees of this machine, under the same names.
    """
    root, home = debian("sid", "openjdk-8-jre-headless"), "/usr/lib/jvm/java-8-openjdk-amd64"
    return [*inside(root, folders), "env", f"--chdir={work}", f"JAVA_HOME={home}", f"{home}/bin/java"]


def _mirror() -> str:
    asked = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split()[0]
