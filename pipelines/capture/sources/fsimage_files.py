"""Lists files from the text that `hdfs oiv -p Delimited` makes of an fsimage, without load on any name node."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from zoneinfo import ZoneInfo

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.capture.sources.saved_listings import end_of_minute
from pipelines.capture.sources.wal_tree import LIVE_DIRECTORIES
from pipelines.common.errors import MalformedError, UnavailableError, UsageError
from pipelines.common.progress import Progress
from pipelines.common.spark.local_rows import local_rows
from pipelines.files.file_batch import FileBatch
from pipelines.files.hadoop_jvm import java_cause, java_errors
from pipelines.hbase.server_names import parse_java_long
from pipelines.hbase.wal_root import OLD_WALS
from pipelines.snapshot.capture_clocks import FILE_SYSTEM, StepStamp
from pipelines.snapshot.model import CaptureStep

logger = logging.getLogger(__name__)

_BATCH = 10_000
_PIECE_BYTES = 16 << 20  # bytes of text; the driver holds several times as much at once
# Spark cannot begin in the middle of such a text, so it reads the text twice and distributes its rows by path
_ONE_PIECE, _PIECES_OF_ONE = (".gz", ".zst", ".deflate", ".lz4", ".snappy"), 200
_MISSING_OR_DAMAGED = (
    *("FileNotFoundException", "TextParsingException", "Unexpected end of input stream", "not a gzip file"),
    *("incorrect header check", "incorrect data check", "invalid block type"),
)
"""The words of Java exceptions about a text that stays as it is, however often it is read."""
_COLUMNS = ("Path", "ModificationTime", "FileSize", "Permission")


class FsimageFiles:
    """Reads the text of an image as a `FileSource`. An image shows one moment, so no file is in it twice.

    The times in the text are rounded down to the minute, in the time zone of the process that wrote it; the END of the
    minute counts.

    Args:
        spark: reads the text, which may be huge, a piece at a time; only paths below the WAL root reach the driver.
        uri: the URI of the text.
        wal_root: a full URI, of which only the path is used.
        delimiter: the value that was given to `-delimiter`.
        zone: the time zone of the process that wrote the text.
        transaction_time: the time of the image's last transaction, ms since the epoch.
    """

    def __init__(
        self, spark: SparkSession, uri: str, wal_root: str, *, delimiter: str, zone: ZoneInfo, transaction_time: int
    ) -> None:
        self._spark = spark
        self._uri = uri
        self._root = re.sub(r"^[^:/]+://[^/]*", "", wal_root)
        self._delimiter = delimiter
        self._zone = zone
        self._time = transaction_time

    def stamp(self, step: str) -> StepStamp:
        """See `CaptureSource.stamp`. An image shows one moment."""
        return StepStamp(CaptureStep(step, self._time, self._time), FILE_SYSTEM)

    def files(self) -> Iterator[FileBatch]:
        """See `FileSource.files`."""
        progress = Progress("listing")
        paths: list[str] = []
        lengths: list[int] = []
        times: list[int] = []
        with self._errors():
            for path, length, minute, cut_off in local_rows(self._rows()):
                paths.append(path)
                lengths.append(self._length(length, path))
                if cut_off:
                    raise UsageError(f"{self._uri}: {path}: no Permission; the text is cut off or malformed")
                times.append(self._modified(minute, path))
                if len(paths) == _BATCH:
                    progress.more(_BATCH)
                    yield FileBatch(paths, lengths, times)
                    paths, lengths, times = [], [], []
        progress.more(len(paths))
        if paths:
            yield FileBatch(paths, lengths, times)
        progress.end()
        logger.info("Listed %s", progress)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turns errors of Spark into walsafe errors.

        Raises:
            UsageError: the text does not exist, is damaged, or may not be read.
            UnavailableError: any other error, such as a name node that did not answer.
        """
        try:
            with java_errors(self._uri):
                yield
        except AnalysisException as error:
            raise self._unreadable(java_cause(error)) from error
        except PySparkException as error:
            raise UnavailableError(f"{self._uri}: {java_cause(error)}; solve this and try again") from error
        except UnavailableError as error:
            cause = java_cause(error.__cause__) if isinstance(error.__cause__, Py4JJavaError) else ""
            if any(sign in cause for sign in _MISSING_OR_DAMAGED):
                raise self._unreadable(cause) from error
            raise

    def _unreadable(self, cause: str) -> UsageError:
        return UsageError(f"{self._uri} cannot be read: {cause}; check files.path")

    def _rows(self) -> DataFrame:
        """Returns only the files, with relative paths.

        The writer quotes a field with a comma or a quote as CSV does.
        """
        spark = self._spark.newSession()
        spark.conf.set("spark.sql.files.maxPartitionBytes", str(_PIECE_BYTES))
        table = spark.read.csv(
            self._uri, sep=self._delimiter, header=True, quote='"', escape='"', inferSchema=False, mode="PERMISSIVE"
        )
        missing = [name for name in _COLUMNS if name not in table.columns]
        if missing:
            raise UsageError(
                f"{self._uri}: no column {missing[0]!r} in its first line ({', '.join(table.columns)[:200]}); make it "
                "with `hdfs oiv -p Delimited` and check files.delimiter"
            )
        relative = F.expr(f"substring(Path, {len(self._root) + 2})")
        inside = F.lit(False)
        for top in (*LIVE_DIRECTORIES, OLD_WALS):
            inside |= F.col("Path").startswith(f"{self._root}/{top}/")
        # a row without a permission was cut off, perhaps in its length; it stays here, and is refused above
        cut_off = F.col("Permission").isNull()
        files = cut_off | ~F.col("Permission").startswith("d")
        rows = table.where(inside & files).select(relative.alias("path"), "FileSize", "ModificationTime", cut_off)
        return rows.repartitionByRange(_PIECES_OF_ONE, "path") if self._uri.endswith(_ONE_PIECE) else rows

    def _length(self, text: str | None, path: str) -> int:
        if text is not None and text.isascii() and text.isdecimal():
            with suppress(MalformedError):
                return parse_java_long(text)
        raise UsageError(f"{self._uri}: {path}: FileSize {text!r} is not a number; the text is cut off or malformed")

    def _modified(self, text: str | None, path: str) -> int:
        try:
            return end_of_minute(text or "", self._zone, self._time)
        except MalformedError as error:
            raise UsageError(f"{self._uri}: {path}: {error}") from None
