"""Table `split_preflight`: whether a table may be split."""

from pyspark.sql.types import IntegerType, StringType, StructType

from schemas.table import Table, column, identity, twin

SPLIT_PREFLIGHT = Table(
    "split_preflight",
    "One row for each table and rule that `split-preflight` checked; a rule with several objections has several rows.",
    StructType(
        [
            *identity(),
            column("app_id", IntegerType(), "Id of the table."),
            column("table", StringType(), "Its name."),
            column("rule", StringType(), "Rule of docs/split-rules.md."),
            column("verdict", StringType(), "OK, WARNING, BLOCKER or UNKNOWN (the state does not say)."),
            column("words", StringType(), "Why."),
            twin("table"),
        ]
    ),
)
