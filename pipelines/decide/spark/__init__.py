"""The rule in Spark: the same answers for ten million files."""
