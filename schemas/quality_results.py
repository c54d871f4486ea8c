"""Table `quality_results`: the expectations of the gate and their results."""

from pyspark.sql.types import ArrayType, BooleanType, LongType, StringType, StructType

from schemas.table import Table, column, identity

QUALITY_RESULTS = Table(
    "quality_results",
    "One row for each expectation of the gate, cluster and run.",
    StructType(
        [
            *identity(),
            column("expectation", StringType(), "Name of the expectation, as given to --accept."),
            column("description", StringType(), "The statement that the expectation checks."),
            column("success", BooleanType(), "Whether the data met the expectation."),
            column("observed", StringType(), "The value that was checked."),
            column("unexpected_count", LongType(), "Number of files that do not meet the expectation."),
            column("accepted", BooleanType(), "Whether a person overruled it with --accept."),
            column("accepted_reason", StringType(), "The reason that this person gave."),
            column("examples", ArrayType(StringType()), "At most 100 paths of files that do not meet the expectation."),
        ]
    ),
)
