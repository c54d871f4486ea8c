"""The nightly run: decisions, findings, pinned bytes, the delete-safe list and the report; and the explain job."""
