"""`capture` from a real HBase and HDFS; these files share one disabled peer, which goes when they are through."""
