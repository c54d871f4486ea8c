"""The data that HBase writes, as values: server and WAL names, queue rows, znodes, the WAL format. No I/O."""
