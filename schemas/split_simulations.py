"""Table `split_simulations`: histories of the model of a partition split, and what broke."""

from pyspark.sql.types import BooleanType, LongType, StringType, StructType

from schemas.table import Table, column, identity

SPLIT_SIMULATIONS = Table(
    "split_simulations",
    "One row for each search or range of random histories of `split-simulate`.",
    StructType(
        [
            *identity(),
            column("design", StringType(), "The protocol: mended, shipped, or a mutant (docs/split-simulate)."),
            column("subject", StringType(), "Row of the failure table, F1 to F37, or a range of seeds."),
            column("what", StringType(), "The failure, in words."),
            column("states", LongType(), "States visited; of seeds, steps made."),
            column("is_finished", BooleanType(), "No history was left out; of seeds always false."),
            column("settled", LongType(), "States, or histories, in which the split had come to an end."),
            column(
                "broken",
                StringType(),
                "LOST, DOUBLE_OWNER, BALLOT, COUNT, MISSCANNED, FORGOTTEN, STUCK; NULL = nothing.",
            ),
            column("history", StringType(), "The shortest history that breaks it, a step a line."),
        ]
    ),
)
