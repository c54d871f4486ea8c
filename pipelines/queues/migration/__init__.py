"""Plans and verifies the migration of replication queues from ZooKeeper to `hbase:replication` (HBASE-27109)."""
