"""What `DumpReplicationQueues` shows of queues, from a snapshot: the values, and how they come of either storage."""
