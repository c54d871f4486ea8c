"""One module for each split job. They use no technology except Spark's DataFrame."""
