"""Differential testing with HBase's own ReplicationLogCleaner (docs/judge.md)."""
