"""Reads the private logs of one replica directory."""

from collections.abc import Iterator
from pathlib import Path

from pipelines.common.conditions import Condition
from pipelines.common.errors import RefusedError, UnavailableError
from pipelines.pegasus.domain.encryption import MAGIC, refuse_encrypted
from pipelines.pegasus.domain.private_log.blocks import LogEnd
from pipelines.pegasus.domain.private_log.log_file import LogFile, LogTally
from pipelines.pegasus.domain.private_log.mutations import Mutation
from pipelines.pegasus.domain.private_log.names import Gpid, is_log_name, parse_log_name
from pipelines.pegasus.domain.private_log.reader import PrivateLogReader


class ReplicaLogs:
    """The private logs of one replica: yields its mutations in order.

    Attributes:
        files: the logs that have been read.
    """

    def __init__(self, folder: str, gpid: Gpid, valid_offset: int = 0, node: str | None = None) -> None:
        """Creates the object, without touching the disk.

        Args:
            folder: the directory of the logs.
            gpid: the partition of the replica; mutations of another one are counted as foreign and not yielded.
            valid_offset: mutations at a lower global offset are not yielded, as in `replica::replay_mutation`.
            node: the name of the server; None = the directory above the replica's.
        """
        self._folder, self._gpid, self._valid_offset = Path(folder), gpid, valid_offset
        self._node = str(self._folder.parent.parent) if node is None else node
        self.files: list[LogFile] = []

    def __iter__(self) -> Iterator[Mutation]:
        """Yields the mutations.

        Raises:
            RefusedError: a log is corrupt before its end, or encrypted.
            UnavailableError: the folder cannot be read.
        """
        try:
            paths = [path for path in self._folder.iterdir() if is_log_name(path.name)]
            for path in sorted(paths, key=lambda path: parse_log_name(path.name)):
                yield from self._log(path)
        except OSError as error:
            raise UnavailableError(f"{self._folder} cannot be read: {error.strerror}") from None

    def _log(self, path: Path) -> Iterator[Mutation]:
        tally = LogTally(self._node, self._gpid, path.name)
        with path.open("rb") as stream:
            refuse_encrypted(stream.peek(len(MAGIC)), str(path))
            reader = PrivateLogReader(stream.read, tally.file.start_offset)
            for mutation in reader:
                gpid = mutation.gpid
                tally.add((gpid.app_id, gpid.partition), mutation.ballot, mutation.decree)
                if mutation.gpid == self._gpid and mutation.log_offset >= self._valid_offset:
                    yield mutation
        if reader.ending is LogEnd.CORRUPT:
            raise RefusedError(
                Condition.REPLICA_DAMAGED, f"{path} is broken: {reader.problem}. Take the replica of another server"
            )
        self.files.append(tally.end(reader))
