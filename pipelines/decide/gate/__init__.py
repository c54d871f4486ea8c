"""The Great Expectations gate that stands before everything emitted."""
