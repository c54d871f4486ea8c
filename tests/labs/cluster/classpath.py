"""Resolves the class paths of the real HBase, HDFS and Thrift once, and keeps them under ``<project>/.cache``."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import pyspark

from tests.labs.places import PROJECT

CACHE = PROJECT / ".cache" / "classpath"
_SOURCES = Path(__file__).resolve().parent
JAVA_HBASE_3 = (_SOURCES / "java", _SOURCES / "java_both")
JAVA_HBASE_2 = (_SOURCES / "java_hbase2", _SOURCES / "java_both")
JAVA_HBASE_1 = (_SOURCES / "java_hbase1",)
"""The directories of this package's own Java classes for each HBase."""
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of a JVM with little to do, for which the optimizing compiler is not worth its time."""
PYSPARK_JARS = Path(pyspark.__file__).resolve().parent / "jars"

IVY_SETTINGS_ENV = "WALSAFE_IVY_SETTINGS"
RESOLVER_ENV = "WALSAFE_RESOLVER"

# an artifact without anything it depends on
ALONE = ("*:*",)


class ClasspathError(RuntimeError):
    """A class path cannot be made available on this machine; the message says what to install."""


@dataclass(frozen=True)
class Artifact:
    """A Maven coordinate ``group:name:version``, and ``group:name`` of the dependencies to exclude."""

    coordinate: str
    exclude: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, str, str]:
        """Returns group, name and version."""
        group, name, version = self.coordinate.split(":")
        return group, name, version


@dataclass(frozen=True)
class Classpath:
    """A named set of artifacts, and the globs of pyspark's own jars that belong to it."""

    name: str
    artifacts: tuple[Artifact, ...]
    pyspark_jars: tuple[str, ...] = ()


# the environment may choose others
HBASE_3_VERSION = os.environ.get("WALSAFE_TEST_HBASE3") or "3.0.0-alpha-4"
HBASE_2_VERSION = os.environ.get("WALSAFE_TEST_HBASE2") or "2.6.4"

# The tests jar of hbase-annotations cannot be fetched, and nothing here needs it.
HBASE = Classpath(
    "hbase",
    (
        Artifact(f"org.apache.hbase:hbase-testing-util:{HBASE_3_VERSION}", ("org.apache.hbase:hbase-annotations",)),
        # needed by name for Ivy: beside the tests jar of this module, which comes with the above, it drops the main one
        Artifact(f"org.apache.hbase:hbase-asyncfs:{HBASE_3_VERSION}", ALONE),
    ),
    ("py4j-*.jar",),
)
# The last HBase whose queues are in ZooKeeper, with a Hadoop of its own (2.10), which must not meet Spark's. The bundle
# of Apache Directory that its minikdc depends on is none that a resolver can unpack.
_MINIKDC = "org.apache.hadoop:hadoop-minikdc"
HBASE_2 = Classpath(
    "hbase2",
    (
        Artifact(
            f"org.apache.hbase:hbase-testing-util:{HBASE_2_VERSION}", ("org.apache.hbase:hbase-annotations", _MINIKDC)
        ),
        # the newest that can be fetched; there is none for HBase 3
        Artifact("org.apache.hbase:hbase-backup:2.6.1", ALONE),
        Artifact(f"{_MINIKDC}:2.10.2", ALONE),
        Artifact("junit:junit:4.13.2"),
        Artifact("org.mockito:mockito-core:2.28.2"),
    ),
    ("py4j-*.jar",),
)
# pyspark ships the Hadoop 3.5.0 client already; WebHDFS of HBase's testing class path answers 500 to everything.
HDFS = Classpath(
    "hdfs",
    (
        Artifact("org.apache.hadoop:hadoop-client-minicluster:3.5.0", ALONE),
        Artifact("org.apache.hadoop:hadoop-minikdc:3.5.0", ("org.slf4j:slf4j-reload4j", "org.slf4j:slf4j-api")),
    ),
    (
        "hadoop-client-api-*.jar",
        "hadoop-client-runtime-*.jar",
        "slf4j-api-*.jar",
        "jcl-over-slf4j-*.jar",
        "jakarta.*.jar",
        "log4j-*.jar",
        "snappy-java-*.jar",
        "py4j-*.jar",
    ),
)
# Older than the client that pyspark ships, and for Java 8: nothing of pyspark belongs to it.
HADOOP_3_4 = Classpath(
    "hadoop3.4",
    (
        Artifact("org.apache.hadoop:hadoop-client-minicluster:3.4.1"),
        Artifact("org.mockito:mockito-core:4.11.0"),
        Artifact("org.bouncycastle:bcpkix-jdk18on:1.78.1"),
        Artifact("ch.qos.reload4j:reload4j:1.2.22"),
        Artifact("org.slf4j:slf4j-simple:1.7.36"),
        Artifact("net.sf.py4j:py4j:0.10.9.9"),
    ),
)
THRIFT = Classpath("thrift", (Artifact("org.apache.hbase:hbase-thrift:2.5.8"),), ("py4j-*.jar",))
# Bundles Hadoop 2.10: it must stand behind Spark's own jars (spark.jars, not spark.driver.extraClassPath).
HBASE_CLIENT = Classpath("client", (Artifact("org.apache.hbase:hbase-shaded-client:2.6.4"),))


def hbase_1(version: str) -> Classpath:
    """Returns the class path of an HBase 1, with a Hadoop of its own (2.7 or 2.8)."""
    # it leaves out a Jackson that its Hadoop asks for
    jackson = Artifact("org.codehaus.jackson:jackson-mapper-asl:1.9.13")
    testing = Artifact(f"org.apache.hbase:hbase-testing-util:{version}", ("org.apache.hbase:hbase-annotations",))
    return Classpath(f"hbase{version}", (testing, jackson), ("py4j-*.jar",))


def resolve(wanted: Classpath) -> list[Path]:
    """Returns the jars of a class path, fetching them on first use.

    Args:
        wanted: One of the class paths of this module.

    Returns:
        Existing jars, pyspark's last.

    Raises:
        ClasspathError: Neither Maven nor Java could fetch it.
    """
    listing = CACHE / f"{wanted.name}-{_digest(wanted)}.txt"
    with _locked(f"{wanted.name}.lock"):
        jars = _read(listing)
        if not jars:
            # tests of HBase need its `tests` jars too: both resolvers follow them as ordinary dependencies
            jars = _by_maven(wanted) if _use_maven() else _by_ivy(wanted)
            temporary = listing.with_suffix(".tmp")
            temporary.write_text("\n".join(map(str, jars)) + "\n", encoding="utf-8")
            temporary.replace(listing)
    return jars + [jar for pattern in wanted.pyspark_jars for jar in sorted(PYSPARK_JARS.glob(pattern))]


def uncompressed(jars: Sequence[Path]) -> list[Path]:
    """Returns the jars, the large ones of Hadoop as copies without compression, which are made on first use.

    To find the resources of its web server, a Hadoop server reads such a jar from end to end: with these copies an HDFS
    starts in 6 s instead of 10.
    """
    with _locked("uncompressed.lock"):
        return [_uncompressed(jar) if jar.name.startswith("hadoop-client-") else jar for jar in jars]


def _uncompressed(jar: Path) -> Path:
    copy = CACHE / f"uncompressed-{jar.name}"
    if not copy.exists():
        temporary = copy.with_suffix(".tmp")
        with zipfile.ZipFile(jar) as packed, zipfile.ZipFile(temporary, "w") as plain:
            for name in dict.fromkeys(packed.namelist()):
                plain.writestr(zipfile.ZipInfo(name), packed.read(name))
        temporary.replace(copy)
    return copy


def compiled(jars: Sequence[Path], folders: Sequence[Path], *, release: int = 17) -> Path:
    """Compiles this package's own Java classes on first use.

    Args:
        jars: The class path to compile against.
        folders: The directories of their sources, such as `JAVA_HBASE_3`.
        release: The oldest Java that shall run them.

    Returns:
        The directory of the classes.

    Raises:
        ClasspathError: There is no ``javac``, or it refused the sources.
    """
    sources = sorted(source for folder in folders for source in folder.rglob("*.java"))
    digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    target = CACHE / f"classes-{digest}"
    with _locked("classes.lock"):
        if not target.exists():
            javac = shutil.which("javac")
            if javac is None:
                raise ClasspathError("no javac: install a Java 17 or 21 development kit to run the real-HBase tests")
            building = target.with_suffix(".tmp")
            shutil.rmtree(building, ignore_errors=True)
            building.mkdir(parents=True)
            # in the environment, not the arguments: a long class path stays out of process lists
            environment = {**os.environ, "CLASSPATH": os.pathsep.join(map(str, jars))}
            options = ["-nowarn", "-proc:none", "--release", str(release), "-d", str(building)]
            _run([javac, *(f"-J{option}" for option in QUICK), *options, *map(str, sources)], environment)
            building.rename(target)
    return target


def _digest(wanted: Classpath) -> str:
    return hashlib.sha256(_pom(wanted)).hexdigest()[:16]


def _read(listing: Path) -> list[Path]:
    if not listing.exists():
        return []
    jars = [Path(line) for line in listing.read_text(encoding="utf-8").splitlines()]
    return jars if all(jar.exists() for jar in jars) else []  # somebody emptied the local repository: fetch again


def _use_maven() -> bool:
    wanted = os.environ.get(RESOLVER_ENV, "")
    if wanted not in {"", "maven", "ivy"}:
        raise ClasspathError(f"{RESOLVER_ENV} must be maven or ivy, not {wanted!r}")
    return wanted == "maven" or (wanted == "" and shutil.which("mvn") is not None)


def _pom(wanted: Classpath) -> bytes:
    project = ET.Element("project", xmlns="http://maven.apache.org/POM/4.0.0")
    head = (("modelVersion", "4.0.0"), ("groupId", "walsafe"), ("artifactId", wanted.name), ("version", "1"))
    for tag, text in (*head, ("packaging", "pom")):
        ET.SubElement(project, tag).text = text
    dependencies = ET.SubElement(project, "dependencies")
    for artifact in wanted.artifacts:
        dependency = ET.SubElement(dependencies, "dependency")
        for tag, text in zip(("groupId", "artifactId", "version"), artifact.parts, strict=True):
            ET.SubElement(dependency, tag).text = text
        exclusions = ET.SubElement(dependency, "exclusions")
        for excluded in artifact.exclude:
            exclusion = ET.SubElement(exclusions, "exclusion")
            for tag, text in zip(("groupId", "artifactId"), excluded.split(":"), strict=True):
                ET.SubElement(exclusion, tag).text = text
    return ET.tostring(project)


def _by_maven(wanted: Classpath) -> list[Path]:
    mvn = shutil.which("mvn")
    if mvn is None:
        raise ClasspathError("no mvn on PATH: install Maven, or unset " + RESOLVER_ENV)
    pom = CACHE / f"{wanted.name}-pom.xml"
    pom.write_bytes(_pom(wanted))
    out = CACHE / f"{wanted.name}-maven.txt"
    options = " ".join((*QUICK, os.environ.get("MAVEN_OPTS", "")))
    command = [mvn, "-q", "-B", "-f", str(pom), "dependency:build-classpath", f"-Dmdep.outputFile={out}"]
    _run(command, {**os.environ, "MAVEN_OPTS": options})
    return [Path(jar) for jar in out.read_text(encoding="utf-8").strip().split(os.pathsep)]


def _by_ivy(wanted: Classpath) -> list[Path]:
    java, ivy_jar = shutil.which("java"), next(iter(sorted(PYSPARK_JARS.glob("ivy-*.jar"))), None)
    if java is None or ivy_jar is None:
        raise ClasspathError("no mvn and no java on PATH: install Maven, or Java 17 or 21, for the real-HBase tests")
    # Ivy merges all that one resolution says of a module, so what is wanted alone is resolved alone
    alone = tuple(artifact for artifact in wanted.artifacts if artifact.exclude == ALONE)
    whole = tuple(artifact for artifact in wanted.artifacts if artifact.exclude != ALONE)
    jars: list[Path] = []
    for artifacts in filter(None, (whole, alone)):
        module, out = CACHE / f"{wanted.name}-ivy.xml", CACHE / f"{wanted.name}-ivy.txt"
        module.write_bytes(_ivy_module(wanted.name, artifacts))
        command = [java, *QUICK, "-jar", str(ivy_jar), "-ivy", str(module), "-cache", str(CACHE.parent / "ivy")]
        settings = os.environ.get(IVY_SETTINGS_ENV)
        if settings:
            command += ["-settings", settings]
        _run([*command, "-confs", "default", "-cachepath", str(out)], {**os.environ})
        jars += [Path(jar) for jar in out.read_text(encoding="utf-8").strip().split(os.pathsep)]
    return jars


def _ivy_module(name: str, artifacts: Sequence[Artifact]) -> bytes:
    module = ET.Element("ivy-module", version="2.0")
    ET.SubElement(module, "info", organisation="walsafe", module=name)
    ET.SubElement(ET.SubElement(module, "configurations"), "conf", name="default")
    dependencies = ET.SubElement(module, "dependencies")
    for artifact in artifacts:
        group, artifact_name, version = artifact.parts
        alone = artifact.exclude == ALONE
        dependency = ET.SubElement(
            dependencies,
            "dependency",
            org=group,
            name=artifact_name,
            rev=version,
            conf="default->master" if alone else "default->compile(*),master(*),runtime(*)",
            transitive=str(not alone).lower(),
        )
        for excluded in () if alone else artifact.exclude:
            organisation, _, excluded_name = excluded.partition(":")
            ET.SubElement(dependency, "exclude", org=organisation, module=excluded_name)
    return ET.tostring(module)


def _run(command: Sequence[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-25:])
        raise ClasspathError(f"{Path(command[0]).name} failed with exit code {done.returncode}:\n{tail}")


@contextmanager
def _locked(name: str) -> Iterator[None]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / name).open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test runs may start at once
        yield
