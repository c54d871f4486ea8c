"""The command line: entry point, configuration, spark-submit and the Spark session."""
