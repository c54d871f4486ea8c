"""HBase's WAL files, read (HBase `ProtobufWALStreamReader`, `WALCellCodec`, `CompressionContext`).

A stream of bytes in, entries out, one after the other: memory does not grow with the file. Everything wrong with a file
is a `MalformedError`, or the reader's `ending`.
"""
