"""Others beside replication that hold WALs, or are held up: HBase backup, the order of serial peers."""
