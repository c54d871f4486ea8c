"""The night: decisions, findings, pinned bytes, the delete-safe list, the report; and explain."""
