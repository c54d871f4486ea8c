"""The commands on replication queues, and their wiring."""
