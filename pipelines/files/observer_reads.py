"""Whether reads of a Hadoop file system may be answered by an observer name node, which is behind the active one."""

from py4j.protocol import Py4JError

from pipelines.common.errors import UsageError
from pipelines.files.hadoop_jvm import HadoopJvm, JavaObject, java_errors

PROPERTY = "dfs.client.failover.proxy.provider"
INSTEAD = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
_MARK = "ObserverRead"
"""In the names of all of Hadoop's classes that read from observers, the router's too."""


def refuse_observer_reads(hadoop: HadoopJvm, conf: JavaObject, uri: str, key: str, where: str) -> None:
    """Pass only a configuration under which reads go where renames go.

    A clean-up concludes from looks what became of a file. Each of Hadoop's clients waits only for what it has changed
    itself; of the changes of others, and of a second client in the same process, an observer may not know yet.

    Args:
        hadoop: the JVM.
        conf: the Hadoop `Configuration` that the file system is opened with.
        uri: on that file system.
        key: of walsafe's configuration or command line that names it, for the message.
        where: how a property is set for it, for the message; `{}` stands for its name.

    Raises:
        UsageError: the client's proxy provider reads from observers.
    """
    with java_errors(uri):
        for name in _properties(hadoop, conf, uri):
            provider = conf.getTrimmed(name)
            if provider and _reads_from_observers(conf, provider):
                raise UsageError(
                    f"{key} {uri}: the Hadoop property {name} is {provider}, which reads from observer name nodes. "
                    "They may not know yet of a rename that was acknowledged, and clean, restore and purge must. For "
                    f"these jobs set it to {INSTEAD}: {where.format(name)}"
                )


def _properties(hadoop: HadoopJvm, conf: JavaObject, uri: str) -> list[str]:
    """The properties that may say how name nodes are found; a mount table may lead to any nameservice."""
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
    """By the names of the class and of those it extends; of a class that is not there its own name alone is known."""
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
