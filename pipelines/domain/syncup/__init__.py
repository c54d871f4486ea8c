"""What ReplicationSyncUp (HBase 3) does with the source cluster down: its inputs as facts, its work as a plan."""
