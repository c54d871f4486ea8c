"""Starts a real YARN: a resource manager and two node managers in one JVM; and packs what its containers need."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from zipfile import ZipFile

from tests.labs.cluster.classpath import HDFS, PYSPARK_JARS, Artifact, Classpath, resolve, uncompressed
from tests.labs.cluster.conf import write_site
from tests.labs.cluster.hdfs import Kerberos
from tests.labs.cluster.jvm import Jvm
from tests.labs.places import PROJECT

YARN = Classpath(
    "yarn",
    (
        *HDFS.artifacts[:1],
        Artifact("org.junit.jupiter:junit-jupiter-api:5.10.2"),
        Artifact("org.mockito:mockito-core:4.11.0"),
        Artifact("org.bouncycastle:bcpkix-jdk18on:1.78.1"),
        Artifact("commons-logging:commons-logging:1.2"),
    ),
    HDFS.pyspark_jars,
)


SIZES = (
    "--conf spark.driver.memory=1g --conf spark.executor.memory=1g "
    "--conf spark.executor.instances=1 --conf spark.yarn.maxAppAttempts=1 "
    "--conf spark.driver.defaultJavaOptions=-XX:TieredStopAtLevel=1"
)
"""Options of spark-submit for a small application."""
# All nodes are this machine, so they take Spark from here; a real cluster names spark.yarn.archive once.
SMALL = (
    f"--conf 'spark.yarn.jars=local:{PYSPARK_JARS}/*' {SIZES} "
    f"--conf spark.yarn.appMasterEnv.PYSPARK_PYTHON={sys.executable}"
)
"""The same, with the Spark and the Python of this machine."""


class YarnCluster:
    """A MiniYARNCluster.

    Args:
        work: the directory for its data and logs.
        site: the properties of a client, for example of the HDFS from which YARN localizes files.
        hadoop: the class path, which decides the version.
        java_8: see `Jvm`.
        kerberos: of the HDFS; its clients then need a ticket, and its containers have tokens.
    """

    def __init__(
        self,
        work: Path,
        site: Mapping[str, str],
        *,
        hadoop: Classpath = YARN,
        java_8: Sequence[str] = (),
        kerberos: Kerberos | None = None,
    ) -> None:
        options = [f"-Djava.security.krb5.conf={kerberos.krb5_conf}"] if kerberos else []
        self.jvm = Jvm("yarn", uncompressed(resolve(hadoop)), work, heap="1g", options=options, java_8=java_8)
        view = self.jvm.view
        conf = view.org.apache.hadoop.yarn.conf.YarnConfiguration()
        properties = {
            **site,
            **_logins(kerberos),
            "yarn.nodemanager.resource.memory-mb": "6144",
            "yarn.nodemanager.resource.cpu-vcores": "4",
            "yarn.nodemanager.vmem-check-enabled": "false",
            "yarn.nodemanager.pmem-check-enabled": "false",
            "yarn.nodemanager.disk-health-checker.enable": "false",
            "yarn.scheduler.minimum-allocation-mb": "256",
            "yarn.scheduler.capacity.root.queues": "default",
            "yarn.scheduler.capacity.root.default.capacity": "100",
            "yarn.scheduler.capacity.maximum-am-resource-percent": "0.9",
            "yarn.scheduler.capacity.root.default.maximum-am-resource-percent": "0.9",
        }
        for name, value in properties.items():
            conf.set(name, value)
        if kerberos:  # the mini cluster leaves the login to us
            users = view.org.apache.hadoop.security.UserGroupInformation
            users.setConfiguration(conf)
            users.loginUserFromKeytab(kerberos.yarn, str(kerberos.keytab))
        self._cluster = view.org.apache.hadoop.yarn.server.MiniYARNCluster("walsafe", 2, 1, 1)
        self._cluster.init(conf)
        self._cluster.start()
        self._site = site

    def write_conf(self, directory: Path) -> Path:
        """Writes ``core-site.xml`` and ``yarn-site.xml``; returns the directory: a client's ``HADOOP_CONF_DIR``."""
        write_site(directory / "core-site.xml", self._site)
        out = self.jvm.view.java.io.FileOutputStream(str(directory / "yarn-site.xml"))
        self._cluster.getConfig().writeXml(out)
        out.close()
        return directory

    def logs(self) -> str:
        """Returns the output of the containers, for messages."""
        files = sorted(self.jvm.work.rglob("container_*/std*"), key=os.path.getmtime)
        return "\n".join(f"== {file}\n{file.read_text(errors='replace')[-3000:]}" for file in files)

    def close(self) -> None:
        """Ends the JVM with everything that runs in it."""
        self.jvm.close()


def _logins(kerberos: Kerberos | None) -> dict[str, str]:
    if kerberos is None:
        return {}
    login = {"principal": kerberos.yarn, "keytab": str(kerberos.keytab)}
    servers = ("resourcemanager", "nodemanager")
    return {f"yarn.{server}.{name}": value for server in servers for name, value in login.items()}


def pack_environment(work: Path, *left_out: str) -> Path:
    """Packs `.venv` without Spark's jars, as docs/clusters.md does; returns the archive.

    Args:
        work: a directory.
        left_out: patterns of further files.
    """
    tool, archive = work / "pack", work / "walsafe-env.tar.gz"
    venv.create(tool, with_pip=True)
    subprocess.run([tool / "bin" / "pip", "install", "--quiet", "venv-pack2==0.9.2"], check=True)
    excluded = [word for pattern in ("*/pyspark/jars/*", *left_out) for word in ("--exclude", pattern)]
    pack = ["--quiet", "--prefix", str((PROJECT / ".venv").resolve()), *excluded, "--compress-level", "1"]
    subprocess.run([tool / "bin" / "venv-pack", *pack, "--output", archive], check=True)
    return archive


def zip_spark_jars(work: Path) -> Path:
    """Writes the jars of Spark into an archive for `spark.yarn.archive`; returns it."""
    archive = work / "spark-jars.zip"
    with ZipFile(archive, "w") as written:
        for jar in PYSPARK_JARS.glob("*.jar"):
            written.write(jar, jar.name)
    return archive


def copy_java(target: Path) -> Path:
    """Copies the Java of this machine to a folder that needs nothing beside it; returns the folder."""
    home = Path(str(shutil.which("java"))).resolve().parents[1]
    unused = shutil.ignore_patterns("jmods", "src.zip", "docs", "man")
    return shutil.copytree(home, target, ignore=unused, ignore_dangling_symlinks=True)
