"""Reads rows of Pegasus tables from Parquet files (docs/split-rows.md)."""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, IntegerType, StructType

from pipelines.common.errors import UsageError
from pipelines.files.file_reader import no_directory
from pipelines.pegasus.domain.rows import RowKind, Tallies
from pipelines.pegasus.sources.local_rows import Chosen, LocalHeads, local_paths
from pipelines.pegasus.sources.written_rows import WrittenRows, check_written_rows_at
from pipelines.pegasus.transforms.row_frames import Heads, detail_rows, row_heads, row_sums
from pipelines.pegasus.transforms.row_tally import ROW_SCHEMA, ExamineSettings, in_buckets

_COLUMNS = dict(zip(ROW_SCHEMA.names, (IntegerType(), BinaryType(), BinaryType()), strict=True))
_CHECKED = {"parquet.page.verify-checksum.enabled": "true"}
"""Spark verifies pages that have a checksum; those of split-run have one."""
_BELOW = {"recursiveFileLookup": "true", "pathGlobFilter": "*.parquet"}
"""split-run writes a directory for each partition."""
_DAMAGED = re.compile(
    r"is not a Parquet file|CANNOT_READ_FILE_FOOTER|FAILED_READ_FILE|ParquetDecodingException|corrupted file: "
)


class ParquetRows:
    """Reads the rows of tables from Parquet files; it has no method that writes."""

    def __init__(self, spark: SparkSession, *uris: str, given: Sequence[WrittenRows] = ()) -> None:
        """Creates the reader of some directories.

        If all of them are local or mounted, the tasks read the files themselves; otherwise, and if none is given, Spark
        does. Their digests differ, so only rows of one reader are comparable.

        Args:
            spark: the session.
            uris: the directories.
            given: what the user says about each directory; none = nothing.

        Raises:
            UsageError: there are no rows, the columns are not `ROW_SCHEMA`, or walsafe has written other rows than the
                user says.
            RefusedError: the files are not those of their manifest.
        """
        self._spark = spark
        self._paths: dict[str, list[str]] | None = {} if uris else None
        for uri, said in zip(uris, given or [WrittenRows()] * len(uris), strict=True):
            check_written_rows_at(spark, uri, said)
            rows = self.rows(uri)
            with parquet_errors(uri):
                paths = local_paths(rows.inputFiles())
            self._paths = None if paths is None or self._paths is None else {**self._paths, uri: paths}

    def _heads(self, uri: str, places: Collection[int] | None = None, chosen: Chosen | None = None) -> Heads:
        if self._paths is not None:
            return LocalHeads(self._spark, self._paths[uri], places, chosen)
        rows = self.rows(uri)
        return row_heads(rows if places is None else rows.where(F.col("partition_index").isin(*places)))

    def rows(self, uri: str) -> DataFrame:
        """Returns the rows of a directory.

        Raises:
            UsageError: there are no rows, or the columns are not `ROW_SCHEMA`.
        """
        frame = read_parquet(self._spark, uri)
        check_columns(frame.schema, uri)
        return frame.select(*_COLUMNS)

    def tally(self, uri: str, question: ExamineSettings) -> Tallies:
        """Returns the sums of all rows of a directory, after reading the whole directory."""
        with parquet_errors(uri):
            return row_sums(self._heads(uri), question)

    def details(
        self,
        uri: str,
        question: ExamineSettings,
        buckets: Collection[int],
        kinds: Collection[RowKind],
        places: Collection[int] | None = None,
    ) -> DataFrame:
        """Returns the single rows of some buckets or of some kinds, with the columns of `row_frames.DETAIL_SCHEMA`.

        `places` are the partitions that store them; None = unknown.
        """
        with parquet_errors(uri):
            heads = self._heads(uri, places, None if kinds else in_buckets(question, buckets))
            return detail_rows(heads, question, buckets, kinds)


def read_parquet(spark: SparkSession, uri: str, page: str = "docs/split-rows.md") -> DataFrame:
    """Returns the rows of the `*.parquet` files in and below a directory; for errors see `parquet_errors`."""
    with parquet_errors(uri, page):
        return spark.read.options(**_CHECKED, **_BELOW).parquet(uri)


def check_columns(schema: StructType, uri: str) -> None:
    """Refuses a schema other than that of table rows: an unknown column is a typing error or another format.

    Raises:
        UsageError: a column is missing, unknown or of another type.
    """
    there = {field.name: field.dataType for field in schema}
    unknown, missing = sorted(set(there) - set(_COLUMNS)), sorted(set(_COLUMNS) - set(there))
    if unknown or missing:
        said = [f"unknown column {name!r}" for name in unknown] + [f"no column {name!r}" for name in missing]
        raise UsageError(f"{uri}: {', '.join(said)}; docs/split-rows.md has the columns: {', '.join(_COLUMNS)}")
    for name, kind in _COLUMNS.items():
        if there[name] != kind:
            found, asked = there[name].simpleString(), kind.simpleString()
            raise UsageError(f"{uri}: column {name!r} is {found}, it must be {asked} (docs/split-rows.md)")


@contextmanager
def parquet_errors(uri: str, page: str = "docs/split-rows.md") -> Iterator[None]:
    """Translates Spark's errors of reading Parquet. Use it around actions, because Spark reads lazily.

    Args:
        uri: the directory that is read.
        page: the documentation page of its format.

    Raises:
        UsageError: there is no Parquet file, or a file is damaged.
    """
    try:
        yield
    except (PySparkException, Py4JJavaError, OSError) as error:
        text = str(error)
        if "PATH_NOT_FOUND" in text:
            raise no_directory(uri, f"a directory of Parquet files ({page})") from error
        if "UNABLE_TO_INFER_SCHEMA" in text:
            raise UsageError(f"{uri} contains no Parquet file; {page} says what it must contain") from error
        if _DAMAGED.search(text):
            damaged = re.search(r"corrupted file: (.+?\.parquet): |(?:file:|hdfs:|s3a?:)?/\S+\.parquet", text)
            where = damaged.group(1) or damaged.group(0) if damaged else "a file"
            raise UsageError(f"{uri}: {where} is not a whole Parquet file; export it again") from error
        raise
