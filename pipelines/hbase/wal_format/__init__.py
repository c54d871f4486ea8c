"""Reads HBase's WAL files (HBase `ProtobufWALStreamReader`, `WALCellCodec`, `CompressionContext`).

The reader takes a stream of bytes and yields entries one at a time, so memory does not grow with the file. An error in
a file is a `MalformedError`, or the reader's `ending`.
"""
