"""One StructType module per table, and the registry; nothing but pyspark.sql.types."""
