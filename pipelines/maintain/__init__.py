"""Contains the maintain job: retention, compaction and vacuum of the tables, expiry of lists and snapshots."""
