"""The command line: entry, configuration, spark-submit, the session."""
