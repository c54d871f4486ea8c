"""Reads ZooKeeper through kazoo: bounded reads of znodes, and errors that say what to do. It only reads."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeAlias

from kazoo.client import KazooClient
from kazoo.exceptions import (
    AuthFailedError,
    KazooException,
    NoAuthError,
    NoNodeError,
    SessionClosedRequireSaslError,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.retry import KazooRetry

from pipelines.common.errors import UnavailableError, UsageError

logger = logging.getLogger(__name__)

Untyped: TypeAlias = Any
"""kazoo ships no types: this type is used for its client, its pending answers and their contents."""
_AT_A_TIME = 200
"""Number of reads sent at once: one round trip each would take minutes for a long backlog."""


class ZooKeeperReads(Protocol):
    """Reads znodes in a session of ZooKeeper.

    Its methods raise `UsageError` if a znode may not be read, and `UnavailableError` if ZooKeeper does not answer.

    Attributes:
        where: the name of this ZooKeeper in messages.
        section: the section of the configuration that says where it is, for messages.
    """

    where: str
    section: str

    def exists(self, path: str) -> bool:
        """Returns whether a znode exists."""

    def data(self, path: str) -> bytes | None:
        """Returns the data of a znode; None = there is no such znode."""

    def many(self, paths: Sequence[str]) -> list[bytes | None]:
        """Returns the data of znodes, in the order of the paths; None = there is no such znode."""

    def children(self, path: str) -> tuple[list[str], int] | None:
        """Returns the names of a znode's children, sorted, and the cversion that belongs to them.

        None = there is no such znode.
        """

    def sync(self, path: str) -> None:
        """Makes the server that answers catch up with the leader, since a follower may lag behind."""

    def one_session(self) -> AbstractContextManager[None]:
        """Ensures that the `with` block reads in one session.

        Within a session ZooKeeper never goes back to an older state.

        Raises:
            UnavailableError: the block read in more than one session.
        """

    def close(self) -> None:
        """Ends the session."""


class ZooKeeperClient:
    """A ZooKeeper session through kazoo, opened on first use; a `ZooKeeperReads`.

    Args:
        quorum: `host:port,host:port`.
        timeout_ms: the limit for connecting, and for each answer.
        digest: `user:password` for ZooKeeper's scheme `digest`; None = no authentication.
        section: the section of the configuration that says all this, for messages.
    """

    def __init__(
        self, quorum: str, timeout_ms: int, digest: str | None = None, section: str = "capture.queues"
    ) -> None:
        self.where = f"ZooKeeper {quorum}"
        self.section = section
        self._quorum = quorum
        self._seconds = timeout_ms / 1000
        self._digest = digest
        self._open: Untyped = None

    def exists(self, path: str) -> bool:
        """See `ZooKeeperReads.exists`."""
        return self._ask(path, lambda client: client.exists_async(path)) is not None

    def data(self, path: str) -> bytes | None:
        """See `ZooKeeperReads.data`."""
        return self.many([path])[0]

    def many(self, paths: Sequence[str]) -> list[bytes | None]:
        """See `ZooKeeperReads.many`."""
        found: list[bytes | None] = []
        for start in range(0, len(paths), _AT_A_TIME):
            asked = [(path, self._client().get_async(path)) for path in paths[start : start + _AT_A_TIME]]
            for path, answer in asked:
                value = self._answer(path, answer)
                found.append(None if value is None else bytes(value[0]))
        return found

    def children(self, path: str) -> tuple[list[str], int] | None:
        """See `ZooKeeperReads.children`."""
        value = self._ask(path, lambda client: client.get_children_async(path, include_data=True))
        return None if value is None else (sorted(value[0]), int(value[1].cversion))

    def sync(self, path: str) -> None:
        """See `ZooKeeperReads.sync`."""
        self._ask(path, lambda client: client.sync_async(path))

    @contextmanager
    def one_session(self) -> Iterator[None]:
        """See `ZooKeeperReads.one_session`.

        A session may expire between two reads. Then kazoo silently opens another session, perhaps with a server that
        lags behind, and a reading would contain znodes from before the listing (docs/proof.md, mutant
        `zk-any-session`).

        Raises:
            UnavailableError: the block read in more than one session.
        """
        before = self._client().client_id
        yield
        if before is None or self._client().client_id != before:
            self.close()
            raise UnavailableError(
                f"{self.where}: the session ended while znodes were read, so they may be of different times; try again"
            )

    def close(self) -> None:
        """Ends the session."""
        client, self._open = self._open, None
        if client is not None:
            client.stop()
            client.close()

    def _client(self) -> Untyped:
        if self._open is None:
            client = KazooClient(
                hosts=self._quorum,
                timeout=self._seconds,
                connection_retry=KazooRetry(max_tries=3, delay=0.2, max_delay=1.0),
                auth_data=[("digest", self._digest)] if self._digest else None,
                logger=logging.getLogger("kazoo"),
            )
            try:
                client.start(timeout=self._seconds)
            except (KazooTimeoutError, KazooException, OSError) as error:
                client.stop()
                client.close()
                raise self._unavailable("connecting", error) from error
            self._open = client
        return self._open

    def _ask(self, path: str, question: Callable[[Untyped], Untyped]) -> Untyped:
        return self._answer(path, question(self._client()))

    def _answer(self, path: str, answer: Untyped) -> Untyped:
        try:
            return answer.get(timeout=self._seconds)
        except NoNodeError:
            return None
        except SessionClosedRequireSaslError as error:
            raise UsageError(
                f"{self.where}: {path} may only be read with SASL; give {self.section}.sasl: true, and a ticket or a "
                "keytab"
            ) from error
        except (NoAuthError, AuthFailedError) as error:
            raise UsageError(
                f"{self.where}: {path} may not be read by this user ({type(error).__name__}). Let HBase's superuser "
                f"grant read access below the replication znode, or give {self.section}.digest or {self.section}.sasl"
            ) from error
        except (KazooTimeoutError, KazooException, OSError) as error:
            self.close()  # a session that hangs or has expired is of no use to the next attempt
            raise self._unavailable(path, error) from error

    def _unavailable(self, what: str, error: Exception) -> UnavailableError:
        return UnavailableError(
            f"{self.where}, {what}: {str(error) or type(error).__name__}; check {self.section}.quorum and that "
            "ZooKeeper has a leader, then try again"
        )
