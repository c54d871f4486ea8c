"""Finds HBase's root directory: `hbase.rootdir` of the configuration that the operator names."""

from collections.abc import Mapping

from pipelines.capture.sources.hbase_site import site_resource
from pipelines.files.hadoop_jvm import HadoopJvm, java_errors

PROPERTY = "hbase.rootdir"
_SITE = "hbase-site.xml"


def hbase_root(hadoop: HadoopJvm, site: str | None, properties: Mapping[str, str]) -> str | None:
    """Returns `hbase.rootdir` from the configuration, without HBase's own classes.

    It ignores HBase's default, a temporary directory, which no real cluster uses.

    Args:
        hadoop: the interface to Spark's JVM.
        site: the path or URI of `hbase-site.xml`; None = the file on the class path, if there is one.
        properties: HBase properties that replace those of the file.

    Returns:
        The property; None if it is not set or contains an unresolved `${`.

    Raises:
        UsageError: the file does not exist.
        UnavailableError: the file cannot be read.
    """
    with java_errors(site or f"{_SITE} on the class path"):
        conf = hadoop.view.org.apache.hadoop.conf.Configuration(hadoop.conf)  # it may refer to Hadoop's properties
        if site is None:
            conf.setClassLoader(hadoop.view.java.lang.Thread.currentThread().getContextClassLoader())
            conf.addResource(_SITE)
        else:
            conf.addResource(site_resource(hadoop, site))
        for name, value in properties.items():
            conf.set(name, value)
        value = conf.get(PROPERTY)
    text = "" if value is None else str(value).strip()
    return None if not text or "${" in text else text
