"""Table `split_routes`: the answers that requests would get at each stage of a split."""

from pyspark.sql.types import LongType, StringType, StructType

from schemas.table import Table, column, identity

SPLIT_ROUTES = Table(
    "split_routes",
    "One row for each stage of a split, kind of client and error code: the what-if of `split-route`.",
    StructType(
        [
            *identity(),
            column("stage", StringType(), "Stage of docs/split-rules.md."),
            column("words", StringType(), "What has happened by then."),
            column("client", StringType(), "old (has cached the table before the split) or new."),
            column("code", StringType(), "Error code of the answer that the client receives."),
            column("requests", LongType(), "Number of requests that get this answer."),
        ]
    ),
)
