"""Values and parsers for the data that HBase writes: server and WAL names, queue rows, znodes, the WAL format.

No I/O.
"""
