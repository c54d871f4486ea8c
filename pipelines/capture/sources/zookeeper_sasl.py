"""Reads ZooKeeper with Kerberos (SASL), through ZooKeeper's own client in Spark's JVM. It only reads."""

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from py4j.protocol import Py4JError, Py4JJavaError

from pipelines.capture.sources.zookeeper_java import JAVA_CLASS, JAVA_SOURCE
from pipelines.common.errors import UnavailableError, UsageError, WalsafeError
from pipelines.files.hadoop_jvm import LOG_IN, HadoopJvm, JavaObject, java_cause, lacks_kdc

_AT_A_TIME = 1_000
_NO_NODE, _NO_AUTH = -101, -102
"""ZooKeeper's own codes (`KeeperException.Code`); 0 = the znode was read."""
_NO_RIGHT = ("NoAuthException", "AuthFailedException", "SessionClosedRequireAuthException")


@dataclass(frozen=True)
class Login:
    """The Kerberos identity of Spark's driver.

    Attributes:
        principal: Spark's `spark.kerberos.principal`; None = the owner of the ticket cache.
        keytab: Spark's `spark.kerberos.keytab`; None = the ticket cache.
    """

    principal: str | None = None
    keytab: str | None = None

    def __str__(self) -> str:
        return self.principal or "the owner of the ticket cache"


class SaslZooKeeperClient:
    """A ZooKeeper session as a Kerberos principal, opened on first use; a `ZooKeeperReads`.

    Args:
        hadoop: the interface to Spark's JVM.
        quorum: `host:port,host:port`.
        timeout_ms: the limit for connecting, and for the answers to the reads that are sent at once.
        login: whose keys or ticket are used.
        section: the section of the configuration that says where ZooKeeper is, for messages.
    """

    def __init__(
        self, hadoop: HadoopJvm, quorum: str, timeout_ms: int, login: Login, section: str = "capture.queues"
    ) -> None:
        self.where = f"ZooKeeper {quorum}"
        self.section = section
        self._hadoop = hadoop
        self._quorum = quorum
        self._timeout_ms = timeout_ms
        self._login = login
        self._open: JavaObject | None = None

    def exists(self, path: str) -> bool:
        """See `ZooKeeperReads.exists`."""
        with self._errors(path):
            return bool(self._session().exists(path))

    def data(self, path: str) -> bytes | None:
        """See `ZooKeeperReads.data`."""
        return self.many([path])[0]

    def many(self, paths: Sequence[str]) -> list[bytes | None]:
        """See `ZooKeeperReads.many`."""
        found: list[bytes | None] = []
        for start in range(0, len(paths), _AT_A_TIME):
            asked = paths[start : start + _AT_A_TIME]
            with self._errors(asked[0]):
                answers = bytes(self._session().data("\0".join(asked)))
            found += self._answers(asked, answers)
        return found

    def children(self, path: str) -> tuple[list[str], int] | None:
        """See `ZooKeeperReads.children`."""
        with self._errors(path):
            answer = self._session().children(path)
        if answer is None:
            return None
        cversion, *names = str(answer).split("/")  # no name of a znode has a slash
        return sorted(names), int(cversion)

    def sync(self, path: str) -> None:
        """See `ZooKeeperReads.sync`."""
        with self._errors(path):
            self._session().sync(path)

    @contextmanager
    def one_session(self) -> Iterator[None]:
        """See `ZooKeeperReads.one_session`. ZooKeeper's own client never opens a second session by itself."""
        with self._errors("connecting"):
            before = self._session()
        yield
        if self._open is not before:
            raise UnavailableError(
                f"{self.where}: the session ended while znodes were read, so they may be of different times; try again"
            )

    def close(self) -> None:
        """Ends the session."""
        session, self._open = self._open, None
        if session is not None:
            with self._errors("closing"):
                session.close()

    def _session(self) -> JavaObject:
        if self._open is None:
            opener = self._hadoop.compiled(JAVA_CLASS, JAVA_SOURCE)
            self._open = opener.open(self._quorum, self._timeout_ms, self._login.principal, self._login.keytab)
        return self._open

    def _answers(self, paths: Sequence[str], answers: bytes) -> Iterator[bytes | None]:
        start = 0
        for path in paths:
            code, length = struct.unpack_from(">ii", answers, start)
            start += 8 + length
            if code not in (0, _NO_NODE):
                self.close()
                raise self._forbidden(path) if code == _NO_AUTH else self._unavailable(path, f"code {code}")
            yield answers[start - length : start] if code == 0 else None

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except Py4JJavaError as error:
            session, self._open = self._open, None  # one that hangs or has expired is of no use to the next attempt
            if session is not None:
                session.close()
            raise self._meaning(what, java_cause(error)) from error
        except Py4JError as error:
            raise self._unavailable(what, f"Spark's JVM did not answer ({java_cause(error)})") from error

    def _meaning(self, what: str, cause: str) -> WalsafeError:
        name, _, told = cause.partition(": ")
        if name.endswith("LoginException"):
            if lacks_kdc(told):
                return UnavailableError(f"{self.where}: no ticket for {self._login} from the KDC ({told}); try again")
            return UsageError(f"{self.where}: no Kerberos ticket for {self._login} ({told}). {LOG_IN}")
        if name.endswith("SaslException"):
            return UsageError(
                f"{self.where} did not accept the ticket of {self._login}: its servers need SASL, and the principal "
                "zookeeper/<host name>, or Java's property zookeeper.server.principal must name theirs. Check also "
                "this machine's clock"
            )
        if any(name.endswith(sign) for sign in _NO_RIGHT):
            return self._forbidden(what)
        return self._unavailable(what, told or name)

    def _forbidden(self, path: str) -> UsageError:
        return UsageError(
            f"{self.where}: {path} may not be read by {self._login}. HBase lets only its own principal and those of "
            "hbase.superuser read its queues: see docs/capture.md, Kerberos"
        )

    def _unavailable(self, what: str, cause: str) -> UnavailableError:
        return UnavailableError(
            f"{self.where}, {what}: {cause}; check {self.section}.quorum and that it has a leader, then try again"
        )
