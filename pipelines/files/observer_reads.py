"""Checks whether a Hadoop client may read from an observer NameNode, which can be behind the active NameNode."""

from py4j.protocol import Py4JError

from pipelines.common.conditions import Condition
from pipelines.common.errors import UsageError
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject, java_errors

PROPERTY = "dfs.client.failover.proxy.provider"
INSTEAD = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
STALE_READS = "dfs.ha.allow.stale.reads"
_MARK = "ObserverRead"
"""Part of the name of every Hadoop class that reads from observers, including that of the router."""


def refuse_observer_reads(hadoop: HadoopJvm, conf: JavaObject, uri: str, key: str, where: str) -> None:
    """Raises an error if the Hadoop client would read from observer NameNodes instead of the one that does the renames.

    The clean-up looks at directories to find out what happened to a file. A Hadoop client waits only for its own
    changes. An observer may not yet know changes that another client made, even a second client in the same process.

    Args:
        hadoop: the JVM.
        conf: the Hadoop `Configuration` with which the file system is opened.
        uri: a URI on that file system.
        key: the configuration key or command-line option of walsafe that gives the URI, for the message.
        where: text for the message that says how to set a property; `{}` stands for the property's name.

    Raises:
        UsageError: the client's proxy provider reads from observers.
    """
    found = observer_provider(hadoop, conf, uri)
    if found is not None:
        name, provider = found
        raise UsageError(
            f"{key} {uri}: the Hadoop property {name} is {provider}, which reads from observer name nodes. "
            "They may not know yet of an acknowledged rename, but clean, restore and purge must know it. For "
            f"these jobs set it to {INSTEAD}: {where.format(name)}",
            condition=Condition.OBSERVER_READS,
        )


def observer_provider(hadoop: HadoopJvm, conf: JavaObject, uri: str) -> tuple[str, str] | None:
    """Returns the property and the proxy provider that read from observer NameNodes; None if reads go to the active.

    Args:
        hadoop: the JVM.
        conf: the Hadoop `Configuration` with which the file system is opened.
        uri: a URI on that file system.
    """
    with java_errors(uri):
        for name in _properties(hadoop, conf, uri):
            provider = conf.getTrimmed(name)
            if provider and _reads_from_observers(conf, provider):
                return name, str(provider)
    return None


def reads_may_be_behind(hadoop: HadoopJvm, conf: JavaObject, uri: str) -> bool:
    """Returns whether a client that never asks the active NameNode for its state may get outdated answers from HDFS.

    Observers give such answers, and standbys with `dfs.ha.allow.stale.reads`. The arguments are those of
    `observer_provider`.
    """
    return uri.startswith("hdfs:") and (
        conf.getBoolean(STALE_READS, False) or observer_provider(hadoop, conf, uri) is not None
    )


def _properties(hadoop: HadoopJvm, conf: JavaObject, uri: str) -> list[str]:
    """Returns the properties that may name the proxy provider; a viewfs mount table may lead to any nameservice."""
    target = hadoop.path(uri).toUri()
    if target.getScheme() is None:
        target = hadoop.view.org.apache.hadoop.fs.FileSystem.getDefaultUri(conf)
    scheme, nameservice = target.getScheme(), target.getHost()
    if scheme in {"hdfs", "webhdfs", "swebhdfs"}:
        return [PROPERTY, f"{PROPERTY}.{nameservice}"]
    if scheme in {"viewfs", "viewhdfs"}:
        return sorted(f"{PROPERTY}{rest}" for rest in conf.getPropsWithPrefix(PROPERTY).keySet().toArray())
    return []


def _reads_from_observers(conf: JavaObject, provider: str) -> bool:
    """Returns whether a proxy provider reads from observers, by the names of its class and superclasses.

    If the class cannot be loaded, only its own name counts.
    """
    if _MARK in provider.rpartition(".")[2]:
        return True
    try:
        kind = conf.getClassByNameOrNull(provider)
    except Py4JError:  # a class that cannot be linked
        return False
    while kind is not None:
        if _MARK in str(kind.getSimpleName()):
            return True
        kind = kind.getSuperclass()
    return False
