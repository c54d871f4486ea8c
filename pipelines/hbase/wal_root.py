"""Names of the directories below `hbase.wal.dir` that have WALs."""

WALS, OLD_WALS, REMOTE_WALS = "WALs", "oldWALs", "remoteWALs"
