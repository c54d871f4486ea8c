"""What HBase writes, as values: names of servers and WALs, queue rows, znodes, the WAL format. Pure."""
