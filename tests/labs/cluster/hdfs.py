"""Starts a real HDFS with a working WebHDFS: plain, as an HA nameservice, or secured by Kerberos."""

import getpass
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.labs.cluster.classpath import HDFS, Classpath, resolve, uncompressed
from tests.labs.cluster.conf import merged, write_site
from tests.labs.cluster.jvm import STARTED, JavaObject, Jvm

NAMESERVICE = "ns1"
REALM_HOST = "localhost"
_USERS = (
    "RULE:[1:$1](walsafe-queues)s/.*/walsafe/",
    *(f"RULE:[2:$1]({service})" for service in ("hbase", "yarn")),
    "RULE:[2:$1](.*)s/.*/hdfs/",
    "DEFAULT",
)
"""How Hadoop makes users of principals."""
# HBase's mini cluster runs each region server as another user; without rights of their own they could not write.
_HBASE_USERS = 64


@dataclass(frozen=True)
class Kerberos:
    """The files and principals that a client of the secured HDFS needs.

    Attributes:
        krb5_conf: the file for ``-Djava.security.krb5.conf`` or ``KRB5_CONFIG``.
        keytab: the file with the keys of all principals below.
        principal: an ordinary user, not a superuser of HDFS.
        superuser: the principal as which the name node runs.
        hbase: the principal of HBase's servers.
        zookeeper: the principal of ZooKeeper's servers.
        yarn: the principal of YARN's servers.
        queue_reader: a principal that ZooKeeper knows by its own name, and Hadoop and HBase as the user `walsafe`.
    """

    krb5_conf: Path
    keytab: Path
    principal: str
    superuser: str
    hbase: str
    zookeeper: str
    yarn: str
    queue_reader: str


class HdfsCluster:
    """A MiniDFSCluster in its own JVM.

    Args:
        work: the directory for data and logs.
        ha: whether to start two name nodes behind the nameservice ``ns1``, the first one active.
        kerberos: whether to start a KDC, and an HDFS that requires Kerberos.
        heap: the heap of the JVM; a name node needs some 300 bytes for each file.
        options: of the JVM.
        hadoop: the class path, which decides the version.
        java_8: see `Jvm`.
    """

    def __init__(
        self,
        work: Path,
        *,
        ha: bool = False,
        kerberos: bool = False,
        heap: str = "512m",
        options: Sequence[str] = (),
        hadoop: Classpath = HDFS,
        java_8: Sequence[str] = (),
    ) -> None:
        if ha and kerberos:
            raise ValueError("an HA nameservice with Kerberos is not built")
        work.mkdir(parents=True, exist_ok=True)
        self.work = work
        self.ha = ha
        self.jvm = Jvm("hdfs", uncompressed(resolve(hadoop)), work, heap=heap, options=options, java_8=java_8)
        self.kerberos: Kerberos | None = None
        self._kdc: JavaObject = None
        self._name_node_of: Sequence[JavaObject] = ()
        try:
            secure = self._start_kdc() if kerberos else {}
            self._configuration = self._make_configuration(merged(self._server_properties(), secure))
            if kerberos:
                self._log_in(secure["dfs.namenode.kerberos.principal"], secure["dfs.namenode.keytab.file"])
            self._cluster = self._start()
            STARTED["HDFS"] += 1
        except BaseException:
            self.close()
            raise

    def _server_properties(self) -> dict[str, str]:
        users = [getpass.getuser(), *(f"{getpass.getuser()}.hfs.{index}" for index in range(_HBASE_USERS))]
        return {
            "hadoop.user.group.static.mapping.overrides": ";".join(f"{user}=supergroup" for user in users),
            "dfs.namenode.fs-limits.min-block-size": "0",
            "dfs.replication": "1",
            "dfs.namenode.acls.enabled": "true",
            "hdfs.minidfs.basedir": str(self.work / "dfs"),
            "dfs.ha.tail-edits.period": "1s",
        }

    def _make_configuration(self, properties: Mapping[str, str]) -> JavaObject:
        configuration = self.jvm.view.org.apache.hadoop.hdfs.HdfsConfiguration()
        for name, value in properties.items():
            configuration.set(name, value)
        return configuration

    def _start(self) -> JavaObject:
        hdfs = self.jvm.view.org.apache.hadoop.hdfs
        builder = hdfs.MiniDFSCluster.Builder(self._configuration).numDataNodes(1)
        if self.ha:
            builder = builder.nnTopology(hdfs.MiniDFSNNTopology.simpleHATopology())
        if self.kerberos:
            builder = builder.checkDataNodeAddrConfig(True)
        cluster = builder.build()
        if self.ha:
            cluster.transitionToActive(0)
        cluster.waitActive()
        return cluster

    def _start_kdc(self) -> dict[str, str]:
        kdc_class = self.jvm.view.org.apache.hadoop.minikdc.MiniKdc
        directory = self.work / "kdc"
        directory.mkdir(parents=True, exist_ok=True)
        self._kdc = kdc_class(kdc_class.createConf(), self.jvm.view.java.io.File(str(directory)))
        self._kdc.start()
        keytab = self.work / "walsafe.keytab"
        services = [f"{service}/{REALM_HOST}" for service in ("hdfs", "HTTP", "hbase", "zookeeper", "yarn")]
        names = [*services, "walsafe", "walsafe-queues"]
        array = self.jvm.gateway.new_array(self.jvm.view.java.lang.String, len(names))
        for index, name in enumerate(names):
            array[index] = name
        self._kdc.createPrincipal(self.jvm.view.java.io.File(str(keytab)), array)
        realm = self._kdc.getRealm()
        service, web, hbase, zookeeper, yarn = (f"{name}@{realm}" for name in services)
        krb5_conf = Path(self._kdc.getKrb5conf().getAbsolutePath())
        self.kerberos = Kerberos(
            krb5_conf, keytab, f"walsafe@{realm}", service, hbase, zookeeper, yarn, f"walsafe-queues@{realm}"
        )
        return {
            "hadoop.security.authentication": "kerberos",
            "hadoop.security.authorization": "true",
            "hadoop.security.auth_to_local": "\n".join(_USERS),
            "dfs.namenode.kerberos.principal": service,
            "dfs.namenode.keytab.file": str(keytab),
            "dfs.datanode.kerberos.principal": service,
            "dfs.datanode.keytab.file": str(keytab),
            "dfs.web.authentication.kerberos.principal": web,
            "dfs.web.authentication.kerberos.keytab": str(keytab),
            "hadoop.http.authentication.type": "kerberos",  # otherwise WebHDFS believes every name
            "hadoop.http.authentication.kerberos.principal": web,
            "hadoop.http.authentication.kerberos.keytab": str(keytab),
            "dfs.block.access.token.enable": "true",
            # data nodes of a secured HDFS want ports below 1024; there are none for a test
            "ignore.secure.ports.for.testing": "true",
            "dfs.http.policy": "HTTP_ONLY",
            "dfs.datanode.address": "localhost:0",
            "dfs.datanode.http.address": "localhost:0",
            "dfs.datanode.ipc.address": "localhost:0",
            "dfs.namenode.http-address": "localhost:0",
        }

    def _log_in(self, principal: str, keytab: str) -> None:
        information = self.jvm.view.org.apache.hadoop.security.UserGroupInformation
        information.setConfiguration(self._configuration)
        information.loginUserFromKeytab(principal, keytab)

    @property
    def uri(self) -> str:
        """Returns ``fs.defaultFS`` for clients."""
        if self.ha:
            return f"hdfs://{NAMESERVICE}"
        return f"hdfs://localhost:{self._cluster.getNameNodePort()}"

    def webhdfs(self, name_node: int = 0) -> str:
        """Returns the HTTP address of one name node, in the form that ``hdfs.InsecureClient`` takes."""
        return f"http://localhost:{self._cluster.getNameNode(name_node).getHttpAddress().getPort()}"

    @property
    def client_properties(self) -> dict[str, str]:
        """Returns the properties, beyond the defaults, that a client needs to reach this HDFS."""
        properties = {"fs.defaultFS": self.uri}
        if self.ha:
            properties |= self._ha_properties()
        if self.kerberos:
            names = ("hadoop.security.authentication", "hadoop.security.authorization", "hadoop.security.auth_to_local")
            properties |= {name: self._configuration.get(name) for name in names}
            properties["dfs.namenode.kerberos.principal"] = self.kerberos.superuser
            properties["dfs.datanode.kerberos.principal"] = self.kerberos.superuser
        return properties

    def _ha_properties(self) -> dict[str, str]:
        properties = {
            "dfs.nameservices": NAMESERVICE,
            f"dfs.ha.namenodes.{NAMESERVICE}": "nn1,nn2",
            f"dfs.client.failover.proxy.provider.{NAMESERVICE}": (
                "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
            ),
        }
        for index, name in enumerate(("nn1", "nn2")):
            node = self._cluster.getNameNode(index)
            properties[f"dfs.namenode.rpc-address.{NAMESERVICE}.{name}"] = (
                f"localhost:{node.getNameNodeAddress().getPort()}"
            )
            properties[f"dfs.namenode.http-address.{NAMESERVICE}.{name}"] = (
                f"localhost:{node.getHttpAddress().getPort()}"
            )
        return properties

    def write_conf(self, directory: Path, extra: Mapping[str, str] | None = None) -> Path:
        """Writes ``core-site.xml`` and ``hdfs-site.xml``; returns the directory: a client's ``HADOOP_CONF_DIR``."""
        properties = merged(self.client_properties, extra or {})
        core = {name: value for name, value in properties.items() if not name.startswith("dfs.")}
        write_site(directory / "core-site.xml", core)
        write_site(directory / "hdfs-site.xml", {n: v for n, v in properties.items() if n not in core})
        return directory

    def fail_over(self, target: int) -> None:
        """Makes the other name node active (HA only)."""
        self._cluster.transitionToStandby(1 - target)
        self._cluster.transitionToActive(target)
        self._cluster.waitActive(target)

    def save_ticket(self, principal: str, cache: Path, *, expired: bool = False) -> None:
        """Writes a ticket cache, as `kinit -kt KEYTAB PRINCIPAL` does (Kerberos only).

        Args:
            principal: the owner of the ticket.
            cache: the file.
            expired: whether the cache says that the ticket, and the time to renew it, ended an hour ago.
        """
        if self.kerberos is None:
            raise ValueError("this HDFS has no Kerberos")
        java = self.jvm.view
        client = java.org.apache.kerby.kerberos.kerb.client.KrbClient(
            java.java.io.File(str(self.kerberos.krb5_conf.parent))
        )
        client.init()
        ticket = client.requestTgt(principal, java.java.io.File(str(self.kerberos.keytab)))
        if expired:
            ended = java.java.lang.System.currentTimeMillis() - 3_600_000
            told = ticket.getEncKdcRepPart()
            for change in (told.setEndTime, told.setRenewTill):  # otherwise Hadoop renews it
                change(java.org.apache.kerby.kerberos.kerb.type.KerberosTime(ended))
        client.storeTicket(ticket, java.java.io.File(str(cache)))

    @contextmanager
    def tickets_that_end(self, after: int) -> Iterator[None]:
        """Meanwhile the KDC gives everybody tickets that end after some seconds, and cannot be renewed."""
        field = self._kdc.getClass().getDeclaredField("simpleKdc")
        field.setAccessible(True)
        kdc, keys = field.get(self._kdc).getKdcConfig(), self.jvm.view.org.apache.kerby.kerberos.kerb.server
        before = {
            keys.KdcConfigKey.MAXIMUM_TICKET_LIFETIME: kdc.getMaximumTicketLifetime(),
            keys.KdcConfigKey.MAXIMUM_RENEWABLE_LIFETIME: kdc.getMaximumRenewableLifetime(),
        }
        for limit in before:
            kdc.setString(limit, str(after))
        try:
            yield
        finally:
            for limit, seconds in before.items():
                kdc.setString(limit, str(seconds))

    def safe_mode(self, on: bool) -> None:
        """Turns safe mode on or off."""
        action = self.jvm.view.org.apache.hadoop.fs.SafeModeAction
        self.file_system().setSafeMode(action.ENTER if on else action.LEAVE)

    def file_system(self) -> JavaObject:
        """Returns the ``DistributedFileSystem`` of the superuser."""
        return self._cluster.getFileSystem(0)

    def path(self, path: str) -> JavaObject:
        """Returns a Hadoop ``Path`` in the HDFS JVM."""
        return self.jvm.view.org.apache.hadoop.fs.Path(path)

    def create_file(self, path: str, content: bytes = b"") -> None:
        """Writes one file, and its parents."""
        out = self.file_system().create(self.path(path))
        try:
            if content:
                out.write(bytearray(content))
        finally:
            out.close()

    def read_text(self, path: str) -> str:
        """Returns the text of a file."""
        stream = self.file_system().open(self.path(path))
        try:
            return str(self.jvm.view.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def create_directory(self, path: str, owner: str, mode: int = 0o755) -> None:
        """Creates a directory, and its parents, for another user."""
        self.file_system().mkdirs(self.path(path))
        self.file_system().setOwner(self.path(path), owner, owner)
        self.set_permission(path, mode)

    def add_acl(self, path: str, entries: str) -> None:
        """Adds entries such as `user:walsafe:r-x` to the ACL of a file or directory."""
        parsed = self.jvm.view.org.apache.hadoop.fs.permission.AclEntry.parseAclSpec(entries, True)
        self.file_system().modifyAclEntries(self.path(path), parsed)

    def set_permission(self, path: str, mode: int) -> None:
        """Sets the permission bits, for example ``0o500``."""
        permission = self.jvm.view.org.apache.hadoop.fs.permission.FsPermission(format(mode, "o"))
        self.file_system().setPermission(self.path(path), permission)

    def close(self) -> None:
        """Ends the JVM with all that runs in it."""
        self.jvm.close()
