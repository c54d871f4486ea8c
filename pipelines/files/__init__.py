"""Files on any file system: local, Hadoop, and what executors stream."""
