"""Produces the output of `DumpReplicationQueues` from a snapshot, for either queue storage."""
