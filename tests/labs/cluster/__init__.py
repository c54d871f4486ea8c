"""Real HDFS, HBase, ZooKeeper, Kerberos and Thrift for the tests, started and driven from Python."""
