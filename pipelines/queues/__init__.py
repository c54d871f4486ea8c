"""The jobs on replication queues: audit, dump, inside the WALs, migration, sync-up."""
