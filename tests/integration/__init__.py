"""Against the real HBase, HDFS, ZooKeeper, Kerberos and Thrift."""
