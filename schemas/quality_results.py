"""Table `quality_results`: the expectations of the gate and their results."""

from pyspark.sql.types import ArrayType, BooleanType, LongType, StringType, StructType

from schemas.table import Table, column, identity

QUALITY_RESULTS = Table(
    "quality_results",
    "Each expectation of the gate, for each cluster and run.",
    StructType(
        [
            *identity(),
            column("expectation", StringType(), "Name of the expectation, as --accept takes it."),
            column("description", StringType(), "What it asserts."),
            column("success", BooleanType(), "Whether it held."),
            column("observed", StringType(), "The value it looked at."),
            column("unexpected_count", LongType(), "How many files broke it."),
            column("accepted", BooleanType(), "A person overruled it with --accept."),
            column("accepted_reason", StringType(), "That person's words."),
            column("examples", ArrayType(StringType()), "At most 100 paths that broke it."),
        ]
    ),
)
