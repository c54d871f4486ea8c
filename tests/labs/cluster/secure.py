"""Starts an HBase with Kerberos, and a ZooKeeper that knows its clients by SASL, on the secured HDFS."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from tests.labs.cleanup.rights import set_acl
from tests.labs.cluster.hbase import ROOT_IN_HDFS, HBaseCluster
from tests.labs.cluster.hdfs import HdfsCluster, Kerberos
from tests.labs.cluster.jvm import Jvm

_ACCESS = "org.apache.hadoop.hbase.security.access.AccessController"
_SECURE = MappingProxyType(
    {
        "hbase.security.authentication": "kerberos",
        "hbase.security.authorization": "true",
        **{f"hbase.coprocessor.{place}.classes": _ACCESS for place in ("master", "region", "regionserver")},
        # ZooKeeper knows the second one; no user of HBase has that name
        "hbase.superuser": "hbase,walsafe-queues",
        # otherwise the mask of 700 takes away what an ACL gives
        "hbase.rootdir.perms": "750",
        "hbase.wal.dir.perms": "750",
    }
)
_LOGIN = """{name} {{
  com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="{keytab}" principal="{principal}"
    storeKey=true useTicketCache=false;
}};
"""


def login_file(path: Path, kerberos: Kerberos, **principals: str) -> Path:
    """Writes a JAAS file with a section for each name, which logs a principal in from the keytab; returns its path."""
    sections = (_LOGIN.format(name=n, keytab=kerberos.keytab, principal=p) for n, p in principals.items())
    path.write_text("".join(sections), encoding="utf-8")
    return path


def start_secure_hbase(start_jvm: Callable[..., Jvm], work: Path, hdfs: HdfsCluster, name: str) -> HBaseCluster:
    """Starts an HBase with one region server, as the principal `hbase`, in a JVM of its own.

    Args:
        start_jvm: `start_hbase_jvm` or `start_hbase_2_jvm`, which decides the version.
        work: the directory for its data and logs.
        hdfs: an HDFS with Kerberos.
        name: the directory in HDFS, and the parent znode.
    """
    kerberos = hdfs.kerberos
    if kerberos is None:
        raise ValueError("this HDFS has no Kerberos")
    logins = login_file(work / "jaas.conf", kerberos, Server=kerberos.zookeeper, Client=kerberos.hbase)
    options = [
        f"-Djava.security.krb5.conf={kerberos.krb5_conf}",
        f"-Djava.security.auth.login.config={logins}",
        "-Dzookeeper.authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
        "-Dzookeeper.kerberos.removeHostFromPrincipal=true",
        "-Dzookeeper.kerberos.removeRealmFromPrincipal=true",
    ]
    jvm = start_jvm(work, options=options)
    try:
        hdfs.create_directory(f"/{name}", "hbase", 0o750)
        hdfs.add_acl(f"/{name}", "user:walsafe:--x")
        hdfs.create_directory("/user/hbase", "hbase")
        configuration = jvm.view.org.apache.hadoop.conf.Configuration()
        for key, value in hdfs.client_properties.items():
            configuration.set(key, value)
        users = jvm.view.org.apache.hadoop.security.UserGroupInformation
        users.setConfiguration(configuration)
        users.loginUserFromKeytab(kerberos.hbase, str(kerberos.keytab))
        cluster = HBaseCluster(jvm, hdfs, name, 1, properties={**ROOT_IN_HDFS, **_SECURE, **_server_logins(kerberos)})
        for directory in ("WALs", "remoteWALs", "oldWALs"):
            set_acl(hdfs, f"/{name}/{directory}", "user:walsafe:r-x")
    except BaseException:
        jvm.close()
        raise
    return cluster


def grant(
    cluster: HBaseCluster, site: Path, user: str, action: str, scope: str | None = None, column: str | None = None
) -> None:
    """Grants a right, as `grant` in `hbase shell` does.

    Args:
        cluster: from `start_secure_hbase`.
        site: the hbase-site.xml for clients of the cluster.
        user: the short name.
        action: ADMIN or READ.
        scope: a table, or a namespace as `@name`; None = everything.
        column: the only column of the table, as `family:qualifier`; None = the whole table.
    """
    _change("grant", cluster, site, user, action, scope, column)


def revoke(cluster: HBaseCluster, site: Path, user: str, action: str, scope: str | None = None) -> None:
    """Takes a right back; see `grant`."""
    _change("revoke", cluster, site, user, action, scope)


@contextmanager
def revoked(cluster: HBaseCluster, site: Path, user: str, action: str, scope: str | None = None) -> Iterator[None]:
    """Meanwhile a user lacks a right; see `grant`."""
    revoke(cluster, site, user, action, scope)
    try:
        yield
    finally:
        grant(cluster, site, user, action, scope)


@contextmanager
def clock_off(jvm: Jvm, kerberos: Kerberos) -> Iterator[None]:
    """Meanwhile the servers in a JVM refuse every ticket because of the time: they tolerate no difference at all."""
    system, strict = jvm.view.java.lang.System, jvm.work / "clocks.conf"
    text = kerberos.krb5_conf.read_text(encoding="utf-8")
    strict.write_text(text.replace("[libdefaults]", "[libdefaults]\n    clockskew = 0"), encoding="utf-8")

    def read(path: Path) -> None:
        system.setProperty("java.security.krb5.conf", str(path))
        jvm.view.sun.security.krb5.Config.refresh()

    read(strict)
    try:
        yield
    finally:
        read(kerberos.krb5_conf)


def _change(
    verb: str, cluster: HBaseCluster, site: Path, user: str, action: str, scope: str | None, column: str | None = None
) -> None:
    java = cluster.jvm.view
    hbase = java.org.apache.hadoop.hbase
    configuration = hbase.HBaseConfiguration.create()
    configuration.addResource(java.org.apache.hadoop.fs.Path(site.as_uri()))
    connection = hbase.client.ConnectionFactory.createConnection(configuration)
    actions = cluster.jvm.gateway.new_array(hbase.security.access.Permission.Action, 1)
    actions[0] = getattr(hbase.security.access.Permission.Action, action)
    change = getattr(hbase.security.access.AccessControlClient, verb)
    if scope is None:
        change(connection, user, actions)
    elif scope.startswith("@"):
        change(connection, scope[1:], user, actions)
    else:
        parts = [bytearray(part.encode()) for part in column.split(":")] if column else [None, None]
        change(connection, hbase.TableName.valueOf(scope), user, *parts, actions)
    connection.close()


def _server_logins(kerberos: Kerberos) -> dict[str, str]:
    logins = {"kerberos.principal": kerberos.hbase, "keytab.file": str(kerberos.keytab)}
    servers = ("master", "regionserver")
    return {f"hbase.{server}.{key}": value for server in servers for key, value in logins.items()}
