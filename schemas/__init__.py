"""One module with a StructType per table, and the registry; they import nothing but pyspark.sql.types."""
