"""Apache Pegasus's private logs: blocks, mutations and the writes in them, read without Pegasus."""
