"""Table `split_manifest`: files that `split-run` or `split-export` wrote."""

from pyspark.sql.types import IntegerType, LongType, StringType, StructType

from schemas.table import Table, column, identity

SPLIT_MANIFEST = Table(
    "split_manifest",
    "One row for each file that `split-run` or `split-export` wrote.",
    StructType(
        [
            *identity(),
            column("partition", IntegerType(), "New partition."),
            column("parent", IntegerType(), "Old partition that the rows come from."),
            column("file", StringType(), "Name of the file below the new partition's directory."),
            column("rows", LongType(), "Number of rows in the file."),
            column("bytes", LongType(), "Size of the file."),
            column("md5", StringType(), "MD5 of the file, as in bulk_load_metadata."),
            column("raw_bytes", LongType(), "Bytes of keys and values."),
        ]
    ),
)
