"""Table `simulations`: histories that the job `simulate` has played, and their data losses."""

from pyspark.sql.types import ArrayType, IntegerType, LongType, StringType, StructField, StructType, TimestampType

from schemas.table import Table, column, identity

VIOLATION = StructType(
    [
        StructField("seed", LongType(), metadata={"comment": "`simulate --replay SEED` shows the history."}),
        StructField("wal", StringType(), metadata={"comment": "WAL that was DELETABLE although a peer needs it."}),
        StructField("reason", StringType(), metadata={"comment": "Reason of that verdict."}),
        StructField("replay", StringType(), metadata={"comment": "The shortest form found, a step a line."}),
    ]
)
SIMULATIONS = Table(
    "simulations",
    "One row for each range of seeds that `simulate` has played; a range is played once for each state of the code.",
    StructType(
        [
            *identity(),
            column("mutant", StringType(), "What was taken away; `design` and `zk-design` = nothing."),
            column("code_sha256", StringType(), "SHA-256 of the source of the rule and of the model."),
            column("first_seed", LongType(), "First seed of the range."),
            column("seeds", IntegerType(), "Histories played, one a seed."),
            column("contested", IntegerType(), "Histories that ended with a needed WAL among the listed ones."),
            column("moves", LongType(), "Steps of all of them."),
            column("cpu_ms", LongType(), "Processor time, ms."),
            column("at", TimestampType(), "When the row was written (UTC)."),
            column("walsafe_version", StringType(), "Version that played."),
            column("violations", ArrayType(VIOLATION), "Histories that lost data, twenty at most."),
        ]
    ),
)
