"""Reads the `hbase-site.xml` that the configuration names."""

from collections.abc import Mapping

from pipelines.capture.ports import ClusterSettings
from pipelines.common.errors import UsageError
from pipelines.common.instants import DAY_MS
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject, java_errors
from pipelines.snapshot.model import Backup, Retention

_WEEK_MS = 7 * DAY_MS
_SITE = "hbase-site.xml"
_ROOT = "hbase.rootdir"
_BACKUP_ENABLE = "hbase.backup.enable"


def site_resource(hadoop: HadoopJvm, site: str) -> JavaObject:
    """Returns the Hadoop `Path` of the file, for `Configuration.addResource`.

    Raises:
        UsageError: the file does not exist.
    """
    path = hadoop.path(site if ":" in site else f"file:{site}")
    if not path.getFileSystem(hadoop.conf).exists(path):
        raise UsageError(f"no such file: {site} (capture.hbase.site)")
    return path


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
        value = conf.get(_ROOT)
    text = "" if value is None else str(value).strip()
    return None if not text or "${" in text else text


def site_settings(conf: JavaObject, where: str) -> ClusterSettings:
    """Returns the settings that a `Configuration` has; the cluster's id and the version of HBase stay unknown.

    Args:
        conf: of the master's own file.
        where: the name of the file or of the cluster in messages.
    """

    def milliseconds(name: str, default: int) -> int:
        with java_errors(f"{where}, {name}"):
            value = int(conf.getLong(name, default))
        if value < 0:
            raise UsageError(f"{where}, {name}: {value} is no time to live; set it to 0 ms or more (0 = none)")
        return value

    with java_errors(where):
        return ClusterSettings(
            cluster_id=None,
            hbase_version=None,
            retention=Retention(
                wal_ttl_ms=milliseconds("hbase.master.logcleaner.ttl", 600_000),
                procedure_wal_ttl_ms=milliseconds("hbase.master.procedurewalcleaner.ttl", _WEEK_MS),
                master_local_wal_ttl_ms=milliseconds("hbase.master.local.store.walcleaner.ttl", _WEEK_MS),
            ),
            log_cleaner_plugins=plugin_names(str(conf.get("hbase.master.logcleaner.plugins", ""))),
            backup=_stated_backup(conf),
        )


def plugin_names(text: str) -> tuple[str, ...]:
    """Returns the cleaner plugins that the master loads: without blanks and repetitions."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _stated_backup(conf: JavaObject) -> Backup | None:
    """Returns the value of `hbase.backup.enable`.

    None if it is not set, which means "off" only in the master's own file.
    """
    return None if conf.get(_BACKUP_ENABLE) is None else Backup(enabled=bool(conf.getBoolean(_BACKUP_ENABLE, False)))
