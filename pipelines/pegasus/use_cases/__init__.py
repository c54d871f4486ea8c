"""One module a split job; they know no technology but Spark's DataFrame."""
