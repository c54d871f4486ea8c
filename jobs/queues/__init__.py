"""The jobs on replication queues, and their wiring."""
