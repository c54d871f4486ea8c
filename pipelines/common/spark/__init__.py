"""Small helpers around Spark DataFrames; they know nothing about walsafe."""
