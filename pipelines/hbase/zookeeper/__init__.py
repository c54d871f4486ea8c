"""Replication as HBase 1.x and 2.x keep it in ZooKeeper, as values."""
