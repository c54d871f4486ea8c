"""Starts a real YARN: a resource manager and two node managers in one JVM."""

import os
from pathlib import Path

from tests.labs.cluster.classpath import HDFS, Artifact, Classpath, resolve
from tests.labs.cluster.conf import write_site
from tests.labs.cluster.jvm import Jvm

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


class YarnCluster:
    """A MiniYARNCluster.

    Args:
        work: the directory for its data and logs.
        site: the properties of a client, for example of the HDFS from which YARN localizes files.
    """

    def __init__(self, work: Path, site: dict[str, str]) -> None:
        self.jvm = Jvm("yarn", resolve(YARN), work, heap="1g")
        view = self.jvm.view
        conf = view.org.apache.hadoop.yarn.conf.YarnConfiguration()
        properties = {
            **site,
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
