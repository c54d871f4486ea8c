"""Table `migration_checks`: the results of comparing `hbase:replication` with ZooKeeper after the migration."""

from pyspark.sql.types import StringType, StructType

from schemas.table import Table, column, identity

MIGRATION_CHECKS = Table(
    "migration_checks",
    "One row for each check of `verify-migration`: a rule, and the cell, peer or flag to which it was applied.",
    StructType(
        [
            *identity(),
            column("rule", StringType(), "The rule; see docs/migration.md."),
            column("answer", StringType(), "SAME, or how the table differs from ZooKeeper."),
            column("severity", StringType(), "error, warning or info; NULL = the rule holds."),
            column("peer_id", StringType(), "Peer that the check is about, if there is one."),
            column("subject", StringType(), "Row key of hbase:replication, peer, or flag."),
            column("qualifier", StringType(), "WAL group (URL-encoded), encoded region, or HFile."),
            column("expected", StringType(), "The value in ZooKeeper: offset, sequence id or state."),
            column("found", StringType(), "The value in the table; NULL = the table has none."),
        ]
    ),
)
