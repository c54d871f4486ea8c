"""Jobs on replication queues: audit, dump, WAL inspection, migration and ReplicationSyncUp."""
