"""Contains one module with a StructType per table, and the registry; they import only pyspark.sql.types."""
