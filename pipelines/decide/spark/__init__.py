"""The rule in Spark: gives the same answers as the specification, for ten million files."""
