"""Reads private logs and journals from a file system; Spark's executors decode them."""

from collections.abc import Iterator

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from pipelines.common.errors import UsageError
from pipelines.files.file_reader import FileReader, no_directory
from pipelines.pegasus.domain.private_log.names import is_log_name
from pipelines.pegasus.sources.replica_tree import replica_directories
from pipelines.pegasus.transforms.journal_rows import parsed_lines
from pipelines.pegasus.transforms.log_rows import DECODED, TASK, Opener, log_decoder

_MOST_TASKS = 10_000
_LOGS = "plog"


class PrivateLogs:
    """Reads private logs, with one task for each log; decoded rows are persisted on the executors' disks."""

    def __init__(self, spark: SparkSession, files: FileReader, opener: Opener) -> None:
        self._spark = spark
        self._files = files
        self._opener = opener

    def decode(self, uri: str) -> DataFrame:
        """Decodes every log below a directory to `transforms.log_rows.DECODED`, persisted for repeated use.

        Raises:
            UsageError: there is no such directory, or no log below it, or it has directories too far below it.
        """
        root = self._files.qualified(uri).rstrip("/")
        if self._files.entries(root) is None:
            raise no_directory(uri, "one above the replica directories")
        found = list(self._logs(root))
        if not found:
            raise UsageError(
                f"{uri} contains no private log; expected is …/<app>.<partition>.pegasus/plog/log.<index>.<offset>"
            )
        tasks = self._spark.createDataFrame(found, TASK).repartition(min(len(found), _MOST_TASKS))
        return tasks.mapInArrow(log_decoder(self._opener), DECODED).persist(StorageLevel.DISK_ONLY)

    def journal(self, uri: str) -> DataFrame:
        """Reads the lines of a request journal and parses them to `transforms.journal_rows.ASKED`.

        The driver reads the journal and numbers its lines.

        Raises:
            UsageError: the journal is a directory, empty, or not UTF-8.
        """
        entries = self._files.entries(uri)
        if entries is not None:
            raise UsageError(f"{uri} is a directory; a journal is one file of JSON lines (docs/split-route.md)")
        try:
            text = self._files.read(uri).decode("utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(f"{uri}: not UTF-8 ({error}); a journal is JSON lines (docs/split-route.md)") from None
        lines = [(line, number) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        if not lines:
            raise UsageError(f"{uri}: the journal is empty")
        frame = self._spark.createDataFrame(lines, "value string, line long")
        return parsed_lines(frame, uri).persist(StorageLevel.DISK_ONLY)

    def _logs(self, root: str) -> Iterator[tuple[str, str, int, int, str]]:
        """Yields URI, node, table, partition and log name of each log below."""
        for replica, gpid in replica_directories(self._files, root):
            node = replica.removeprefix(root).strip("/").rpartition("/")[0]
            for log in self._files.entries(f"{replica}/{_LOGS}") or ():
                if not log.is_directory and is_log_name(log.name):
                    yield f"{replica}/{_LOGS}/{log.name}", node or "local", gpid.app_id, gpid.partition, log.name
