"""The Great Expectations gate: checks that must pass before anything is emitted."""
