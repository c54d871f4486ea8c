"""Synchronous replication: what lies below `remoteWALs/`, and the states that peers go through."""
