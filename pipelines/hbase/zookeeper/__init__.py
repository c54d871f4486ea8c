"""Values and parsers for the replication data that HBase 1.x and 2.x keep in ZooKeeper."""
