"""The Delta tables: writes them, reads them back, removes old rows and compacts small files."""
