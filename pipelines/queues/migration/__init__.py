"""The migration of replication queues from ZooKeeper to `hbase:replication` (HBASE-27109): plan and verification."""
