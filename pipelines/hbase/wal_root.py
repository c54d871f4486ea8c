"""Names of the directories below `hbase.wal.dir` that have WALs."""

LIVE, ARCHIVE, REMOTE = "WALs", "oldWALs", "remoteWALs"
