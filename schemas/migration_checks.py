"""Table `migration_checks`: the results of comparing `hbase:replication` with ZooKeeper after the migration."""

from pyspark.sql.types import StringType, StructType

from schemas.table import Table, column, identity

MIGRATION_CHECKS = Table(
    "migration_checks",
    "One row for each check by `verify-migration`: a rule, and the cell, peer or flag that it was applied to.",
    StructType(
        [
            *identity(),
            column("rule", StringType(), "The rule; see docs/migration.md."),
            column("answer", StringType(), "SAME, or how it differs."),
            column("severity", StringType(), "error, warning or info; NULL = the rule holds."),
            column("peer_id", StringType(), "Peer, where there is one."),
            column("subject", StringType(), "Row key of hbase:replication, peer, or flag."),
            column("qualifier", StringType(), "WAL group (URL-encoded), encoded region, or HFile."),
            column("expected", StringType(), "What ZooKeeper had: offset, sequence id, state."),
            column("found", StringType(), "What the table has; NULL = nothing."),
        ]
    ),
)
