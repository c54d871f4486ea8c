"""The Delta tables: written, read back, kept small."""
